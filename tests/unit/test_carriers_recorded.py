"""Guards the share of recorded replies with thinking or hosted calls that survive a client of another wire: all of them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from carrying import carrier, echoed, hidden, only_ids, owed, restored, shown
from dragoman.errors import DragomanError
from dragoman.types import Reply
from dragoman.wire import WIRES
from matrix import reader, recordings

PAIRS = list(permutations(WIRES, 2))


def stateful(provider: str, client: str) -> list[tuple[str, Reply]]:
    """The recorded replies of a wire, whole and streamed, that hold what a client of the other cannot say."""
    found: list[tuple[str, Reply]] = []
    for entry in recordings.judged(provider):
        if entry["status"] >= 400:
            continue
        try:
            value = reader.collected(entry)[0] if recordings.is_stream(entry) else reader.reply(entry)
        except DragomanError:
            continue
        if hidden(value.message.content, client):
            found.append((entry["id"], value))
    return found


def exact(reply: Reply, client: str, echo: Any) -> bool:
    edge = carrier()
    content, notes, _ = restored(client, echo(client, shown(reply, client, edge)), edge)
    return hidden(content, client) == owed(reply, client) and not notes


@pytest.mark.parametrize(("provider", "client"), PAIRS)
def test_recorded_state_comes_back_exactly(provider: str, client: str) -> None:
    if not recordings.present():
        pytest.skip("the recordings are not beside this checkout")
    replies = stateful(provider, client)
    missed = [id for id, reply in replies if not exact(reply, client, echoed)]
    print(f"carriers, {provider} to a {client} client and back: {len(replies) - len(missed)} of {len(replies)} exact")
    assert missed == []
    assert len(replies) > 30


@pytest.mark.parametrize("provider", [wire for wire in WIRES if wire != "chat"])
def test_recorded_state_before_a_call_comes_back_by_the_id_alone(provider: str) -> None:
    if not recordings.present():
        pytest.skip("the recordings are not beside this checkout")
    replies = [(id, reply) for id, reply in stateful(provider, "chat") if reply.calls and not _trailing(reply)]
    ids = [id for id, reply in replies if not exact(reply, "chat", lambda wire, body: only_ids(echoed(wire, body)))]
    print(
        f"carriers, {provider} to a chat client that keeps ids only: {len(replies) - len(ids)} of {len(replies)} exact"
    )
    assert ids == []
    assert len(replies) > 10


def _trailing(reply: Reply) -> bool:
    """Whether something to be carried stands after the last call: no id tells of it."""
    content = reply.message.content
    last = max(at for at, block in enumerate(content) if block in reply.calls)
    return bool(hidden(content[last:], "chat"))
