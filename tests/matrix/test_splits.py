"""Guards law L3 (any split of a stream gives the same events) and L4 (a stream adds up to the whole reply)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from dragoman import wire
from dragoman.dialect.model import BASE
from dragoman.types import Failure, Finish, Reply
from dragoman.wire.base import Exchange
from matrix import oracle, reader, recordings, sdk
from matrix.recordings import Entry

pytestmark = pytest.mark.corpus

SMALL = 20_000
TINY = 3_000


def _streams(name: str, limit: int | None = None) -> list[tuple[Entry, bytes]]:
    found = [(entry, recordings.body(entry)) for entry in recordings.entries(name) if recordings.is_stream(entry)]
    return [(entry, body) for entry, body in found if limit is None or len(body) <= limit]


@pytest.mark.parametrize("name", recordings.WIRES)
def test_where_the_network_cuts_is_no_matter(name: str) -> None:
    cut = 0
    for entry, body in _streams(name, SMALL):
        whole = reader.streamed(entry)
        rng = random.Random(entry["id"])
        for _ in range(20):
            at = rng.randrange(len(body) + 1)
            assert reader.streamed(entry, [body[:at], body[at:]]) == whole, (entry["id"], at)
            cut += 1
    assert cut > 500


@pytest.mark.parametrize("name", recordings.WIRES)
def test_one_byte_at_a_time(name: str) -> None:
    streams = _streams(name, TINY) or _streams(name, SMALL)[:3]
    for entry, body in streams:
        assert reader.streamed(entry, [body[at : at + 1] for at in range(len(body))]) == reader.streamed(entry), entry[
            "id"
        ]
    assert streams


@pytest.mark.parametrize("name", recordings.WIRES)
def test_exactly_one_last_word(name: str) -> None:
    for entry, _ in _streams(name):
        events = reader.streamed(entry)
        ends = [index for index, event in enumerate(events) if isinstance(event, Finish | Failure)]
        assert ends == [len(events) - 1], entry["id"]


def test_a_responses_stream_adds_up_to_its_own_last_event() -> None:
    compared = 0
    for entry, _ in _streams("responses"):
        last = [event["response"] for event in recordings.events(entry) if event.get("type") in oracle.TERMINAL]
        if last and last[-1].get("output"):
            _same_reply(entry, last[-1])
            compared += 1
    assert compared > 150


@pytest.mark.filterwarnings("ignore")  # the SDKs' own deprecations
@pytest.mark.parametrize("name", ["chat", "messages"])
def test_a_stream_adds_up_to_what_the_official_sdk_makes_of_it(name: str) -> None:
    compared = 0
    for entry, _ in _streams(name):
        if sdk.speaks(entry) and entry["id"] not in {*sdk.REFUSES, *sdk.MISREADS, *recordings.NOT_JUDGED}:
            _same_reply(entry, sdk.whole(entry))
            compared += 1
    assert compared > 50


def _same_reply(entry: Entry, whole: Any) -> None:
    body = json.dumps(whole).encode()
    value = wire.find(entry["wire"]).decode_reply(body, BASE, Exchange()).value
    streamed, reading = reader.collected(entry)
    assert reading == reader.reading(value), entry["id"]
    assert _outline(streamed) == _outline(value), entry["id"]
    # A first chunk without id and model is all that an SDK keeps of the two.
    assert {streamed.id: streamed.model} == {value.id or streamed.id: value.model or streamed.model}, entry["id"]


def _outline(reply: Reply) -> tuple[str, list[str]]:
    return reply.stop.reason, [type(block).__name__ for block in reply.message.content]
