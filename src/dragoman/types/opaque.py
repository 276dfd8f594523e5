"""The rules for leftovers: what a wire said that the middle format has no field for.

A value's `opaque` maps a wire id to that wire's leftovers, kept where they were found:

* unknown keys, explicit nulls, and values of a type the field cannot hold, under their own key;
* under a key that starts with "~", what is ours: `"~"` itself holds marks (how a thing was spelled, never what it
  said, so that no leftover can undo an edit), `"~function"` and its like hold leftovers of an object nested in this one.

A leftover never copies what a typed field holds. Bags are shared, never changed in place.
Source: the recordings named in docs/architecture.md, "leftovers".
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, TypeVar

JSON = Any
Bag = dict[str, JSON]
Opaque = dict[str, Bag]

MARKS = "~"

T = TypeVar("T")


def pack(wire: str, left: Bag, marks: Bag | None = None) -> Opaque | None:
    """An `opaque` of one wire, or None when there is nothing to keep. Takes ownership of `left`."""
    if marks:
        left[MARKS] = marks
    return {wire: left} if left else None


def bag(opaque: Opaque | None, wire: str) -> Bag:
    """The leftovers of `wire`, marks and nested bags included; empty when there are none."""
    return opaque.get(wire, {}) if opaque else {}


def marks(opaque: Opaque | None, wire: str) -> Bag:
    """How `wire` spelled this value; empty when nothing was out of the ordinary."""
    left = opaque.get(wire) if opaque else None
    found = left.get(MARKS) if left else None
    return found if isinstance(found, dict) else {}


def word(spelled: Bag, key: str, allowed: Container[str]) -> str | None:
    """A mark that is one of a few words. None where there is none, and where it is none of them: a saved file from elsewhere
    may hold anything, and a mark of no known meaning is no mark."""
    found = spelled.get(key)
    return found if type(found) is str and found in allowed else None


def listed(spelled: Bag, key: str, kind: type[T]) -> list[T] | None:
    """A mark that is a list of `kind` (bool is no int); None for any other, as above."""
    found = spelled.get(key)
    return found if type(found) is list and all(type(item) is kind for item in found) else None


def nested(left: Bag, key: str) -> Bag:
    """The leftovers of an object nested in this one; empty where there are none, or a body said this key of ours itself and
    no object under it."""
    found = left.get(key)
    return found if isinstance(found, dict) else {}


def restore(out: Bag, left: Bag) -> Bag:
    """`out` with each leftover key that is no key of ours and that it does not hold yet; what a typed field wrote wins."""
    for key, value in left.items():
        if not key.startswith(MARKS) and key not in out:
            out[key] = value
    return out
