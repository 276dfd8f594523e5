"""Whether a request is the recorded one, and where it first differs: method, path, and the body as JSON.

Ids that differ from run to run (a server gave them, or we did where it gave none) need not be equal: they need to be used
alike, so that each recorded id stands for one of now, and for no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.types.note import Path, show_path
from dragoman.wire.base import Http

IDS = ("id", "call_id", "tool_call_id", "tool_use_id", "item_id", "previous_response_id", "prompt_cache_key")
SHOWN = 60  # characters of a value around the place where it differs
ABSENT = object()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first element that differs: its place in the body, both values, and how many before it were equal.

    `what` names it where it does not stand in the body: method, path, body (one that is no JSON).
    """

    recorded: str
    asked: str
    path: Path = ()
    what: str = ""
    after: int = 0

    def __str__(self) -> str:
        return f"{self.what or show_path(self.path)} differs: recorded {self.recorded}, asked {self.asked}"


def difference(recorded: Http, asked: Http) -> Difference | None:
    """Where `asked`, its keys taken out, first differs from a recorded request; None where it is the same."""
    for what, ours, theirs in (
        ("method", recorded.method, asked.method),
        ("path", _path(recorded.path), _path(asked.path)),
    ):
        if ours != theirs:
            return Difference(what=what, recorded=ours, asked=theirs)
    if recorded.body == asked.body:
        return None
    try:
        ours, theirs = msgspec.json.decode(recorded.body), msgspec.json.decode(asked.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        texts = recorded.body.decode("utf-8", "replace"), asked.body.decode("utf-8", "replace")
        return Difference(what="body", recorded=_excerpt(*texts), asked=_excerpt(*reversed(texts)))
    return _Walk().first(ours, theirs)


class _Walk:
    """One comparison, element by element in recorded order."""

    def __init__(self) -> None:
        self._equal = 0
        self._now: dict[str, str] = {}
        self._then: dict[str, str] = {}

    def first(self, ours: Any, theirs: Any, path: Path = ()) -> Difference | None:
        if isinstance(ours, dict) and isinstance(theirs, dict):
            pairs = ((key, ours.get(key, ABSENT), theirs.get(key, ABSENT)) for key in (*ours, *(theirs.keys() - ours)))
            return self._in_turn(pairs, path)
        if isinstance(ours, list) and isinstance(theirs, list):
            return self._in_turn(_places(ours, theirs), path)
        same = type(ours) is type(theirs) and ours == theirs
        if same or (path and path[-1] in IDS and self._stands_for(ours, theirs)):
            self._equal += 1
            return None
        return Difference(path=path, recorded=_excerpt(ours, theirs), asked=_excerpt(theirs, ours), after=self._equal)

    def _in_turn(self, pairs: Iterator[tuple[str | int, Any, Any]], path: Path) -> Difference | None:
        found = (self.first(ours, theirs, (*path, place)) for place, ours, theirs in pairs)
        return next((each for each in found if each is not None), None)

    def _stands_for(self, ours: Any, theirs: Any) -> bool:
        """Whether an id of now is used where the recorded one was, and nowhere else."""
        if not isinstance(ours, str) or not isinstance(theirs, str):
            return False
        return self._now.setdefault(ours, theirs) == theirs and self._then.setdefault(theirs, ours) == ours


def _places(ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    for place in range(max(len(ours), len(theirs))):
        yield (
            place,
            ours[place] if place < len(ours) else ABSENT,
            theirs[place] if place < len(theirs) else ABSENT,
        )


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _excerpt(value: Any, other: Any) -> str:
    """A value for people: of a long text, what stands around the first letter that differs."""
    if value is ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    beside = other if isinstance(other, str) else ""
    at = next((at for at, (one, two) in enumerate(zip(text, beside, strict=False)) if one != two), len(beside))
    first = max(0, at - SHOWN // 2) if len(text) > SHOWN and beside else 0
    shown = text[first : first + SHOWN]
    cut = f"{'…' if first else ''}{shown}{'…' if first + SHOWN < len(text) else ''}"
    return msgspec.json.encode(cut).decode() if isinstance(value, str) else cut
