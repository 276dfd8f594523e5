"""The rule behind laws L2 and L9: a leftover never copies what a typed field holds, or it would undo an edit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DragomanError
from dragoman.wire import WIRES
from laws.bodies import LANDED, of
from laws.both_ways import body, decode_reply, decode_request, decode_stream, gathered
from laws.junk import mutated
from laws.modelled_keys import MODELLED, trespassers
from matrix import judge, recordings

each_wire = pytest.mark.parametrize("wire", LANDED)


def values(wire: str) -> list[Any]:
    """Everything that the bodies written by hand are read as."""
    bodies = of(wire)
    requests = [decode_request(wire, said).request for said in bodies.REQUESTS.values()]
    replies = [decode_reply(wire, said).value for said in bodies.REPLIES.values()]
    return [*requests, *replies, *(gathered(decode_stream(wire, [said]))[0] for said in bodies.STREAMS.values())]


@each_wire
def test_bodies_by_hand(wire: str) -> None:
    assert [found for value in values(wire) for found in trespassers(value)] == []


@each_wire
@given(data=st.data())
def test_bodies_gone_wrong(wire: str, data: st.DataObject) -> None:
    said = data.draw(mutated(of(wire).REQUESTS["rich"]))
    try:
        value = decode_request(wire, body(said)).request
    except DragomanError:
        return
    assert list(trespassers(value)) == []


@each_wire
def test_recordings(wire: str) -> None:
    if not recordings.present():
        pytest.skip("the recordings are not beside this checkout")
    count = 0
    found: list[tuple[str, str]] = []
    for id, value in judge.decoded(wire):
        count += 1
        found += [(id, told) for told in trespassers(value)]
    print(f"leftovers, {wire}: {count} recorded values, {len(found)} keys that a field could hold")
    assert found == []
    assert count > (900 if wire in WIRES else 20)


@each_wire
def test_the_table_is_about_this_wire(wire: str) -> None:
    """Each row names keys that a body by hand says: a key that no body has guards nothing."""
    said = {
        key for name in ("REQUESTS", "REPLIES") for value in getattr(of(wire), name).values() for key in _keys(value)
    }
    rows = {key for what, kinds in MODELLED.items() if what[0] == wire for key in kinds}
    assert sorted(rows - said) == []


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    if isinstance(value, list):
        return {key for item in value for key in _keys(item)}
    return set()
