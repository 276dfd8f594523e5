"""Law L8: from A to B and back to A keeps all that B can say; what B cannot say is noted, and each loss noted is one."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Reply, Request
from dragoman.wire import WIRES
from laws.bodies import LANDED, of
from laws.both_ways import decode_reply, decode_request, encode_reply, encode_request, fewer
from meaning import facts, idle, silent
from says import SAYS
from strategies import replies, requests

# A narrow wire says so little that one of the others stands for all.
PAIRS = [pair for pair in permutations(LANDED, 2) if set(pair) <= {*WIRES} or "chat" in pair]
pairs = pytest.mark.parametrize(("here", "there"), PAIRS)


def check(first: Any, away: Any, back: Any, notes: tuple[Any, Any]) -> None:
    """`first` as A said it, `away` as B did, `back` as A did again; `notes` of both conversions."""
    there, again = notes
    assert silent(first, away, there) == []
    assert idle(first, away, there) == []
    gone = silent(away, back, again)
    assert [fact for fact in gone if fact[1] in {said for _, said in facts(first)}] == []


def check_request(here: str, there: str, first: Request) -> None:
    out = encode_request(there, first)
    away = decode_request(there, out.http.body).request
    again = encode_request(here, away)
    check(first, away, decode_request(here, again.http.body).request, (out.notes, again.notes))


def check_reply(here: str, there: str, first: Reply) -> None:
    out = encode_reply(there, first)
    away = decode_reply(there, out.body).value
    again = encode_reply(here, away)
    check(first, away, decode_reply(here, again.body).value, (out.notes, again.notes))


@pairs
@fewer
@given(data=st.data())
def test_a_request_there_and_back(here: str, there: str, data: st.DataObject) -> None:
    request = data.draw(requests(SAYS[here]))
    check_request(here, there, decode_request(here, encode_request(here, request).http.body).request)


@pairs
@fewer
@given(data=st.data())
def test_a_reply_there_and_back(here: str, there: str, data: st.DataObject) -> None:
    reply = data.draw(replies(SAYS[here]))
    check_reply(here, there, decode_reply(here, encode_reply(here, reply).body).value)


@pytest.mark.parametrize(("here", "there"), list(permutations(LANDED, 2)))
def test_the_bodies_by_hand_there_and_back(here: str, there: str) -> None:
    for body in of(here).REQUESTS.values():
        check_request(here, there, decode_request(here, body).request)
    for body in of(here).REPLIES.values():
        check_reply(here, there, decode_reply(here, body).value)
