"""Usage as the chat wire and its relatives report it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.reply import Usage
from dragoman.wire.base import Notes
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.figures import MOST, at, count, nanodollars, note_uncounted
from dragoman.wire.params import note_unsaid_usage

# Where each figure stands: the first that holds a number is read (dialects §8).
PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "input": (("prompt_tokens",), ("input_tokens",)),
    "output": (("completion_tokens",), ("output_tokens",)),
    "cache_read": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
        ("cached_tokens",),
    ),
    "cache_write": (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",)),
    "reasoning": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
    "input_audio": (("prompt_tokens_details", "audio_tokens"),),
    "output_audio": (("completion_tokens_details", "audio_tokens"),),
    "output_image": (("completion_tokens_details", "image_tokens"),),
}


# The same for a usage in the wire's own form, as msgspec itself checks it: every figure in its first place.
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)] | None


class _Given(msgspec.Struct, gc=False):
    cached_tokens: Count = None
    cache_write_tokens: Count = None
    audio_tokens: Count = None


class _Made(msgspec.Struct, gc=False):
    reasoning_tokens: Count = None
    audio_tokens: Count = None
    image_tokens: Count = None


class _Own(msgspec.Struct, gc=False):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: _Given | None = None
    completion_tokens_details: _Made | None = None


NOTHING_GIVEN, NOTHING_MADE = _Given(), _Made()
ELSEWHERE = frozenset(place[0] for places in PLACES.values() for place in places).difference(_Own.__struct_fields__)
MODELLED = frozenset({("total_tokens",), ("cost",), *(place for places in PLACES.values() for place in places)})


def decode_usage(raw: Mapping[str, Any], dialect: Dialect, notes: Notes | None = None) -> Usage:
    """Inclusive totals from a vendor's dict, which is kept whole in `opaque`.

    Two servers' habits are mended, each with a note: reasoning counted outside the output (the total says so), and
    cached tokens counted outside the input (evidence A4).
    """
    return Usage(opaque={WIRE: dict(raw)}, **_figures(raw, dialect, notes))


def encode_usage(usage: Usage, dialect: Dialect, notes: Notes) -> dict[str, Any]:
    """This wire's own dict when it still says the same, else one written from the totals, beside what it said more."""
    raw = (usage.opaque or {}).get(WIRE)
    if raw is not None and Usage(opaque=usage.opaque, **_figures(raw, dialect, None)) == usage:
        return raw
    note_unsaid_usage(notes, usage, (*PLACES, "cost"), WIRE)
    out: dict[str, Any] = {
        "prompt_tokens": usage.input or 0,
        "completion_tokens": usage.output or 0,
        "total_tokens": (usage.input or 0) + (usage.output or 0),
    }
    prompt = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    prompt["audio_tokens"] = usage.input_audio
    completion = {"reasoning_tokens": usage.reasoning, "audio_tokens": usage.output_audio}
    completion["image_tokens"] = usage.output_image
    for key, details in (("prompt_tokens_details", prompt), ("completion_tokens_details", completion)):
        said = {name: value for name, value in details.items() if value is not None}
        if said:
            out[key] = said
    if usage.cost is not None:
        out["cost"] = usage.cost / 1_000_000_000
    return _beside(out, raw or {}, MODELLED)


def _figures(raw: Mapping[str, Any], dialect: Dialect, notes: Notes | None) -> dict[str, Any]:
    figures = _own(raw)
    if figures is None:
        note_uncounted(notes, raw, PLACES)
        figures = {name: _first(raw, places) for name, places in PLACES.items()}
    if figures["reasoning"]:
        figures = _reasoning_inside(figures, count(raw.get("total_tokens")), dialect, notes)
    if figures["cache_read"]:
        figures = _cached_inside(figures, dialect, notes)
    if "cost" in raw:
        figures["cost"] = nanodollars(raw["cost"])
    return figures


def _beside(out: dict[str, Any], raw: Mapping[str, Any], modelled: frozenset[tuple[str, ...]]) -> dict[str, Any]:
    """`out` with every key of `raw` that no figure stands under."""
    for key, value in raw.items():
        inner = frozenset(place[1:] for place in modelled if place[0] == key)
        if isinstance(value, dict) and inner and () not in inner:
            nested = _beside(out.get(key, {}), value, inner)
            if nested or not value:
                out[key] = nested
        elif not inner:
            out[key] = value
    return out


def usage_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The usage dict of a reply or chunk, wherever it stands: on top, in its first choice, or in `x_groq`-like boxes."""
    if _counts(usage := body.get("usage")):
        return usage
    return next((usage for box in _boxes(body) if _counts(usage := box.get("usage"))), None)


def _counts(usage: Any) -> bool:
    if not isinstance(usage, dict):
        return False
    return (
        count(usage.get("prompt_tokens")) is not None or _first(usage, PLACES["input"] + PLACES["output"]) is not None
    )


def _boxes(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    boxes = [first, *(value for key, value in body.items() if key.startswith("x_"))]
    return [box for box in boxes if isinstance(box, dict)]


def _reasoning_inside(
    figures: dict[str, Any], total: int | None, dialect: Dialect, notes: Notes | None
) -> dict[str, Any]:
    given, output, reasoning = figures["input"], figures["output"], figures["reasoning"]
    if output is None or not reasoning:
        return figures
    outside = dialect.usage_reasoning == "outside"
    if dialect.usage_reasoning is None and total is not None and given is not None:
        outside = total == given + output + reasoning
    if outside:
        if notes is not None:
            reason = "this server counts reasoning outside its output: added"
            notes.add(("usage", "output"), "substituted", reason, loss=False)
        figures["output"] = output + reasoning
    return figures


def _cached_inside(figures: dict[str, Any], dialect: Dialect, notes: Notes | None) -> dict[str, Any]:
    given, cached = figures["input"], figures["cache_read"]
    if given is None or not cached or dialect.usage_cached == "inside":
        return figures
    if dialect.usage_cached == "outside" or cached > given:
        if notes is not None:
            notes.add(("usage", "cache_read"), "substituted", "more cached than input tokens: kept as said", loss=False)
        if dialect.usage_cached == "outside":
            figures["input"] = given + cached
    return figures


def _own(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """The figures of a usage whose every figure is a count in its first place, as nearly all are; None for another."""
    if not ELSEWHERE.isdisjoint(raw):
        return None
    try:
        said = msgspec.convert(raw, _Own)
    except msgspec.ValidationError:
        return None
    given, made = said.prompt_tokens_details or NOTHING_GIVEN, said.completion_tokens_details or NOTHING_MADE
    return {
        "input": said.prompt_tokens,
        "output": said.completion_tokens,
        "cache_read": given.cached_tokens,
        "cache_write": given.cache_write_tokens,
        "reasoning": made.reasoning_tokens,
        "input_audio": given.audio_tokens,
        "output_audio": made.audio_tokens,
        "output_image": made.image_tokens,
    }


def _first(raw: Mapping[str, Any], places: tuple[tuple[str, ...], ...]) -> int | None:
    return next((number for place in places if (number := count(at(raw, place))) is not None), None)
