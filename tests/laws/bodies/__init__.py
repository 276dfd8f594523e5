"""Bodies written by hand, a module a wire, that say all a wire can say and all that goes wrong with it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dragoman.wire import LIBRARY

LANDED = LIBRARY  # a new wire fails every law until its bodies are written


def of(wire: str) -> Any:
    """The module of one wire: REQUESTS and REPLIES by name, STREAMS by name, and PAIRS of a reply and its stream."""
    return import_module(f"laws.bodies.{wire}")
