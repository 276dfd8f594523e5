"""One pure two-way codec a format: bytes in, values out, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.wire.base import Wire

WIRES = ("chat", "messages", "responses")


def find(name: str) -> Wire:
    """The codec of a wire by its id; its module is loaded on first use. Raises UsageError unknown_wire."""
    if name not in WIRES:
        raise UsageError("unknown_wire", f"unknown wire {name!r}: one of {', '.join(WIRES)}")
    return import_module(f"dragoman.wire.{name}").wire
