"""What the edge passes in: its secret key, and where the state of chat clients lies between requests."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol

import msgspec


class Store(Protocol):
    """Where the state of chat clients lies between requests; shared by several nodes if it wants to be."""

    def put(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> str | None: ...


class MemoryStore:
    """The default store: bounded, oldest out first."""

    def __init__(self, entries: int = 10_000, characters: int = 256 * 1024 * 1024) -> None:
        self._entries, self._characters, self._size = entries, characters, 0
        self._values: OrderedDict[str, str] = OrderedDict()

    def put(self, key: str, value: str) -> None:
        """Keep `value`, and let the oldest go when there is no room."""
        self._size += len(value) - len(self._values.pop(key, ""))
        self._values[key] = value
        while self._values and (len(self._values) > self._entries or self._size > self._characters):
            _, gone = self._values.popitem(last=False)
            self._size -= len(gone)

    def get(self, key: str) -> str | None:
        """The value of `key`, which becomes the youngest."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """The edge's secret key, and its store; without a store chat clients get the bonus slots only."""

    key: bytes
    store: Any = None

    def __repr__(self) -> str:
        return "Carrier(key=hidden)"
