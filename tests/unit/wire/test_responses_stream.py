"""Guards streams on the responses wire: items by their index, done over deltas, and the legal order for strict clients."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    HostedCall,
    KeepAlive,
    Message,
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
    explode,
)
from dragoman.types.base import Origin
from responses_body import SEEDED, collected, heard, reply, response, sse, written

CHAT = Origin(wire="chat", model="qwen")
BEGUN = {"type": "response.created", "response": response(status="in_progress", usage=None)}


def completed(*output: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": response(*output, **{"status": "completed", **fields})}


def added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def message(id: str, *texts: str, status: str = "completed") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": id, "status": status, "role": "assistant", "content": content}


def part(index: int, id: str, number: int = 0) -> dict[str, Any]:
    place = {"output_index": index, "item_id": id, "content_index": number}
    return {"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": ""}}


def text(index: int, id: str, delta: str, number: int = 0) -> dict[str, Any]:
    place = {"output_index": index, "item_id": id, "content_index": number}
    return {"type": "response.output_text.delta", **place, "delta": delta}


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c",
    "name": "f",
    "status": "completed",
    "arguments": '{"a":1}',
}


def test_what_a_service_says_of_itself_at_the_end_alone_is_kept_for_its_own_clients() -> None:
    """As llama-server does: its first event has neither model nor time."""
    begun = {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress"}}
    start, *_, finish = heard(sse(begun, completed(model="local", created_at=7)))
    assert (start.model, start.created) == (None, None)
    assert {key: finish.opaque["responses"][key] for key in ("model", "created_at")} == {
        "model": "local",
        "created_at": 7,
    }
    again = written(heard(sse(begun, completed(model="local", created_at=7))))[-1]["response"]
    assert (again["id"], again["model"], again["created_at"]) == ("resp_1", "local", 7)
    assert "model" not in (heard(sse(BEGUN, completed()))[-1].opaque or {}).get("responses", {})


@pytest.mark.req("S3-40")
def test_a_stream_is_events_and_its_finished_items() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2}
    events = heard(
        sse(
            BEGUN,
            {"type": "response.in_progress", "response": BEGUN["response"]},
            added(0, message("msg_1", status="in_progress")),
            part(0, "msg_1"),
            text(0, "msg_1", "Hel"),
            {**text(0, "msg_1", "lo"), "obfuscation": "xyz"},
            {"type": "keepalive", "sequence_number": 7},
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hello"},
            done(0, message("msg_1", "Hello")),
            added(1, {**CALL, "arguments": "", "status": "in_progress"}),
            {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a":1}'},
            {"type": "response.function_call_arguments.done", "output_index": 1, "arguments": '{"a":1}'},
            done(1, CALL),
            {"type": "response.moon.rose", "phase": "full"},
            completed(message("msg_1", "Hello"), CALL, usage=usage),
        )
    )
    left: dict[str, Any] = {"object": "response"}
    origin = Origin(wire="responses", model="m")
    item = {"type": "message", "id": "msg_1", "status": "in_progress", "~": {"content": "list"}}
    whole = {**item, "status": "completed"}
    call = ToolCall(id="c", name="f", arguments="", opaque={"responses": {"id": "fc_1", "status": "in_progress"}})
    said = ToolCall(id="c", name="f", arguments='{"a":1}', opaque={"responses": {"id": "fc_1", "status": "completed"}})
    counted = Usage(input=9, output=2, opaque={"responses": usage})
    assert events == [
        Start(id="resp_1", model="m", created=1, origin=origin, opaque={"responses": left}),
        BlockStart(index=0, block=Text(text="", opaque={"responses": {"~item": item}})),
        Delta(index=0, text="Hel"),
        Delta(index=0, text="lo", opaque={"responses": {"obfuscation": "xyz"}}),
        KeepAlive(),
        BlockEnd(index=0, block=Text(text="Hello", opaque={"responses": {"annotations": [], "~item": whole}})),
        BlockStart(index=1, block=call),
        Delta(index=1, field="arguments", text='{"a":1}'),
        BlockEnd(index=1, block=said),
        Raw(wire="responses", name="response.moon.rose", payload={"type": "response.moon.rose", "phase": "full"}),
        Finish(stop=Stop(reason="tool_calls", raw="completed"), usage=counted, opaque={"responses": left}),
    ]
    assert collected(events).reply == reply(message("msg_1", "Hello"), CALL, usage=usage)


def test_ids_that_change_within_an_item() -> None:
    events = heard(
        sse(
            added(0, message("a")),
            part(0, "b"),
            *(text(0, id, word) for id, word in (("c", "one "), ("d", "two"))),
            done(0, message("e", "one two")),
            completed(message("f", "one two")),
        )
    )
    assert [type(event) for event in events] == [Start, BlockStart, Delta, Delta, BlockEnd, Finish]
    assert collected(events).reply.text == "one two"


def test_items_of_a_last_event_without_output_and_items_of_the_last_event_only() -> None:
    streamed = [BEGUN, added(0, CALL), done(0, CALL), completed()]
    assert collected(heard(sse(*streamed))).reply.message == reply(CALL).message
    whole = message("msg_1", "a", "b")
    assert collected(heard(sse(BEGUN, completed(whole, CALL)))).reply == reply(whole, CALL)


def test_a_message_of_two_parts_and_servers_that_send_no_delta() -> None:
    whole = message("msg_1", "one", "two")
    events = heard(
        sse(
            BEGUN,
            added(0, message("msg_1")),
            part(0, "msg_1"),
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "one"},
            part(0, "msg_1", 1),
            text(0, "msg_1", "t", 1),
            done(0, whole),
            completed(whole),
        )
    )
    deltas = [(event.index, event.text) for event in events if isinstance(event, Delta)]
    assert deltas == [(0, "one"), (1, "t"), (1, "wo")]
    assert collected(events).reply == reply(whole)


def test_the_state_of_reasoning_is_that_of_the_finished_item() -> None:
    item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "early"}
    whole = {**item, "summary": [{"type": "summary_text", "text": t} for t in ("A", "B")], "encrypted_content": "late"}
    deltas = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": at, "delta": t}
        for at, t in enumerate("AB")
    ]
    events = heard(sse(BEGUN, added(0, item), *deltas, done(0, whole), completed(whole)))
    (block,) = collected(events).reply.message.content
    opaque = {"responses": {"id": "rs_1", "encrypted_content": "late"}}
    assert block == Reasoning(summary=("A", "B"), opaque=opaque)


def test_hosted_work_is_no_open_call_and_its_progress_comes_out_again() -> None:
    search: dict[str, Any] = {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}
    whole = {**search, "status": "completed", "action": {"type": "search", "query": "天气"}}
    progress = [
        {"type": f"response.web_search_call.{step}", "output_index": 0, "item_id": "ws_1"}
        for step in ("in_progress", "searching", "completed")
    ]
    events = heard(sse(BEGUN, added(0, search), *progress, done(0, whole), completed(whole)))
    value = collected(events).reply
    assert (value.stop.reason, value.calls) == ("end", ())
    payload = {"status": "completed", "action": {"type": "search", "query": "天气"}}
    assert value.message.content == (HostedCall(id="ws_1", name="web_search_call", payload=payload),)
    names = [event["type"].removeprefix("response.") for event in written(events)]
    assert names == [
        *("created", "in_progress", "output_item.added"),
        *("web_search_call.in_progress", "web_search_call.searching", "web_search_call.completed"),
        *("output_item.done", "completed"),
    ]


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (
            {"type": "response.failed", "response": response(error={"code": "server_error", "message": "x"})},
            "server_error",
        ),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x", "param": None}, "rate_limit"),
        ({"type": "error", "error": {"type": "insufficient_quota", "message": "x"}}, "quota"),
        (text(0, "msg_1", "!"), "incomplete"),
    ],
)
def test_a_stream_that_fails_or_is_cut_ends_in_one_failure(last: dict[str, Any], code: str) -> None:
    events = heard(sse(BEGUN, added(0, message("msg_1")), part(0, "msg_1"), text(0, "msg_1", "Hel"), last))
    assert [event.code for event in events if isinstance(event, Failure)] == [code]
    assert isinstance(events[-1], Failure)
    assert collected(events).reply.text.startswith("Hel")


def test_a_whole_response_where_a_stream_was_expected() -> None:
    events = heard(json.dumps(response(CALL, status="completed")).encode())
    assert collected(events).reply == reply(CALL)


def test_foreign_text_and_calls_in_the_order_that_clients_assemble_by() -> None:
    events = [
        Start(model="qwen", origin=CHAT),
        BlockStart(index=0, block=Text(text="")),
        Delta(index=0, text="He"),
        Delta(index=0, text="llo"),
        KeepAlive(),
        BlockEnd(index=0),
        BlockStart(index=1, block=ToolCall(id="c", name="f", arguments="")),
        Delta(index=1, field="arguments", text="{}"),
        BlockEnd(index=1),
        Finish(stop=Stop(reason="tool_calls"), usage=Usage(input=9, output=2)),
    ]
    out = written(events)
    assert [event.pop("sequence_number") for event in out] == list(range(14))
    first, last = out[0]["response"], out[-1]["response"]
    assert (first["status"], first["output"], last["status"]) == ("in_progress", [], "completed")
    assert first["id"] == last["id"]
    text, call = last["output"]
    at = {"output_index": 0, "item_id": text["id"]}
    part = {"type": "output_text", "text": "", "annotations": []}
    whole = {**part, "text": "Hello"}
    of = {"output_index": 1, "item_id": call["id"]}
    assert text == {**message(text["id"]), "content": [whole]}
    assert call == {**CALL, "id": call["id"], "arguments": "{}"}
    assert [{**event, "type": event["type"].removeprefix("response.")} for event in out[2:-1]] == [
        {"type": "output_item.added", "output_index": 0, "item": {**text, "status": "in_progress", "content": []}},
        {"type": "content_part.added", **at, "content_index": 0, "part": part},
        {"type": "output_text.delta", **at, "content_index": 0, "delta": "He", "logprobs": []},
        {"type": "output_text.delta", **at, "content_index": 0, "delta": "llo", "logprobs": []},
        {"type": "output_text.done", **at, "content_index": 0, "text": "Hello", "logprobs": []},
        {"type": "content_part.done", **at, "content_index": 0, "part": whole},
        {"type": "output_item.done", "output_index": 0, "item": text},
        {"type": "output_item.added", "output_index": 1, "item": {**call, "status": "in_progress", "arguments": ""}},
        {"type": "function_call_arguments.delta", **of, "delta": "{}"},
        {"type": "function_call_arguments.done", **of, "arguments": "{}", "name": "f"},
        {"type": "output_item.done", "output_index": 1, "item": call},
    ]


def spoken() -> Reply:
    """One block of each kind, as a model of another wire may say them."""
    content = (
        Reasoning(summary=("A", "B"), text="C", opaque={"responses": {"encrypted_content": "drg1x"}}),
        Text(text="One"),
        Text(text="Two"),
        Refusal(text="No."),
        ToolCall(id="c", name="f", arguments='{"a":1}'),
        ToolCall(id="d", name="sql", arguments="select 1", kind="custom"),
    )
    message = Message(role="assistant", content=content, origin=CHAT)
    return Reply(message=message, stop=Stop(reason="tool_calls"), usage=Usage(input=9, output=2), id="resp_1")


def test_reasoning_by_parts_with_its_carrier_and_texts_in_one_item() -> None:
    out = written(explode(spoken()))
    items = [event["item"] for event in out if event["type"] == "response.output_item.done"]
    assert out[-1]["response"]["output"] == items
    begun = [event["item"] for event in out if event["type"] == "response.output_item.added"]
    assert [item.get("encrypted_content") for item in (begun[0], items[0])] == ["drg1x", "drg1x"]
    assert [item["id"] for item in begun] == [item["id"] for item in items]
    assert [(item["type"], len(item.get("content", ()))) for item in items] == [
        *(("reasoning", 1), ("message", 3), ("function_call", 0), ("custom_tool_call", 0)),
    ]
    names = [event["type"].removeprefix("response.") for event in out if event.get("item_id") == items[0]["id"]]
    summary = ["reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done"]
    parts = [*summary, "reasoning_summary_part.done"]
    assert names == [
        *parts,
        *parts,
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
    ]


def test_parallel_calls_that_interleave_keep_their_places() -> None:
    calls = [BlockStart(index=at, block=ToolCall(id=id, name="f", arguments="")) for at, id in enumerate("ab")]
    pieces = [Delta(index=at, field="arguments", text=piece) for piece in ("{", "}") for at in (0, 1)]
    ends = [BlockEnd(index=0), BlockEnd(index=1)]
    out = written([Start(origin=CHAT), *calls, *pieces, *ends, Finish(stop=Stop(reason="tool_calls"))])
    deltas = [(event["output_index"], event["delta"]) for event in out if event["type"].endswith("arguments.delta")]
    assert deltas == [(0, "{"), (1, "{"), (0, "}"), (1, "}")]
    assert [item["arguments"] for item in out[-1]["response"]["output"]] == ["{}", "{}"]


def test_the_official_reader_assembles_what_is_written() -> None:
    streaming = pytest.importorskip("openai.lib.streaming.responses._responses")
    openai, pydantic = pytest.importorskip("openai"), pytest.importorskip("pydantic")
    models = pytest.importorskip("openai.types.responses")
    adapter: Any = pydantic.TypeAdapter(models.ResponseStreamEvent)
    state = streaming.ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    told = [event for raw in written(explode(spoken())) for event in state.handle_event(adapter.validate_python(raw))]
    final = told[-1].response
    assert final.output_text == "OneTwo"
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "custom_tool_call"]


def test_a_failure_is_told_twice_as_the_vendor_does() -> None:
    out = written([Start(origin=CHAT), Failure(code="rate_limit", message="slow down")])
    assert [event["type"] for event in out[2:]] == ["error", "response.failed"]
    assert out[2]["error"]["message"] == out[2]["message"] == "slow down"
    failed = out[3]["response"]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "rate_limit_exceeded")
    assert collected(heard(sse(*out))).failure is not None


def test_what_the_wire_cannot_stream_is_told() -> None:
    from dragoman.dialect.model import BASE
    from responses_body import WIRE, told

    encoder = WIRE.stream_encoder(BASE, SEEDED)
    foreign = Raw(wire="messages", name="fallback", payload={})
    hosted = BlockStart(index=0, block=HostedCall(id="s", name="web_search", arguments="{}"))
    cited = BlockStart(index=1, block=Text(text=""))
    citation = Patch(index=1, citation={"type": "char_location"})
    finish = Finish(stop=Stop(reason="stop_sequence", sequence="END"))
    for event in (Start(origin=CHAT), foreign, hosted, cited, citation, BlockEnd(index=1), finish):
        encoder.encode(event)
    assert told(encoder.notes) == [
        (("events",), "dropped", True),
        (("message", "content", 0), "dropped", True),
        (("message", "content", 1, "citations"), "dropped", True),
        (("stop", "reason"), "substituted", True),
        (("stop", "sequence"), "dropped", True),
    ]


@pytest.mark.parametrize("key", ["word", "self", "fields"])
def test_a_foreign_key_is_only_a_key_whatever_our_code_calls_its_parameters(key: str) -> None:
    stream = [BEGUN, added(0, message("m")), part(0, "m"), text(0, "m", "hi") | {key: 1}]
    stream += [{"type": "response.novel", key: 1}, done(0, message("m", "hi")), completed(message("m", "hi"))]
    again = written(heard(sse(*stream)))
    assert [event["type"] for event in again if event.get(key) == 1] == ["response.output_text.delta", "response.novel"]
