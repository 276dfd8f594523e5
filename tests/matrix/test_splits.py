"""Guards law L3: any split of a stream gives the same events, and exactly one last word."""

from __future__ import annotations

import random

import pytest

from dragoman.types import Failure, Finish
from matrix import reader, recordings
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
        bytewise = [body[at : at + 1] for at in range(len(body))]
        assert reader.streamed(entry, bytewise) == reader.streamed(entry), entry["id"]
    assert streams


@pytest.mark.parametrize("name", recordings.WIRES)
def test_exactly_one_last_word(name: str) -> None:
    for entry, _ in _streams(name):
        events = reader.streamed(entry)
        ends = [index for index, event in enumerate(events) if isinstance(event, Finish | Failure)]
        assert ends == [len(events) - 1], entry["id"]
