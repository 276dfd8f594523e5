"""Guards that what another wire says of a request equals the request up to notes, that every note is true, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.types import Note, Sampling, Text, user
from dragoman.wire.base import Http
from matrix import cross, pairs, recordings

pytestmark = pytest.mark.corpus


@pytest.mark.req("S3-05", "S3-06", "S3-07")
@pytest.mark.parametrize(("source", "target"), pairs.PAIRS)
def test_what_differs_is_told_and_what_is_told_differs(source: str, target: str) -> None:
    pair = pairs.judged(source, target)
    assert pair.there == {}
    known = {id for id in pairs.NOT_CROSSED if id in {entry["id"] for entry in recordings.entries(source)}}
    assert set(pair.refused) == known


@pytest.mark.parametrize(("source", "target"), pairs.PAIRS)
def test_the_same_on_the_way_back(source: str, target: str) -> None:
    assert pairs.judged(source, target).back == {}


# The judge itself: each lie and each silence about one crossing is found.

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "name": "ann", "content": "读取\nREADME"},
        {"role": "assistant", "content": "ok", "tool_calls": []},
        {"role": "user", "content": "go"},
    ],
    "max_tokens": 9,
    "seed": 7,
    "provider": {"order": ["x"]},
}


def crossing() -> cross.Crossing:
    return cross.cross(Http(body=json.dumps(BODY).encode()), "chat", "messages")


def test_nothing_is_wrong_with_an_honest_crossing() -> None:
    assert cross.faults(crossing()) == []


def test_each_loss_that_is_not_told_is_found() -> None:
    honest = crossing()
    lost = [note for note in honest.notes if note.loss]
    assert [note.path for note in lost] == [("messages", 0, "name"), ("sampling", "seed"), ("provider",)]
    for left_out in lost:
        told = cross.faults(honest._replace(notes=tuple(note for note in honest.notes if note is not left_out)))
        assert [line.split(":")[0] for line in told] == ["silent"]


def note(*path: str | int, **more: Any) -> Note:
    return Note(path=path, action="dropped", reason="no reason", **more)


@pytest.mark.parametrize(
    "lie",
    [
        note("sampling", "top_p"),
        note("messages", 2),
        note("messages", 0, "content", 0),
        note(),
        note("messages"),
        note("messages", 9, loss=False),
    ],
)
def test_each_note_that_tells_of_nothing_is_found(lie: Note) -> None:
    honest = crossing()
    told = cross.faults(honest._replace(notes=(*honest.notes, lie)))
    assert [line.split(":")[0] for line in told] == ["idle"]


def test_a_note_of_everything_excuses_nothing() -> None:
    told = cross.faults(crossing()._replace(notes=(note(), note("messages"))))
    assert [line.split(":")[0] for line in told] == ["silent", "silent", "silent", "idle", "idle"]


def test_each_change_that_is_not_told_is_found() -> None:
    honest = crossing()
    after = honest.after
    messages = after.messages
    changed = {
        "silent": replace(after, messages=(replace(messages[0], content=(Text(text="读取"),)), *messages[1:])),
        "unasked": replace(after, sampling=Sampling(temperature=1)),
        "unmoved": replace(
            after, messages=(replace(messages[0], content=messages[2].content), messages[1], messages[0])
        ),
    }
    for kind, value in changed.items():
        assert {line.split(":")[0] for line in cross.faults(honest._replace(after=value))} == {kind}, kind
    longer = replace(after, messages=(*messages, user("more")))
    assert {line.split(":")[0] for line in cross.faults(honest._replace(after=longer))} == {"unasked"}
