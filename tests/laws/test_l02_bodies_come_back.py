"""Law L2: encode(decode(body)) equals the body as JSON, unknown fields, nulls, wrong types and spellings included."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError
from dragoman.types import Request
from dragoman.wire import find
from dragoman.wire.base import Exchange
from laws.bodies import LANDED, of
from laws.both_ways import decode_reply, decode_request, encode_reply, encode_request, fewer
from laws.junk import each_gone_wrong
from matrix.judge import paths
from strategies import replies, requests

REQUESTS = [(wire, name) for wire in LANDED for name in of(wire).REQUESTS]
REPLIES = [(wire, name) for wire in LANDED for name in of(wire).REPLIES]
each_wire = pytest.mark.parametrize("wire", LANDED)


def request_again(wire: str, said: Any) -> Any:
    """A request's body, read and written."""
    incoming = decode_request(wire, said)
    out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
    if any(note.path[-1:] == ("media_type",) for note in out.notes):  # mended on purpose: the bytes tell their own type
        return said
    return json.loads(out.http.body)


def reply_again(wire: str, said: Any) -> Any:
    """A whole reply's body, read and written."""
    value = decode_reply(wire, said).value
    return json.loads(find(wire).encode_reply(value, BASE, Exchange()).body)


@pytest.mark.parametrize(("wire", "name"), REQUESTS)
def test_a_request_by_hand(wire: str, name: str) -> None:
    said = of(wire).REQUESTS[name]
    assert paths(said, request_again(wire, said)) == []


@pytest.mark.parametrize(("wire", "name"), REPLIES)
def test_a_whole_reply_by_hand(wire: str, name: str) -> None:
    said = of(wire).REPLIES[name]
    assert paths(said, reply_again(wire, said)) == []


@pytest.mark.parametrize(("wire", "name"), REQUESTS)
def test_a_request_with_any_place_gone_wrong(wire: str, name: str) -> None:
    for said in each_gone_wrong(of(wire).REQUESTS[name]):
        with suppress(DragomanError):  # refused with its place: law L6
            assert paths(said, request_again(wire, said)) == []


@pytest.mark.parametrize(("wire", "name"), REPLIES)
def test_a_whole_reply_with_any_place_gone_wrong(wire: str, name: str) -> None:
    for said in each_gone_wrong(of(wire).REPLIES[name]):
        with suppress(DragomanError):
            assert paths(said, reply_again(wire, said)) == []


@each_wire
@fewer
@given(request=requests())
def test_a_request_that_we_wrote(wire: str, request: Request) -> None:
    said = encode_request(wire, request).http.body
    assert paths(json.loads(said), request_again(wire, said)) == []


@each_wire
@fewer
@given(data=st.data())
def test_a_whole_reply_that_we_wrote(wire: str, data: st.DataObject) -> None:
    said = encode_reply(wire, data.draw(replies())).body
    assert paths(json.loads(said), reply_again(wire, said)) == []
