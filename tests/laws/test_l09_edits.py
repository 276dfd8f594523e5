"""Law L9: after changing one modelled field, the encoding shows the new value in one place and is as it was elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import Reply, Request
from dragoman.wire import find
from dragoman.wire.base import Exchange
from laws import fields
from laws.bodies import LANDED, of
from laws.both_ways import decode_reply, decode_request
from laws.edits import NEW, Edit, Name, edits, modelled
from laws.junk import Path, at
from meaning import covers

each_wire = pytest.mark.parametrize("wire", LANDED)
REQUESTS = [(wire, name) for wire in LANDED for name in of(wire).REQUESTS]
REPLIES = [(wire, name) for wire in LANDED for name in of(wire).REPLIES]


def write(wire: str, value: Any) -> tuple[Any, Any]:
    """The body of a request or reply, and the notes."""
    codec = find(wire)
    if isinstance(value, Request):
        out = codec.encode_request(value, BASE, Exchange(wire=wire))
        return json.loads(out.http.body), out.notes
    assert isinstance(value, Reply)
    out = codec.encode_reply(value, BASE, Exchange())
    return json.loads(out.body), out.notes


def differing(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """The innermost places where two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key in one and key in other:
                yield from differing(one[key], other[key], (*path, key))
            else:
                yield (*path, key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differing(*pair, (*path, index))
    elif one != other or type(one) is not type(other):
        yield path


def shows(new: Any, found: Any) -> bool:
    """Whether a new value stands in what was found. A word of a closed list is spelled in each wire's own way."""
    text = json.dumps(found, ensure_ascii=False)
    if NEW in json.dumps(new, ensure_ascii=False, default=list):
        return NEW in text
    if isinstance(new, (int, float)) and not isinstance(new, bool):
        return found == new or found == new / 1_000_000_000  # cost
    return not isinstance(new, bool) or isinstance(found, bool)  # a wire may say the opposite of the opposite


def check(wire: str, before: Any, edit: Edit) -> list[str]:
    """What is wrong with the body after one edit; nothing, when all is as the law says."""
    after, notes = write(wire, edit.whole)
    places = [place for place in differing(before, after) if place[0] != "output_text"]  # all texts again, joined
    told = f"{edit.name} at {edit.path} → {edit.value!r}: {places}"
    if edit.name in fields.INVISIBLE[wire] and not places:
        return []
    roots = fields.WIDE[wire].get(edit.name, ())
    if places and {place[0] for place in places} <= set(roots):
        return []
    if len(places) == 1 and shows(edit.value, at(after, places[0])):
        return []
    # What cannot be said must be noted; that a note is true is law L8.
    return [] if any(covers(note, edit.path) for note in notes) else [f"not shown in one place: {told}"]


def wrongs(wire: str, value: Request | Reply, exempt: frozenset[Name] = frozenset()) -> list[str]:
    before, _ = write(wire, value)
    return [wrong for edit in edits(value) if edit.name not in exempt for wrong in check(wire, before, edit)]


@pytest.mark.parametrize(("wire", "name"), REQUESTS)
def test_each_field_of_a_request(wire: str, name: str) -> None:
    exempt = fields.EXEMPT.get((wire, name), frozenset())
    assert wrongs(wire, decode_request(wire, of(wire).REQUESTS[name]).request, exempt) == []


@pytest.mark.parametrize(("wire", "name"), REPLIES)
def test_each_field_of_a_reply(wire: str, name: str) -> None:
    exempt = fields.EXEMPT.get((wire, name), frozenset())
    assert wrongs(wire, decode_reply(wire, of(wire).REPLIES[name]).value, exempt) == []


@each_wire
def test_no_field_is_forgotten(wire: str) -> None:
    bodies = of(wire)
    values: list[Any] = [decode_request(wire, said).request for said in bodies.REQUESTS.values()]
    values += [decode_reply(wire, said).value for said in bodies.REPLIES.values()]
    said = {edit.name for value in values for edit in edits(value)}
    assert sorted(set(modelled()) - said) == sorted(fields.UNSAID[wire])
