"""Guards Ollama's own chat: a stream that nobody asked for, calls without ids, settings under `options`, lines cut anywhere,
errors in a stream, and every recorded body as it was."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, LossyError, RemoteError
from dragoman.history import check, repair
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Request, Sampling, Tool, assistant, tool, user
from dragoman.types.content import Media, Text, ToolCall, ToolResult
from dragoman.wire import LIBRARY, WIRES, find
from dragoman.wire.base import Exchange, Http
from dragoman.wire.ndjson import LineReader
from dragoman.wire.sse import Sse
from golden.written import READ
from hazards.cases import read_however_cut
from laws.bodies import of
from laws.bodies.ollama import STREAMS, TIME, lines
from laws.both_ways import body, decode_request, encode_request
from matrix import captures, judge, recordings

WIRE = "ollama"
EDGE = Options(client=Exchange(seed="s", now=1, model="m", stream=True))

ASKED: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Add.", "images": ["iVBORw0KGgo="]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "read", "arguments": {"path": "a"}}},
                {"function": {"name": "read", "arguments": {"path": "b"}}},
            ],
        },
        {"role": "tool", "content": "to a", "tool_name": "read"},
        {"role": "tool", "content": "to b", "tool_name": "read"},
    ],
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}],
    "options": {"num_predict": 9, "temperature": 0},
}
SAID = (
    user("Add.", Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")),
    assistant(ToolCall.of("call_1_0", "read", {"path": "a"}), ToolCall.of("call_1_1", "read", {"path": "b"})),
    tool(ToolResult(call_id="call_1_0", content=(Text(text="to a"),), name="read")),
    tool(ToolResult(call_id="call_1_1", content=(Text(text="to b"),), name="read")),
)

TOOLS = (Tool(name="read", parameters={"type": "object", "properties": {}}),)


def bare(value: Any) -> Any:
    """Without leftovers: what they are is law L2."""
    if isinstance(value, tuple):
        return tuple(bare(item) for item in value)
    if not isinstance(value, msgspec.Struct):
        return value
    said = {name: bare(getattr(value, name)) for name in value.__struct_fields__ if name not in ("opaque", "origin")}
    return type(value)(**said)


def test_calls_without_ids_get_one_from_their_place_and_results_find_them() -> None:
    request = decode_request(WIRE, ASKED).request
    assert bare(request) == Request(
        model="m", messages=SAID, tools=TOOLS, max_output=9, sampling=Sampling(temperature=0), stream=True
    )


@pytest.mark.parametrize("there", WIRES)
def test_a_request_crosses_to_every_wire_with_nothing_lost_and_back(there: str) -> None:
    strict = Options(client=EDGE.client, strict=True)
    done = translate.request(Http(body=body(ASKED)), find(WIRE), find(there), strict)
    again = translate.request(done.http, find(there), find(WIRE), strict)
    back = json.loads(again.http.body)
    assert [each.get("tool_name") for each in back["messages"]] == [None, None, "read", "read"]
    ids = [each["id"] for each in back["messages"][1]["tool_calls"]]
    assert [each.get("tool_call_id") for each in back["messages"][2:]] == ids
    assert [each["function"] for each in back["messages"][1]["tool_calls"]] == [
        {"name": "read", "arguments": {"path": "a"}},
        {"name": "read", "arguments": {"path": "b"}},
    ]
    assert (back["options"], back["stream"]) == ({"num_predict": 9, "temperature": 0}, True)
    assert back["messages"][0]["images"] == ["iVBORw0KGgo="]


@pytest.mark.parametrize(("said", "stream"), [({}, True), ({"stream": True}, True), ({"stream": False}, False)])
def test_a_stream_comes_unless_it_is_refused(said: dict[str, Any], stream: bool) -> None:
    raw = body({"model": "m", "messages": [], **said})
    assert find(WIRE).peek(Http(body=raw), BASE).stream is stream
    assert decode_request(WIRE, raw).exchange.stream is stream
    assert json.loads(encode_request(WIRE, Request(model="m")).http.body)["stream"] is False


def test_no_setting_is_sent_in_vain() -> None:
    """What this wire has no word for is noted, never sent under a key that the server ignores."""
    request = Request(model="m", messages=(user("x"),), tools=(READ,), user="u", max_output=5, stop=("END",))
    out = encode_request(WIRE, request)
    assert json.loads(out.http.body)["options"] == {"num_predict": 5, "stop": ["END"]}
    assert [note.path for note in out.notes] == [("user",)]
    with pytest.raises(LossyError):
        translate.request(
            Http(body=body({"model": "m", "messages": [{"role": "user", "content": "x"}], "user": "u"})),
            find("chat"),
            find(WIRE),
            Options(strict=True),
        )


@pytest.mark.parametrize("name", STREAMS)
def test_lines_may_be_cut_anywhere(name: str) -> None:
    read_however_cut(WIRE, STREAMS[name])


def test_a_stream_of_calls() -> None:
    seen = read_however_cut(WIRE, STREAMS["calls"])
    first, second = seen.calls
    assert (seen.thoughts, seen.reply.text, seen.reply.stop.reason) == ("Both.", "so:", "tool_calls")
    assert first == ("call_1", "read", '{"path":"说明.md","n":1}')
    assert second[1:] == ("list", "{}")
    assert read_however_cut(WIRE, STREAMS["calls"]).calls == (first, second)
    usage = seen.reply.usage
    assert usage is not None
    assert (usage.input, usage.output) == (29, 8)


def test_a_line_of_error_fails_the_stream_and_a_missing_last_line_too() -> None:
    failed, cut = (read_however_cut(WIRE, STREAMS[name]).failure for name in ("failed", "cut"))
    assert failed is not None
    assert failed.message == "model runner has unexpectedly stopped"
    assert cut is not None
    assert cut.code == "incomplete"


def test_errors_are_a_text() -> None:
    error = find(WIRE).decode_error(404, {}, b'{"error":"model \'x\' not found"}', BASE)
    assert (error.code, error.message) == ("not_found", "model 'x' not found")
    status, _, raw = find(WIRE).encode_error(ApiError("rate_limit", "slow down"), BASE)
    assert (status, json.loads(raw)) == (429, {"error": "slow down"})


@pytest.mark.parametrize("source", WIRES)
def test_any_stream_becomes_lines_of_this_wire(source: str) -> None:
    (_, said), *_ = of(source).PAIRS.values()
    translator = StreamTranslator(find(source), find(WIRE), EDGE)
    written = translator.feed(said) + translator.close()
    *pieces, last = [json.loads(line) for line in written.splitlines()]
    assert {(each["model"] != "", each["done"], each["message"]["role"]) for each in pieces} == {
        (True, False, "assistant")
    }
    assert (last["done"], last["done_reason"], last["message"]) == (True, "stop", {"role": "assistant", "content": ""})
    seen = read_however_cut(WIRE, written)
    assert seen.failure is None
    assert seen.reply.stop.reason in ("end", "tool_calls")


def test_lines_end_at_line_ends_only_and_have_a_limit() -> None:
    reader = LineReader(max_bytes=20)
    assert reader.feed('{"a":"\u2028"}\n{"b'.encode()) == [Sse(None, '{"a":"\u2028"}'.encode())]
    assert reader.feed(b'":1}\r\n\r\n') == [Sse(None, b'{"b":1}')]
    assert reader.close() == []
    with pytest.raises(RemoteError, match="one line of more than 20 bytes"):
        reader.feed(b"x" * 21)


def test_the_time_is_told_as_it_was() -> None:
    reply = find(WIRE).decode_reply(lines({"created_at": TIME, "message": {"content": "x"}}), BASE, Exchange())
    assert reply.value.created == 1747646819.678947
    assert json.loads(find(WIRE).encode_reply(reply.value, BASE, Exchange()).body)["created_at"] == TIME


@pytest.mark.skipif(not recordings.present(), reason="the recordings are not beside this checkout")
def test_every_recorded_body_comes_out_as_it_went_in() -> None:
    chats = [each for each in recordings.entries(WIRE) if each["url_path"] == "/api/chat"]
    whole = [each for each in chats if each["status"] == 200 and "response" in each]
    wrong = [told for each in chats if (told := judge.request_difference(each))]
    wrong += [told for each in whole if (told := judge.reply_difference(each))]
    streams = [each for each in chats if "response_text" in each]
    failures = [read_however_cut(WIRE, recordings.body(each)[-3000:].partition(b"\n")[2]).failure for each in streams]
    print(f"L2, {WIRE}: {len(chats)} requests, {len(whole)} whole replies, {len(streams)} streams")
    assert (wrong, [each for each in failures if each is not None]) == ([], [])
    assert min(len(chats), len(whole), len(streams)) > 8


@pytest.mark.skipif(not captures.present(), reason="the captures are not beside this checkout")
def test_a_real_clients_request_comes_out_as_it_went_in() -> None:
    said = captures.captures(WIRE)
    for each in said:
        incoming = decode_request(WIRE, each.body)
        out = find(WIRE).encode_request(incoming.request, BASE, incoming.exchange)
        assert json.loads(out.http.body) == each.body
    assert len(said) > 3


@pytest.mark.parametrize("wire", LIBRARY)
def test_a_history_is_checked_and_mended_for_every_wire(wire: str) -> None:
    """An open call, one of an odd id and name, and broken arguments: rules of one wire are not asked of another."""
    call = ToolCall(id="调用:1", name="read.file", arguments='{"path"')
    request = Request(model="m", messages=(user("x"), assistant(call), user("y")), tools=TOOLS)
    assert [each for each in check(request, wire) if each.fixable] != []
    mended = repair(request, wire).request
    assert [each for each in check(mended, wire) if each.fixable] == []
    find(wire).encode_request(mended, BASE, Exchange())
