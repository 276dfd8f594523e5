"""Guards streams on the messages wire: one Finish or Failure, blocks in order for strict clients, nothing invented."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Collector,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Reasoning,
    Reply,
    Start,
    Stop,
    StreamEvent,
    Text,
    ToolCall,
    Usage,
    UsageUpdate,
    explode,
)
from dragoman.types.base import Origin
from dragoman.wire import find
from dragoman.wire.base import Exchange
from matrix import recordings

WIRE = find("messages")
CHAT = Origin(wire="chat")
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 1},
    },
}
END = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 7},
}
STOP = {"type": "message_stop"}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def wire_bytes(events: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def decode(*events: dict[str, Any], exchange: Exchange | None = None) -> list[StreamEvent]:
    decoder = WIRE.stream_decoder(BASE, exchange or Exchange())
    return decoder.feed(wire_bytes(events)) + decoder.close()


def collected(events: list[StreamEvent]) -> Reply:
    collector = Collector()
    for event in events:
        collector.feed(event)
    assert collector.failure is None
    return collector.reply


def encode(*events: StreamEvent) -> list[dict[str, Any]]:
    encoder = WIRE.stream_encoder(BASE, Exchange(model="m", seed="s"))
    raw = b"".join(encoder.encode(event) for event in events) + encoder.close()
    return parsed(raw)


def parsed(raw: bytes) -> list[dict[str, Any]]:
    """The events, each under the name that its data says."""
    found: list[dict[str, Any]] = []
    for part in raw.decode().split("\n\n")[:-1]:
        name, data = part.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


CALL = (opened(0, type="tool_use", id="t", name="f", input={}), grown(0, "input_json_delta", partial_json='{"a":'))


def test_a_stream_collects_to_the_whole_reply_and_comes_out_as_it_was() -> None:
    events = [
        START,
        {"type": "ping"},
        opened(0, type="thinking", thinking="", signature=""),
        grown(0, "thinking_delta", thinking="hm"),
        grown(0, "signature_delta", signature="sig"),
        closed(0),
        opened(1, type="text", text="", citations=[]),
        grown(1, "text_delta", text="你好"),
        grown(1, "citations_delta", citation={"type": "char_location", "cited_text": "x"}),
        closed(1),
        opened(2, type="tool_use", id="t", name="f", input={}),
        grown(2, "input_json_delta", partial_json=""),
        closed(2),
        opened(3, type="compaction", content=None),
        grown(3, "compaction_delta", content="short"),
        closed(3),
        {**END, "context_management": {"applied_edits": []}},
        STOP,
    ]
    decoded = decode(*events)
    assert encode(*decoded) == events
    reply = collected(decoded)
    whole = {
        **START["message"],  # type: ignore[dict-item]
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "你好", "citations": [{"type": "char_location", "cited_text": "x"}]},
            {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            {"type": "compaction", "content": "short"},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 7},
        "context_management": {"applied_edits": []},
    }
    assert json.loads(WIRE.encode_reply(reply, BASE, Exchange()).body) == whole
    assert (reply.usage and reply.usage.input, reply.stop.reason) == (929, "tool_calls")


def test_any_split_gives_the_same_events() -> None:
    raw = wire_bytes([START, *CALL, grown(0, "input_json_delta", partial_json="1}"), closed(0), END, STOP])
    decoder = WIRE.stream_decoder(BASE, Exchange())
    events = [event for at in range(len(raw)) for event in decoder.feed(raw[at : at + 1])] + decoder.close()
    whole = WIRE.stream_decoder(BASE, Exchange())
    assert events == whole.feed(raw) + whole.close()


@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [
        ({}, [], "{}"),
        ({}, ["", '{"a"', ": 1}"], '{"a": 1}'),
        ({"a": 1}, [], '{"a":1}'),
        ({"a": 1}, [""], '{"a":1}'),
        ({"a": 1}, ['{"b"', ": 2}"], '{"b": 2}'),
    ],
)
def test_input_is_what_the_pieces_say_else_what_the_start_said(given: Any, pieces: list[str], arguments: str) -> None:
    deltas = [grown(0, "input_json_delta", partial_json=piece) for piece in pieces]
    reply = collected(
        decode(START, opened(0, type="tool_use", id="t", name="f", input=given), *deltas, closed(0), END, STOP)
    )
    assert [call.arguments for call in reply.calls] == [arguments]


def test_the_end_is_message_stop_and_nothing_else() -> None:
    cut = decode(START, *CALL, END)
    assert [type(event) for event in cut[-2:]] == [BlockEnd, Failure]
    assert isinstance(cut[-1], Failure) and (cut[-1].code, cut[-1].retryable) == ("incomplete", True)
    assert cut[-1].usage is not None and (cut[-1].usage.input, cut[-1].usage.output) == (929, 7)
    failed = decode(START, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, STOP)
    assert isinstance(failed[-1], Failure) and (failed[-1].code, failed[-1].retryable) == ("overloaded", True)
    decoder = WIRE.stream_decoder(BASE, Exchange())
    done = decoder.feed(wire_bytes([START, END, STOP]) + b"data: [DONE]\n\n") + decoder.close()
    assert [type(event) for event in done] == [Start, Finish]


def test_a_start_that_is_said_twice() -> None:
    text = opened(0, type="text", text="")
    assert isinstance(decode(START, START, text, closed(0), END, STOP)[-1], Finish)
    assert isinstance(decode(START, text, START, text, closed(0), END, STOP)[-1], Failure)


def test_a_message_that_is_whole_at_its_start() -> None:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    message = {**START["message"], "content": [block], "stop_reason": "tool_use"}  # type: ignore[dict-item]
    reply = collected(decode({"type": "message_start", "message": message}, STOP))
    assert reply.calls[0].arguments == '{"a":1}' and reply.stop == Stop(reason="tool_calls", raw="tool_use")


def test_deltas_without_a_start_and_events_of_tomorrow() -> None:
    events = decode(START, grown(0, "text_delta", text="a"), {"type": "of_tomorrow", "x": 1}, END, STOP)
    assert collected(events).text == "a"
    assert Raw(wire="messages", name="of_tomorrow", payload={"type": "of_tomorrow", "x": 1}) in events


def test_a_later_null_takes_no_figure_back() -> None:
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": None, "cost": 0.5}
    reply = collected(decode(START, {**END, "usage": usage}, STOP))
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.cost) == (895, 890, 500_000_000)


def test_an_answer_that_is_no_stream_is_read_whole() -> None:
    body = {**START["message"], "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}  # type: ignore[dict-item]
    decoder = WIRE.stream_decoder(BASE, Exchange())
    assert collected(decoder.feed(json.dumps(body).encode()) + decoder.close()).text == "x"


def test_blocks_that_grow_at_the_same_time_come_one_after_the_other() -> None:
    events = encode(
        Start(id="x", model="m", origin=CHAT),
        BlockStart(index=0, block=ToolCall(id="a", name="f", arguments="")),
        BlockStart(index=1, block=ToolCall(id="b", name="g", arguments="")),
        Delta(index=1, field="arguments", text='{"b"'),
        KeepAlive(),
        Delta(index=0, field="arguments", text='{"a": 1}'),
        Delta(index=1, field="arguments", text=": 2}"),
        BlockEnd(index=0),
        BlockEnd(index=1),
        UsageUpdate(usage=Usage(input=929, cache_read=890, output=7)),
        Finish(stop=Stop(reason="tool_calls", raw="tool_calls")),
    )
    message = {**START["message"], "id": "x", "usage": {"input_tokens": 0, "output_tokens": 0}}  # type: ignore[dict-item]
    usage = {"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 7}
    assert events == [
        {"type": "message_start", "message": message},
        opened(0, type="tool_use", id="a", name="f", input={}),
        {"type": "ping"},
        grown(0, "input_json_delta", partial_json='{"a": 1}'),
        closed(0),
        opened(1, type="tool_use", id="b", name="g", input={}),
        grown(1, "input_json_delta", partial_json='{"b"'),
        grown(1, "input_json_delta", partial_json=": 2}"),
        closed(1),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage},
        STOP,
    ]


def test_many_blocks_may_wait() -> None:
    """Each end lets the next begin: one after the other, not one within the other."""
    count = 2000
    calls = [BlockStart(index=at, block=ToolCall(id=f"t{at}", name="f", arguments="")) for at in range(count)]
    ends = [BlockEnd(index=at) for at in reversed(range(count))]
    events = encode(Start(origin=CHAT), *calls, *ends, Finish(stop=Stop(reason="tool_calls")))
    begun = [event["index"] for event in events if event["type"] == "content_block_start"]
    assert begun == list(range(count))


def test_a_thought_of_another_wire_ends_with_its_carrier_and_empty_blocks_do_not_begin() -> None:
    events = encode(
        Start(origin=CHAT),
        BlockStart(index=0, block=Text(text="")),
        BlockEnd(index=0),
        BlockStart(index=1, block=Reasoning(summary=())),
        Delta(index=1, field="summary", text="one", part=0),
        Delta(index=1, field="summary", text="two", part=1),
        BlockEnd(index=1, block=Reasoning(summary=("one", "two"), opaque={"messages": {"signature": "drg1AA"}})),
        BlockStart(index=2, block=Reasoning(redacted=True)),
        BlockEnd(index=2),
        BlockStart(index=3, block=Text(text="")),
        Delta(index=3, text="hi"),
        Patch(index=3, citation={"type": "url_citation", "url_citation": {}}),
        Finish(stop=Stop(reason="end")),
    )
    assert events[1:-2] == [
        opened(0, type="thinking", thinking="", signature=""),
        grown(0, "thinking_delta", thinking="one"),
        grown(0, "thinking_delta", thinking="\n\ntwo"),
        grown(0, "signature_delta", signature="drg1AA"),
        closed(0),
        opened(1, type="text", text=""),
        grown(1, "text_delta", text="hi"),
        closed(1),
    ]


@pytest.mark.parametrize(("pieces", "sent"), [(["nu", "ll"], []), (["n", "o"], ["no"]), (["{", "}"], ["{", "}"])])
def test_a_null_for_arguments_is_no_input(pieces: list[str], sent: list[str]) -> None:
    call = BlockStart(index=0, block=ToolCall(id="a", name="f", arguments=""))
    deltas = [Delta(index=0, field="arguments", text=piece) for piece in pieces]
    events = encode(Start(origin=CHAT), call, *deltas, Finish(stop=Stop(reason="tool_calls")))
    assert [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"] == sent


def test_a_failure_is_an_error_event_and_ends_the_stream() -> None:
    events = encode(Start(origin=CHAT), Failure(code="network", message="gone"), KeepAlive())
    assert events[-1] == {"type": "error", "error": {"type": "api_error", "message": "gone"}}


@pytest.mark.corpus
def test_recorded_streams_come_out_event_for_event() -> None:
    different: list[str] = []
    entries = [e for e in recordings.entries("messages") if recordings.is_stream(e) and e["status"] < 400]
    for entry in entries:
        body = recordings.body(entry)
        decoder = WIRE.stream_decoder(BASE, Exchange())
        said = [
            json.loads(line[5:]) for line in body.split(b"\n") if line.startswith(b"data:") and b"[DONE]" not in line
        ]
        if encode(*decoder.feed(body), *decoder.close()) != said:
            different.append(entry["id"])
    assert different == ["ai-8135a20141dc"], "this one is whole at its start, and comes out as blocks"
    assert len(entries) > 140


@pytest.mark.corpus
def test_recorded_replies_survive_being_exploded_into_a_stream() -> None:
    """L5, where the wire itself can say all: reply, events, bytes, events, reply."""
    for entry in recordings.entries("messages"):
        if recordings.is_stream(entry) or entry["status"] >= 400:
            continue
        reply = WIRE.decode_reply(recordings.body(entry), BASE, Exchange()).value
        encoder = WIRE.stream_encoder(BASE, Exchange())
        raw = b"".join(encoder.encode(event) for event in explode(reply)) + encoder.close()
        decoder = WIRE.stream_decoder(BASE, Exchange())
        back = collected(decoder.feed(raw) + decoder.close())
        assert WIRE.encode_reply(back, BASE, Exchange()).body and _said(back) == _said(reply), entry["id"]


def _said(reply: Reply) -> Any:
    body = json.loads(WIRE.encode_reply(reply, BASE, Exchange()).body)
    return {key: body.get(key) for key in ("id", "model", "content", "stop_reason", "stop_sequence", "container")}
