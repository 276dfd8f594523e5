"""Law L2: encode(decode(body)) equals the body as JSON, unknown fields, nulls, wrong types and spellings included."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.model import BASE
from dragoman.types import Request
from dragoman.wire import find
from dragoman.wire.base import Exchange
from laws.bodies import LANDED, of
from laws.both_ways import body, decode_request, encode_reply, encode_request
from matrix.judge import paths
from strategies import replies, requests

REQUESTS = [(wire, name) for wire in LANDED for name in of(wire).REQUESTS]
REPLIES = [(wire, name) for wire in LANDED for name in of(wire).REPLIES]
each_wire = pytest.mark.parametrize("wire", LANDED)


@pytest.mark.parametrize(("wire", "name"), REQUESTS)
def test_a_request_by_hand(wire: str, name: str) -> None:
    said = of(wire).REQUESTS[name]
    incoming = decode_request(wire, said)
    out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
    assert paths(said, json.loads(out.http.body)) == []


@pytest.mark.parametrize(("wire", "name"), REPLIES)
def test_a_whole_reply_by_hand(wire: str, name: str) -> None:
    said = of(wire).REPLIES[name]
    value = find(wire).decode_reply(body(said), BASE, Exchange()).value
    out = find(wire).encode_reply(value, BASE, Exchange())
    assert paths(said, json.loads(out.body)) == []


@each_wire
@given(request=requests())
def test_a_request_that_we_wrote(wire: str, request: Request) -> None:
    said = encode_request(wire, request).http.body
    incoming = decode_request(wire, said)
    out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
    assert paths(json.loads(said), json.loads(out.http.body)) == []


@each_wire
@given(data=st.data())
def test_a_whole_reply_that_we_wrote(wire: str, data: st.DataObject) -> None:
    said = encode_reply(wire, data.draw(replies())).body
    value = find(wire).decode_reply(said, BASE, Exchange()).value
    out = find(wire).encode_reply(value, BASE, Exchange())
    assert paths(json.loads(said), json.loads(out.body)) == []
