"""Guards law L2 (what a client or a server said comes out again, unknown fields included) and L10 (it can be saved)."""

from __future__ import annotations

import pytest

from dragoman.types import Reply, Request
from dragoman.types.save import Conversation, dumps, loads
from matrix import judge, misses, recordings

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("name", recordings.WIRES)
def test_requests_come_out_as_they_went_in(name: str) -> None:
    share = judge.requests_both_ways(name)
    print(f"L2 requests, {name}: {share}")
    known = {id for id in misses.REQUESTS if id in {entry["id"] for entry in recordings.entries(name)}}
    assert set(share.missed) == known, {id: told for id, told in share.missed.items() if id not in known}
    assert share.total > 450


@pytest.mark.parametrize("name", recordings.WIRES)
def test_whole_replies_come_out_as_they_went_in(name: str) -> None:
    share = judge.replies_both_ways(name)
    print(f"L2 whole replies, {name}: {share}")
    known = {id for id in misses.REPLIES if id in {entry["id"] for entry in recordings.entries(name)}}
    assert set(share.missed) == known, {id: told for id, told in share.missed.items() if id not in known}
    assert share.total > 350


@pytest.mark.parametrize("name", recordings.WIRES)
def test_whatever_was_decoded_can_be_saved_and_opened_again(name: str) -> None:
    changed: list[str] = []
    count = 0
    for id, value in judge.decoded(name):
        count += 1
        saved = _saved(value)
        if loads(dumps(saved)) != saved:
            changed.append(id)
    assert changed == []
    assert count > 900


def _saved(value: Request | Reply) -> Conversation:
    if isinstance(value, Request):
        return Conversation(request=value)
    return Conversation(request=Request(), replies=(value,))
