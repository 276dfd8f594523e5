"""Usage as the Responses wire reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.reply import Usage
from dragoman.wire.base import Notes
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


def decode_usage(raw: Mapping[str, Any], dialect: Dialect, notes: Notes | None = None) -> Usage:
    """Inclusive totals from a vendor's dict, which is kept whole in `opaque`.

    A server that counts reasoning outside its output (the total says so, or the dialect) is mended with a note.
    """
    figures: dict[str, Any] = {name: _at(raw, place) for name, place in PLACES.items()}
    given, output, reasoning = figures["input"], figures["output"], figures["reasoning"]
    if output is not None and reasoning:
        outside = dialect.usage_reasoning == "outside"
        if dialect.usage_reasoning is None and given is not None:
            outside = _at(raw, ("total_tokens",)) == given + output + reasoning
        if outside:
            figures["output"] = output + reasoning
            if notes is not None:
                reason = "this server counts reasoning outside its output: added"
                notes.add(("usage", "output"), "substituted", reason, loss=False)
    cost = raw.get("cost")
    nano = round(cost * 1_000_000_000) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
    return Usage(cost=nano, opaque={WIRE: dict(raw)}, **figures)


def encode_usage(usage: Usage, dialect: Dialect, notes: Notes) -> dict[str, Any]:
    """This wire's own dict when it still says the same, else one written from the totals, its details always said."""
    raw = (usage.opaque or {}).get(WIRE)
    if raw is not None and _same(decode_usage(raw, dialect), usage):
        return raw
    note_unsaid_usage(notes, usage, (*PLACES, "cost"), WIRE)
    out: dict[str, Any] = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    for name, place in PLACES.items():
        value = getattr(usage, name)
        if len(place) == 1:
            out[place[0]] = value or 0
        elif value is not None:
            out[place[0]][place[1]] = value
    out["total_tokens"] = out["input_tokens"] + out["output_tokens"]
    if usage.cost is not None:
        out["cost"] = usage.cost / 1_000_000_000
    return out


def _same(one: Usage, other: Usage) -> bool:
    return msgspec.structs.replace(one, opaque=None) == msgspec.structs.replace(other, opaque=None)


def _at(raw: Mapping[str, Any], place: tuple[str, ...]) -> int | None:
    value: Any = raw
    for key in place:
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None
