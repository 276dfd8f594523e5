"""How names, places and values are shown to a model."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from dragoman.types.note import Path, show_path

SHORT = 100
KINDS = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}


def names(items: Iterable[str]) -> str:
    """Names as people read them."""
    return ", ".join(f"`{item}`" for item in items)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` was most likely meant to be; None when none is near."""
    folded = {item.lower().replace("_", "").replace("-", ""): item for item in known}
    found = difflib.get_close_matches(name[:SHORT].lower().replace("_", "").replace("-", ""), folded, n=1)
    return folded[found[0]] if found else None


def near(name: str, known: Iterable[str]) -> str:
    """That an argument is unknown, and which one may be meant (S1-25)."""
    listed = list(known)
    meant = closest(name, listed)
    hint = f"did you mean `{meant}`? " if meant else ""
    return f"unknown `{name[:SHORT]}` ({hint}known: {names(listed) or 'none'})"


def place(path: Path) -> str:
    """A place in the arguments: `places[0].city`."""
    return show_path(path)


def shown(value: Any) -> str:
    """The kind of a JSON value, and the value."""
    return "null" if value is None else f"{KINDS.get(type(value), type(value).__name__)} {short(value)}"


def short(value: Any) -> str:
    """A value as JSON, its end left out where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "a value nested too deep to show"
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
