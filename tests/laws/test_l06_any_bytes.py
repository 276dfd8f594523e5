"""Law L6: any bytes give values or our own errors, whole or in pieces, and what was read can be written again."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, DragomanError, RemoteError
from dragoman.types import Collector, Failure, Finish
from dragoman.types.request import Request
from dragoman.types.save import Conversation, dumps, loads
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from dragoman.wire.jsonio import MAX_DEPTH
from laws.bodies import LANDED, of
from laws.both_ways import body, encode_stream
from laws.junk import ODD_TEXTS, cut, each_gone_wrong, mutated
from says import SAYS
from strategies import pieces, replies

each_wire = pytest.mark.parametrize("wire", LANDED)
REQUESTS = [(wire, name) for wire in LANDED for name in of(wire).REQUESTS]
REPLIES = [(wire, name) for wire in LANDED for name in of(wire).REPLIES]


def drawn(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The bodies that are drawn gone wrong: of a narrow wire the rich one, the others once in each place below."""
    return [(wire, name) for wire, name in rows if wire in WIRES or name == "rich"]


def read_everything(wire: str, data: bytes) -> None:
    """Each function that takes foreign bytes: a value or a DragomanError, and a stream ends exactly once."""
    codec = find(wire)
    http = Http(body=data)
    for read in (lambda: codec.peek(http, BASE), lambda: codec.readdress(http, "m", BASE)):
        with suppress(DragomanError):
            read()
    request(wire, data)
    reply(wire, data)
    assert isinstance(codec.decode_error(400, {}, data, BASE), ApiError)
    stream(wire, [data])


def request(wire: str, data: bytes) -> None:
    codec = find(wire)
    try:
        incoming = codec.decode_request(Http(body=data), BASE, Exchange())
        codec.encode_request(incoming.request, BASE, incoming.exchange)
        saved = Conversation(request=incoming.request)
        assert loads(dumps(saved)) == saved
    except DragomanError as error:
        assert isinstance(error, RemoteError), error


def reply(wire: str, data: bytes) -> None:
    codec = find(wire)
    try:
        value = codec.decode_reply(data, BASE, Exchange()).value
        codec.encode_reply(value, BASE, Exchange())
        saved = Conversation(request=Request(), replies=(value,))
        assert loads(dumps(saved)) == saved
        encode_stream(wire, value)
    except DragomanError as error:
        assert isinstance(error, RemoteError | ApiError), error


def stream(wire: str, data: list[bytes]) -> None:
    codec = find(wire)
    decoder, encoder, collector = (
        codec.stream_decoder(BASE, Exchange()),
        codec.stream_encoder(BASE, Exchange()),
        Collector(),
    )
    events = [event for piece in data for event in decoder.feed(piece)] + decoder.close()
    ends = [at for at, event in enumerate(events) if isinstance(event, Finish | Failure)]
    assert ends == [len(events) - 1]
    for event in events:
        collector.feed(event)
        encoder.encode(event)
    saved = Conversation(request=Request(), replies=(collector.reply,))
    assert loads(dumps(saved)) == saved


@each_wire
@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts(wire: str, name: str) -> None:
    read_everything(wire, ODD_TEXTS[name])
    read_everything(wire, b"data: " + ODD_TEXTS[name] + b"\n\n")


@pytest.mark.parametrize("deep", [b"[%b]", b'{"a":%b}'])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_as_deep_as_a_body_may_be(wire: str, deep: bytes) -> None:
    """Kept and written again, for a server that takes no nulls too: no fault of the interpreter's own."""
    inner = b"0"
    for _ in range(MAX_DEPTH - 1):
        inner = deep % inner
    said = body({"model": "m", "input" if wire == "responses" else "messages": [], "unknown": "DEEP", "null": None})
    codec, data = find(wire), said.replace(b'"DEEP"', inner)
    incoming = codec.decode_request(Http(body=data), BASE, Exchange())
    for dialect in (BASE, replace(BASE, nulls=False)):
        written = codec.encode_request(incoming.request, dialect, incoming.exchange).http.body
        assert inner in written
        assert (b"null" in written) is dialect.nulls
    assert incoming == codec.decode_request(Http(body=data), BASE, Exchange())
    reply(
        wire,
        body({"id": "r", "choices": [], "output": [], "content": [], "tool_usage": "DEEP"}).replace(b'"DEEP"', inner),
    )


@each_wire
@given(data=st.binary(max_size=60))
def test_any_bytes(wire: str, data: bytes) -> None:
    read_everything(wire, data)
    read_everything(wire, b"data: " + data + b"\n\n")


@pytest.mark.parametrize(("wire", "name"), drawn(REQUESTS))
@given(data=st.data())
def test_a_request_gone_wrong(wire: str, name: str, data: st.DataObject) -> None:
    said = of(wire).REQUESTS[name]
    request(wire, data.draw(cut(said)))
    request(wire, body(data.draw(mutated(said))))


@pytest.mark.parametrize(("wire", "name"), drawn(REPLIES))
@given(data=st.data())
def test_a_reply_gone_wrong(wire: str, name: str, data: st.DataObject) -> None:
    said = of(wire).REPLIES[name]
    reply(wire, data.draw(cut(said)))
    reply(wire, body(data.draw(mutated(said))))


@pytest.mark.parametrize(("wire", "name"), REQUESTS)
def test_every_place_of_a_request_gone_wrong(wire: str, name: str) -> None:
    said = of(wire).REQUESTS[name]
    for wrong in each_gone_wrong(said):
        request(wire, body(wrong))


@pytest.mark.parametrize(("wire", "name"), REPLIES)
def test_every_place_of_a_reply_gone_wrong(wire: str, name: str) -> None:
    said = of(wire).REPLIES[name]
    for wrong in each_gone_wrong(said):
        reply(wire, body(wrong))


@each_wire
@given(data=st.data())
def test_a_stream_gone_wrong(wire: str, data: st.DataObject) -> None:
    whole, _ = encode_stream(wire, data.draw(replies(SAYS[wire])))
    events = whole.split(b"\n\n")
    at = data.draw(st.integers(0, len(events) - 1))
    head, found, text = events[at].partition(b"data: ")
    if found and text.startswith(b"{"):
        events[at] = head + found + body(data.draw(mutated(json.loads(text))))
    how = data.draw(st.sampled_from(["as it is", "twice", "cut", "gone"]))
    events[at : at + 1] = {"twice": [events[at]] * 2, "gone": []}.get(how, [events[at]])
    wrong = b"\n\n".join(events)
    stream(wire, data.draw(pieces(wrong[: len(wrong) // 2] if how == "cut" else wrong)))
