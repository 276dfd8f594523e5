"""Keys that say nothing, or that only a reply has, left out for servers that refuse them (REQ-030)."""

from __future__ import annotations

from typing import Any, NamedTuple

from dragoman.wire.base import Notes

# What other people's objects hold is theirs: schemas, arguments, labels.
THEIRS = frozenset({"input_schema", "parameters", "schema", "metadata", "arguments", "action"})


class Keys(NamedTuple):
    """Keys of one wire: those of its replies only, and those that say something by being null."""

    only_replies: frozenset[str]
    null_speaks: frozenset[str] = frozenset()


def strip(out: dict[str, Any], keys: Keys, notes: Notes) -> None:
    """Take nulls and keys of replies off a body, in place; one of a reply that said something is noted. What stands in the
    body is copied where it changes, level by level: it may be as deep as the interpreter's own stack."""
    gone: dict[str, None] = {}
    level: list[Any] = [out]
    while level:
        below: list[Any] = []
        for held in level:
            if isinstance(held, dict):
                _leave_out(held, keys, gone)
            for place, item in _inner(held):
                held[place] = item.copy()
                below.append(held[place])
        level = below
    for key in gone:
        notes.add((key,), "dropped", f"`{key}` stands in replies only", loss=False)


def _leave_out(held: dict[str, Any], keys: Keys, gone: dict[str, None]) -> None:
    for key, item in list(held.items()):
        if key in keys.only_replies:
            gone |= {} if item is None else {key: None}
            del held[key]
        elif item is None and key not in keys.null_speaks:
            del held[key]


def _inner(held: Any) -> list[tuple[Any, Any]]:
    """The objects and arrays in one, but for those that are other people's, with their places."""
    if isinstance(held, list):
        return [(at, item) for at, item in enumerate(held) if isinstance(item, dict | list)]
    return [
        (key, item)
        for key, item in held.items()
        if isinstance(item, dict | list)
        and key not in THEIRS
        and not (key == "input" and isinstance(item, dict))  # the input of a call
    ]
