"""Guards law L4 (a stream adds up to the whole reply) and L2 for streams (written again, they say the same)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import wire
from dragoman.dialect.model import BASE
from dragoman.types import Reply
from dragoman.wire.base import Exchange
from matrix import judge, misses, reader, recordings, sdk
from matrix.recordings import Entry

pytestmark = pytest.mark.corpus


def _streams(name: str) -> list[Entry]:
    return [entry for entry in recordings.judged(name) if recordings.is_stream(entry)]


def test_a_responses_stream_adds_up_to_its_own_last_event() -> None:
    compared = 0
    for entry in _streams("responses"):
        said = [event["response"] for event in recordings.events(entry) if "response" in event]
        if said and said[-1].get("output"):
            reply = _same_reply(entry, said[-1])
            assert reply.id in {response["id"] for response in said}, entry["id"]  # one server changes it on the way
            compared += 1
    assert compared > 150


@pytest.mark.filterwarnings("ignore")  # the SDKs' own deprecations
@pytest.mark.parametrize("name", ["chat", "messages"])
def test_a_stream_adds_up_to_what_the_official_sdk_makes_of_it(name: str) -> None:
    compared = 0
    for entry in _streams(name):
        if sdk.speaks(entry) and entry["id"] not in sdk.REFUSES and entry["id"] not in sdk.MISREADS:
            whole = sdk.whole(entry)
            reply = _same_reply(entry, whole)
            # A first chunk without id and model is all that an SDK keeps of the two.
            assert reply.id == (whole["id"] or reply.id), entry["id"]
            assert reply.model == (whole["model"] or reply.model), entry["id"]
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("name", recordings.WIRES)
def test_streams_say_the_same_when_written_again(name: str) -> None:
    share = judge.streams_both_ways(name)
    print(f"L2 streams, {name}: {share}")
    known = {id for id in misses.STREAMS if id in {entry["id"] for entry in recordings.entries(name)}}
    assert set(share.missed) == known, {id: told for id, told in share.missed.items() if id not in known}
    assert share.right >= 0.98 * share.total


def _same_reply(entry: Entry, whole: Any) -> Reply:
    value = wire.find(entry["wire"]).decode_reply(json.dumps(whole).encode(), BASE, Exchange()).value
    streamed, reading = reader.collected(entry)
    assert reading == reader.reading(value), entry["id"]
    assert _outline(streamed) == _outline(value), entry["id"]
    return streamed


def _outline(reply: Reply) -> tuple[str, list[str]]:
    return reply.stop.reason, [type(block).__name__ for block in reply.message.content]
