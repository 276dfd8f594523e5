"""Law L1: decode(encode(value)) == value for what a wire can say; what it cannot say is noted, each place of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Request
from laws.bodies import LANDED
from laws.both_ways import decode_reply, decode_request, encode_reply, encode_request, fewer, losses
from meaning import differences, silent
from says import SAYS
from strategies import replies, requests

each_wire = pytest.mark.parametrize("wire", LANDED)


@each_wire
@fewer
@given(data=st.data())
def test_a_request_that_the_wire_can_say_comes_back(wire: str, data: st.DataObject) -> None:
    request = data.draw(requests(SAYS[wire]))
    out = encode_request(wire, request, said_on=wire)
    back = decode_request(wire, out.http.body)
    assert differences(back.request, request) == []
    assert losses((*out.notes, *back.notes)) == []


@each_wire
@fewer
@given(data=st.data())
def test_a_reply_that_the_wire_can_say_comes_back(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies(SAYS[wire]))
    out = encode_reply(wire, reply)
    back = decode_reply(wire, out.body)
    assert differences(back.value, reply) == []
    assert losses((*out.notes, *back.notes)) == []


@each_wire
@fewer
@given(request=requests())
def test_whatever_of_any_request_does_not_come_back_is_noted(wire: str, request: Request) -> None:
    out = encode_request(wire, request)
    back = decode_request(wire, out.http.body).request
    assert silent(request, back, out.notes) == []


@each_wire
@fewer
@given(data=st.data())
def test_whatever_of_any_reply_does_not_come_back_is_noted(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies())
    out = encode_reply(wire, reply)
    back = decode_reply(wire, out.body).value
    assert silent(reply, back, out.notes) == []
