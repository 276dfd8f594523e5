"""The six pairs of two wires over every recorded request: valid, read back, and what the notes tell."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError
from dragoman.translate import Options
from dragoman.types import Note
from dragoman.types.note import show_path
from dragoman.wire import find
from dragoman.wire.base import Exchange
from matrix import cross, judge, reader, recordings, valid
from matrix.oracle import Reading
from matrix.recordings import Entry

PAIRS = tuple((a, b) for a in recordings.WIRES for b in recordings.WIRES if a != b)
# Classes of `valid.ACCEPTED` that we write: the types lack them, the vendor takes them.
WRITTEN = ("sampling", "output_format")

# Requests that do not cross, each with its reason: exactly these, or a test fails.
NOT_CROSSED: dict[str, str] = {
    "dd-trace-py-a85d335f8c60": "no request: messages[0] is a string; the service answered 400, we say the same",
}

Told = tuple[str, bool, str, str]  # action, loss, place, reason


@dataclass
class Pair:
    """What came of one pair: the ids that failed each test, with what failed, and the notes counted by what they tell."""

    total: int = 0
    refused: dict[str, str] = field(default_factory=dict[str, str])
    invalid: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    there: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    back: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    notes: Counter[Told] = field(default_factory=Counter[Told])
    silent: int = 0  # requests about which there was nothing to tell
    lossless: int = 0


@cache
def judged(source: str, target: str) -> Pair:
    """Every recorded request of `source`, translated to `target` and back, in the base dialects."""
    pair = Pair()
    for entry in recordings.entries(source):
        if isinstance(entry["request"], dict):
            pair.total += 1
            _judge(pair, entry, target)
    return pair


def same(expected: Reading, got: Reading) -> list[str]:
    """What two readings of one answer on two wires differ in, beyond what the wires put differently: a refusal in words,
    where a paragraph ends, no arguments as `{}`, a custom tool's text as the one argument `input`, broken arguments as
    `_raw`, and an input of fewer tokens than were read from the cache. Of a failed stream only that it failed: what a client saw before is not in every
    wire's last event."""
    return judge.compare(_meant(expected), _meant(got))


def _meant(reading: Reading) -> Reading:
    if reading.failed:
        return Reading(failed=True)
    words = (reading.text + reading.refusal).replace("\n", "")
    usage = replace(reading.usage, input=max(reading.usage.input, reading.usage.cache_read))
    calls = tuple(replace(call, arguments=_plain(call.arguments)) for call in reading.calls)
    thought = reading.reasoning.replace("\n", "")
    return replace(reading, text=words, refusal="", reasoning=thought, calls=calls, usage=usage)


def _plain(arguments: Any) -> Any:
    if isinstance(arguments, dict) and set(arguments) in ({"input"}, {"_raw"}):
        return next(iter(arguments.values()))
    return arguments or {}


def _judge(pair: Pair, entry: Entry, target: str) -> None:
    source, id, http = entry["wire"], entry["id"], reader.request(entry)
    try:
        there = cross.cross(http, source, target)
        back = cross.cross(there.http, target, source)
    except DragomanError as error:
        pair.refused[id] = str(error)
        return
    if found := errors(entry, target):
        pair.invalid[id] = found
    if found := cross.faults(there):
        pair.there[id] = found
    if found := cross.faults(back):
        pair.back[id] = found
    pair.notes.update({_told(note) for note in there.notes})
    pair.silent += not there.notes
    pair.lossless += not any(note.loss for note in there.notes)


def errors(entry: Entry, target: str) -> list[str]:
    """What the vendor's types say against the translated body, where the edge names the model as some services do."""
    options = Options(provider=Exchange(model="named-by-the-address"), target=BASE)
    out = translate.request(reader.request(entry), find(entry["wire"]), find(target), options)
    body = json.loads(out.http.body)
    for row in valid.ACCEPTED:
        if row.wire == target and row.name in WRITTEN:
            row.mend(body)
    return valid.errors(target, body)


def _told(note: Note) -> Told:
    """What a note tells, without what differs from request to request: each counted once a request."""
    place = re.sub(r"\[\d+\]", "[]", show_path(note.path))
    place = re.sub(r"(\.parameters|output\.schema)\..*", r"\1.…", place)
    return note.action, note.loss, place, re.sub(r"calls it [^']\S*", "calls it …", note.reason)
