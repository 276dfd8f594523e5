"""`reasoning_details` gathered from the pieces of a stream: those of one index and type are one entry."""

from __future__ import annotations

from typing import Any

from dragoman.types.opaque import Bag

GROW = ("text", "summary", "data")


class Details:
    """`add` pieces, get them `whole`: the strings by which an entry grows are joined, any other value is the last that
    was said, and a null takes nothing back. Work is linear in the pieces."""

    def __init__(self) -> None:
        self._entries: list[Any] = []
        self._known: dict[tuple[Any, Any], tuple[Bag, dict[str, list[str]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, item: Any) -> None:
        """Take a piece in; one without an index is an entry of its own."""
        if not isinstance(item, dict):
            self._entries.append(item)
            return
        key = (item.get("index"), item.get("type"))
        named = isinstance(key[0], int | float | str) and isinstance(key[1], str | None)
        if named and key in self._known:
            _grow(*self._known[key], item)
            return
        entry = dict(item)
        self._entries.append(entry)
        if named:
            self._known[key] = entry, {}

    def whole(self) -> list[Any]:
        """The entries so far."""
        for entry, pieces in self._known.values():
            for key, texts in pieces.items():
                entry[key] = "".join(texts)
        return list(self._entries)


def _grow(entry: Bag, pieces: dict[str, list[str]], item: Bag) -> None:
    for key, value in item.items():
        if key in GROW and isinstance(value, str) and isinstance(entry.get(key), str):
            pieces.setdefault(key, [entry[key]]).append(value)
        elif value is not None or key not in entry:
            entry[key] = value
            pieces.pop(key, None)
