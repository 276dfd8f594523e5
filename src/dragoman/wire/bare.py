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
    """Take nulls and keys of replies off a body, in place; one of a reply that said something is noted."""
    gone: dict[str, None] = {}
    bare = _bare(out, keys, gone)
    out.clear()
    out |= bare
    for key in gone:
        notes.add((key,), "dropped", f"`{key}` stands in replies only", loss=False)


def _bare(value: Any, keys: Keys, gone: dict[str, None]) -> Any:
    if isinstance(value, list):
        return [_bare(item, keys, gone) for item in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if key in keys.only_replies:
            gone |= {} if item is None else {key: None}
        elif item is not None or key in keys.null_speaks:
            theirs = key in THEIRS or (key == "input" and isinstance(item, dict))  # the input of a call
            kept[key] = item if theirs else _bare(item, keys, gone)
    return kept
