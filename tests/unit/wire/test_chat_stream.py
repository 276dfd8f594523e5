"""Guards chat streams: what real servers send beside the standard is read, and what strict clients need is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Reasoning,
    Refusal,
    Reply,
    Start,
    Stop,
    Text,
    ToolCall,
    Usage,
    UsageUpdate,
)
from dragoman.wire import find
from dragoman.wire.base import Exchange
from laws.bodies.sse import stream
from laws.both_ways import collected, decode_stream, gathered


def chunk(delta: dict[str, Any] | None, finish: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, **({} if delta is None else {"delta": delta}), "finish_reason": finish}
    return {"id": "c1", "model": "m", "created": 7, "choices": [choice], **more}


def reply(*events: Any) -> Reply:
    return collected(decode_stream("chat", [stream(*events)]))


@pytest.mark.parametrize(
    "end",
    [
        [chunk({}, "stop"), "[DONE]"],
        [chunk({}, "stop")],
        ["[DONE]"],
        [chunk({}, "stop"), chunk({}, "stop"), "[DONE]"],
        [chunk(None, "stop"), {"id": "c1", "choices": []}, "[DONE]"],
        [chunk({}, "stop"), " [DONE] "],
    ],
    ids=["both", "reason alone", "marker alone", "two reasons", "empty after", "spaced"],
)
def test_how_a_stream_may_end(end: list[Any]) -> None:
    events = decode_stream("chat", [stream(chunk({"content": "a"}), *end)])
    assert isinstance(events[-1], Finish)
    assert [type(event) for event in events].count(Finish) == 1


@pytest.mark.parametrize("finish", [None, ""])
def test_a_stream_that_just_ends_has_failed(finish: Any) -> None:
    got, failure = gathered(decode_stream("chat", [stream(chunk({"content": "half"}, finish))]))
    assert got.text == "half"
    assert failure == Failure(code="incomplete", message="the stream ended before its last signal", retryable=True)


def test_an_error_inside_a_stream_ends_it_with_the_services_words() -> None:
    error = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    got, failure = gathered(
        decode_stream("chat", [stream(chunk({"content": "a"}), error, chunk({"content": "b"}, "stop"))])
    )
    assert (got.text, failure and (failure.code, failure.message)) == ("a", ("rate_limit", "slow down"))


def test_usage_in_several_chunks_and_places() -> None:
    got = reply(
        chunk({"content": "a"}, usage={"prompt_tokens": 9, "completion_tokens": 0}),
        chunk({}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}},
        "[DONE]",
    )
    assert got.usage is not None
    assert (got.usage.input, got.usage.output) == (9, 3)
    boxed = reply(chunk({"content": "a"}, "stop", x_vendor={"usage": {"prompt_tokens": 4, "completion_tokens": 5}}))
    assert boxed.usage is not None
    assert (boxed.usage.input, boxed.usage.output) == (4, 5)


def test_reasoning_under_any_key_is_one_block() -> None:
    for key in ("reasoning_content", "reasoning"):
        got = reply(chunk({key: "th"}), chunk({key: "ink"}), chunk({"content": "a"}), chunk({}, "stop"))
        assert [getattr(block, "text", None) for block in got.message.content] == ["think", "a"]
    both = reply(chunk({"reasoning_content": "x", "reasoning": "x"}), chunk({}, "stop"))
    assert [block.text for block in both.message.content if isinstance(block, Reasoning)] == ["x"]


def test_details_in_pieces_are_one_entry() -> None:
    pieces = [{"type": "reasoning.text", "index": 0, "text": text} for text in ("a", "b")]
    sign = {"type": "reasoning.text", "index": 0, "signature": "s"}
    got = reply(
        *(chunk({"reasoning_details": [item]}) for item in (*pieces, sign)), chunk({"content": "x"}), chunk({}, "stop")
    )
    (thought, _) = got.message.content
    assert isinstance(thought, Reasoning)
    assert thought.text == "ab"
    assert thought.opaque is not None
    assert thought.opaque["chat"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}
    ]


def test_the_legacy_call_in_pieces() -> None:
    pieces = [{"name": "f", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ":1}"}]
    got = reply(*(chunk({"function_call": piece}) for piece in pieces), chunk({}, "function_call"))
    assert [(call.name, call.arguments) for call in got.calls] == [("f", '{"a":1}')]
    assert got.stop.reason == "tool_calls"


def test_a_word_that_says_the_turn_is_over_yields_to_an_open_call() -> None:
    call = {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": "{}"}}]}
    assert reply(chunk(call), chunk({}, "stop")).stop == Stop(reason="tool_calls", raw="stop")


def test_log_probabilities_ride_on_their_own_piece() -> None:
    first = chunk({"content": "a"})
    first["choices"][0]["logprobs"] = {"content": [1]}
    deltas = [
        event
        for event in decode_stream("chat", [stream(first, chunk({"content": "b"}, "stop"))])
        if isinstance(event, Delta)
    ]
    assert [event.opaque for event in deltas] == [{"chat": {"logprobs": {"content": [1]}}}, None]


def test_other_choices_are_passed_on_unread_and_told() -> None:
    other = {"id": "c1", "choices": [{"index": 1, "delta": {"content": "b"}}]}
    decoder = find("chat").stream_decoder(BASE, Exchange())
    events = decoder.feed(stream(chunk({"content": "a"}), other, other, chunk({}, "stop"), "[DONE]"))
    assert [event.payload for event in events if isinstance(event, Raw)] == [other["choices"][0]] * 2  # type: ignore[index]
    assert [note.path for note in decoder.notes] == [("others",)]


def test_a_server_that_does_not_stream_is_read_whole() -> None:
    body = json.dumps({"id": "c", "choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}).encode()
    assert collected(decode_stream("chat", [body[:9], body[9:]])).text == "all"
    _, failure = gathered(decode_stream("chat", [b'{"error": {"message": "no", "code": "invalid_api_key"}}']))
    assert failure is not None
    assert failure.code == "auth"


def test_a_comment_is_a_sign_of_life() -> None:
    assert KeepAlive() in decode_stream("chat", [b": OPENROUTER PROCESSING\n\n", stream(chunk({}, "stop"))])


# --- towards a client

STARTED = Start(id="r1", model="m", created=7)
CALL = ToolCall(id="t1", name="f", arguments="")


def written(*events: Any, dialect: Dialect = BASE, asked: bool | None = True) -> list[Any]:
    """The chunks that events are written as."""
    encoder = find("chat").stream_encoder(dialect, Exchange(seed="s", now=7, model="asked", include_usage=asked))
    data = b"".join(encoder.encode(event) for event in events) + encoder.close()
    texts = [part.removeprefix(b"data: ").decode() for part in data.split(b"\n\n") if part]
    return [json.loads(text) if text.startswith("{") else text for text in texts]


def deltas(chunks: list[Any]) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if isinstance(chunk, dict) and chunk["choices"]]


def test_what_a_strict_client_needs() -> None:
    chunks = written(
        STARTED,
        BlockStart(index=0, block=Text(text="")),
        Delta(index=0, text="a"),
        BlockEnd(index=0),
        BlockStart(index=1, block=CALL),
        Delta(index=1, field="arguments", text='{"x"'),
        Delta(index=1, field="arguments", text=":1}"),
        BlockEnd(index=1),
        UsageUpdate(usage=Usage(input=1)),
        Finish(stop=Stop(reason="tool_calls"), usage=Usage(output=2)),
    )
    assert {(chunk["id"], chunk["model"], chunk["created"], chunk["object"]) for chunk in chunks[:-1]} == {
        ("r1", "m", 7, "chat.completion.chunk")
    }
    assert deltas(chunks) == [
        {"role": "assistant", "content": ""},
        {"content": "a"},
        {"tool_calls": [{"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
        {},
    ]
    finishes = [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1] if chunk["choices"]]
    assert finishes == [*[None] * 5, "tool_calls"]
    assert chunks[-2]["choices"] == []
    assert chunks[-2]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert chunks[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("asked", "usage_in_stream", "told"), [(True, "asked", 1), (None, "asked", 0), (None, "always", 1)]
)
def test_usage_is_told_where_it_was_asked_for(asked: Any, usage_in_stream: Any, told: int) -> None:
    done = Finish(stop=Stop(reason="end"), usage=Usage(input=1, output=1))
    chunks = written(STARTED, done, dialect=Dialect(usage_in_stream=usage_in_stream), asked=asked)
    assert len([chunk for chunk in chunks if isinstance(chunk, dict) and "usage" in chunk]) == told


def test_an_id_and_a_time_that_nobody_said_come_from_the_edge_and_are_the_same_each_time() -> None:
    first, second = (written(Start(), Finish(stop=Stop(reason="end"))) for _ in range(2))
    assert first == second
    assert first[0]["id"].startswith("chatcmpl-")
    assert (first[0]["created"], first[0]["model"]) == (7, "asked")


def test_blocks_of_one_kind_are_lines() -> None:
    events: list[Any] = [STARTED]
    for index, block in enumerate((Reasoning(text=""), Reasoning(summary=()), Text(text=""), Text(text=""))):
        field = "summary" if isinstance(block, Reasoning) and block.summary is not None else "text"
        events += [
            BlockStart(index=index, block=block),
            Delta(index=index, field=field, text="x"),
            BlockEnd(index=index),
        ]  # type: ignore[arg-type]
    said = deltas(written(*events, Finish(stop=Stop(reason="end"))))
    assert "".join(delta.get("reasoning_content", "") for delta in said) == "x\nx"
    assert "".join(delta.get("content", "") for delta in said) == "x\nx"


def test_a_refusal_and_a_citation_have_keys_of_their_own() -> None:
    citation = {"type": "url_citation", "url_citation": {"url": "https://example.org"}}
    events = [
        BlockStart(index=0, block=Text(text="a")),
        Patch(index=0, citation=citation),
        BlockEnd(index=0),
        BlockStart(index=1, block=Refusal(text="")),
        Delta(index=1, text="no"),
        BlockEnd(index=1),
    ]
    assert deltas(written(STARTED, *events, Finish(stop=Stop(reason="end"))))[1:-1] == [
        *({"content": "a"}, {"annotations": [citation]}, {"refusal": "no"})
    ]


def test_a_failure_is_an_error_and_nothing_comes_after_it() -> None:
    chunks = written(STARTED, Failure(code="overloaded", message="busy"), Finish(stop=Stop(reason="end")))
    assert chunks[1:] == [{"error": {"message": "busy", "type": "server_error", "param": None, "code": "overloaded"}}]


def test_a_dialect_without_a_marker_ends_without_it() -> None:
    assert written(STARTED, Finish(stop=Stop(reason="end")), dialect=Dialect(done_marker=False))[-1] != "[DONE]"


def test_a_whole_reply_of_several_answers_where_a_stream_was_expected_tells_what_it_leaves_out() -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for text in "ab"]}
    decoder = find("chat").stream_decoder(BASE, Exchange(stream=True))
    events = [*decoder.feed(json.dumps(body).encode()), *decoder.close()]
    assert collected(events).text == "a"
    assert [(note.path, note.action, note.loss) for note in decoder.notes] == [(("others",), "dropped", True)]
