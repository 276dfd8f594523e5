"""Usage as the Responses wire reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.reply import Usage
from dragoman.wire.base import Notes
from dragoman.wire.figures import at, count, nanodollars, note_uncounted
from dragoman.wire.params import note_unsaid_usage
from dragoman.wire.responses.parts import WIRE

# Where each figure stands (dialects §8); input and output are inclusive totals.
PLACES: dict[str, tuple[str, ...]] = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cache_read": ("input_tokens_details", "cached_tokens"),
    "cache_write": ("input_tokens_details", "cache_write_tokens"),
    "reasoning": ("output_tokens_details", "reasoning_tokens"),
    "input_audio": ("input_tokens_details", "audio_tokens"),
    "output_audio": ("output_tokens_details", "audio_tokens"),
    "output_image": ("output_tokens_details", "image_tokens"),
}
# What strict clients read of a usage that nobody reported in this form.
BLANK: dict[str, Any] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def decode_usage(raw: Mapping[str, Any], dialect: Dialect, notes: Notes | None = None) -> Usage:
    """Inclusive totals from a vendor's dict, which is kept whole in `opaque`.

    A server that counts reasoning outside its output (the total says so, or the dialect) is mended with a note.
    """
    note_uncounted(notes, raw, {name: (place,) for name, place in PLACES.items()})
    figures: dict[str, Any] = {name: count(at(raw, place)) for name, place in PLACES.items()}
    given, output, reasoning = figures["input"], figures["output"], figures["reasoning"]
    if output is not None and reasoning:
        outside = dialect.usage_reasoning == "outside"
        if dialect.usage_reasoning is None and given is not None:
            outside = count(raw.get("total_tokens")) == given + output + reasoning
        if outside:
            figures["output"] = output + reasoning
            if notes is not None:
                reason = "this server counts reasoning outside its output: added"
                notes.add(("usage", "output"), "substituted", reason, loss=False)
    return Usage(cost=nanodollars(raw.get("cost")), opaque={WIRE: dict(raw)}, **figures)


def encode_usage(usage: Usage, dialect: Dialect, notes: Notes) -> dict[str, Any]:
    """This wire's own dict when it still says the same, else one written from the totals, beside what it said more."""
    raw = (usage.opaque or {}).get(WIRE)
    said = Usage() if raw is None else decode_usage(raw, dialect)
    if raw is not None and _same(said, usage):
        return raw
    note_unsaid_usage(notes, usage, (*PLACES, "cost"), WIRE)
    out: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in (raw or BLANK).items()
    }
    for name, place in PLACES.items():
        before, value = getattr(said, name), getattr(usage, name)
        if before != value or raw is None:
            _put(out, place, value)
    if (said.input, said.output) != (usage.input, usage.output):
        out["total_tokens"] = (usage.input or 0) + (usage.output or 0)
    if usage.cost != said.cost:
        out["cost"] = None if usage.cost is None else usage.cost / 1_000_000_000
    return out


def _put(out: dict[str, Any], place: tuple[str, ...], value: int | None) -> None:
    """Write a figure; a total is always said, a detail only when it was."""
    if len(place) == 1:
        out[place[0]] = value or 0
        return
    details = out.get(place[0])
    if not isinstance(details, dict):
        details = out[place[0]] = {}
    if value is not None:
        details[place[1]] = value
    elif details.get(place[1]):
        del details[place[1]]


def _same(one: Usage, other: Usage) -> bool:
    return msgspec.structs.replace(one, opaque=None) == msgspec.structs.replace(other, opaque=None)
