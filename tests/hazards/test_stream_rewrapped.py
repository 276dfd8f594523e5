"""Guards what a gateway writes: every data line is JSON or [DONE], signs of life are comments or pings of the wire."""

from __future__ import annotations

import json

import pytest

from dragoman.dialect.model import BASE, override
from dragoman.translate import Options, StreamTranslator
from dragoman.types import KeepAlive, Text, ToolCall
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import WIRES, data, event, read, read_however_cut, said

CLIENT = Exchange(stream=True, include_usage=True, seed="client", now=1)
OTHER = override(BASE, {"temperature_max": 1.0})  # any dialect but the client's: the stream is written anew
SIGNS = {"comment": b": OPENROUTER PROCESSING\n\n", "wrapped comment": data(": PROCESSING"), "bare": b":\n\n"}


def translated(source: str, target: str, stream: bytes) -> bytes:
    """A provider's stream as a client of `target` gets it."""
    through = StreamTranslator(find(source), find(target), Options(source=OTHER, client=CLIENT))
    return through.feed(stream) + through.close()


@pytest.mark.case("STR-022")
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(("source", "target"), [(one, two) for one in WIRES for two in WIRES])
def test_every_data_line_is_json_or_done(source: str, target: str, sign: str) -> None:
    stream = b"".join(SIGNS[sign] + each for each in said(source, Text(text="a")))
    written = translated(source, target, stream)
    values = [line[len(b"data: ") :] for line in written.split(b"\n") if line.startswith(b"data:")]
    assert values
    assert all(value == b"[DONE]" or isinstance(json.loads(value), dict) for value in values)
    other = [
        line for line in written.split(b"\n") if line and not line.startswith((b"data: {", b"data: [DONE]", b"event: "))
    ]
    assert all(line.startswith(b":") for line in other)
    assert read(target, [written]).reply.text == "a"


@pytest.mark.case("STR-022")
@pytest.mark.parametrize("wire", WIRES)
def test_where_one_wire_and_dialect_pass_untouched_so_do_comments(wire: str) -> None:
    stream = b": OPENROUTER PROCESSING\n\n" + b"".join(said(wire, Text(text="a")))
    through = StreamTranslator(find(wire), find(wire))
    assert through.feed(stream) + through.close() == stream


CALLS = tuple(ToolCall(id=f"c{at}", name="read", arguments=f'{{"p":{at}}}') for at in range(3))


@pytest.mark.case("STR-052")
@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize("ids", ["their own", "none"])
def test_parallel_calls_of_one_tool_keep_their_places_for_a_chat_client(source: str, ids: str) -> None:
    stream = b"".join(said(source, *CALLS, stop="tool_calls"))
    if ids == "none" and source == "chat":
        for call in CALLS:
            stream = stream.replace(f'"id": "{call.id}", '.encode(), b"")
    pieces = [
        piece
        for line in translated(source, "chat", stream).split(b"\n")
        if line.startswith(b"data: {")
        for choice in json.loads(line[6:])["choices"]
        for piece in choice["delta"].get("tool_calls", [])
    ]
    first = [piece for piece in pieces if "id" in piece]
    assert [(piece["index"], piece["function"]["name"]) for piece in first] == [(at, "read") for at in range(3)]
    assert len({piece["id"] for piece in first}) == 3
    seen = read_however_cut("chat", translated(source, "chat", stream))
    assert [(name, arguments) for _, name, arguments in seen.calls] == [("read", call.arguments) for call in CALLS]
    assert seen.reply.stop.raw == "tool_calls"


@pytest.mark.case("STR-055")
@pytest.mark.parametrize("source", WIRES)
def test_a_chat_client_gets_role_and_content_first(source: str) -> None:
    written = translated(source, "chat", b"".join(said(source, Text(text="a"))))
    first = json.loads(written.split(b"\n")[0][6:])
    assert first["choices"] == [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]


@pytest.mark.case("STR-021")
@pytest.mark.parametrize("wire", WIRES)
def test_our_own_signs_of_life_are_seen_as_such_by_our_own_reader(wire: str) -> None:
    sign = find(wire).stream_encoder(BASE, CLIENT).encode(KeepAlive())
    assert read(wire, [sign]).events[0] == KeepAlive()
    assert sign in (b": keep-alive\n\n", event({"type": "ping"}), b'event: ping\ndata: {"type":"ping"}\n\n')
