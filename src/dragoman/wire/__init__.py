"""One pure two-way codec a format: bytes in, values out, and back."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.wire.base import Wire

WIRES = ("chat", "messages", "responses")  # those that say all of an agent's turn
NARROW = ("completions", "ollama")  # those that say less of it
LIBRARY = (*WIRES, *NARROW)  # all that come with the library

_added: dict[str, Wire] = {}


def find(name: str) -> Wire:
    """The codec of a wire by its id; its module is loaded on first use. Raises UsageError unknown_wire."""
    if name in _added:
        return _added[name]
    if name not in LIBRARY:
        raise UsageError("unknown_wire", f"unknown wire {name!r}: one of {', '.join((*LIBRARY, *_added))}")
    return _own(name)


@cache  # asked with every request
def _own(name: str) -> Wire:
    wire: Wire = import_module(f"dragoman.wire.{name}").wire
    return wire


def register(name: str, codec: Wire) -> None:
    """Add a codec under a new id. Raises UsageError for an id that another codec has."""
    if name in LIBRARY or _added.get(name, codec) is not codec:
        raise UsageError("usage", f"there is a wire {name} already")
    _added[name] = codec
