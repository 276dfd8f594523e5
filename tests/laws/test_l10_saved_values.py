"""Law L10: whatever was decoded can be saved and opened again, equal in every field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Reply, Request
from dragoman.types.save import Conversation, dumps, loads
from dragoman.wire import WIRES
from laws.bodies import LANDED, of
from laws.both_ways import (
    decode_reply,
    decode_request,
    decode_stream,
    encode_reply,
    encode_request,
    encode_stream,
    fewer,
    gathered,
)
from strategies import replies, requests

each_wire = pytest.mark.parametrize("wire", LANDED)
each_wide_wire = pytest.mark.parametrize("wire", WIRES)  # a narrow one makes no value that these do not


def opened(saved: Conversation) -> Conversation:
    return loads(dumps(saved))


@fewer
@given(request=requests(), reply=replies())
def test_what_anybody_built(request: Request, reply: Reply) -> None:
    saved = Conversation(request=request, replies=(reply,))
    assert opened(saved) == saved


@each_wire
def test_what_was_read_from_bodies_by_hand(wire: str) -> None:
    bodies = of(wire)
    for said in bodies.REQUESTS.values():
        incoming = decode_request(wire, said)
        saved = Conversation(request=incoming.request, notes=incoming.notes)
        assert opened(saved) == saved
    read = [decode_reply(wire, said).value for said in bodies.REPLIES.values()]
    read += [gathered(decode_stream(wire, [said]))[0] for said in bodies.STREAMS.values()]
    saved = Conversation(request=Request(), replies=tuple(read))
    assert opened(saved) == saved


@each_wide_wire
@fewer
@given(request=requests())
def test_what_was_read_from_a_request_that_we_wrote(wire: str, request: Request) -> None:
    out = encode_request(wire, request)
    saved = Conversation(request=decode_request(wire, out.http.body).request, notes=out.notes)
    assert opened(saved) == saved


@each_wide_wire
@fewer
@given(data=st.data())
def test_what_was_read_from_a_reply_that_we_wrote(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies())
    whole = decode_reply(wire, encode_reply(wire, reply).body).value
    streamed, _ = gathered(decode_stream(wire, [encode_stream(wire, reply)[0]]))
    saved = Conversation(request=Request(), replies=(whole, streamed))
    assert opened(saved) == saved
