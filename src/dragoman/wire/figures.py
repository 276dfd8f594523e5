"""Figures of a usage as services write them: numbers, texts, whole floats, nulls, and what counts nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.wire.base import Notes

MOST = 2**53  # beyond it a double no longer counts by ones
DIGITS = 16


def count(value: Any) -> int | None:
    """A count of tokens; what is negative, in parts, no number or beyond counting is None."""
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if type(value) is int and 0 <= value <= MOST else None


def nanodollars(value: Any) -> int | None:
    """A price in dollars as a whole number of nanodollars."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value * 1_000_000_000 <= MOST:
        return None
    return round(value * 1_000_000_000)


def note_uncounted(
    notes: Notes | None, raw: Mapping[str, Any], places: Mapping[str, Iterable[tuple[str, ...]]]
) -> None:
    """One note for each figure of which a value was said and none counts; the value itself stays in the vendor's dict."""
    if notes is None:
        return
    for name, figures in places.items():
        said = [value for place in figures if (value := at(raw, place)) is not None]
        if said and all(count(value) is None for value in said):
            reason = f"no count of tokens: {str(said[0])[:40]!r}"
            notes.add(("usage", name), "dropped", reason, loss=False)


def at(raw: Any, place: tuple[str, ...]) -> Any:
    """The value at a place of a vendor's dict; None where the way to it ends."""
    for key in place:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw
