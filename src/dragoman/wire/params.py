"""Parameters that a wire spells under its own key: one table a wire, read in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from dragoman.types.note import Path
from dragoman.types.opaque import marks
from dragoman.types.reply import Usage
from dragoman.types.request import Request, Sampling
from dragoman.wire.base import Fields, Notes

SAMPLING = frozenset(Sampling.__struct_fields__)

# Fields of a request that are plain values: what a wire does not list in its table it cannot say.
PLAIN = (
    "parallel_tools",
    "max_output",
    *Sampling.__struct_fields__,
    "stop",
    "effort",
    "budget",
    "tier",
    "store",
    "user",
    "cache_key",
    "metadata",
    "verbosity",
    "logprobs",
    "top_logprobs",
    "n",
)


# What some clients say of a parameter though it is what a service does unasked that has none: told, and no loss. Nothing is
# kept where `store` is not known; verbosity is medium where nobody says it (dialects §1.1).
NEUTRAL: dict[str, Any] = {
    "n": 1,
    "logprobs": False,
    "top_logprobs": 0,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "store": False,
    "verbosity": "medium",
    "stop": (),
    "metadata": {},
}


# Words for the tier of service: what each wire's own types know, and the twin of a word that only others know
# (dialects §8f). A wire writes a word of its own clients as they said it.
TIERS: dict[str, tuple[str, ...]] = {
    "chat": ("auto", "default", "flex", "scale", "priority", "fast"),
    "messages": ("auto", "standard_only"),
    "responses": ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
}
_ORDINARY = {"standard_only": "default", "standard": "default", "on_demand": "default"}
TWINS: dict[str, dict[str, str]] = {
    "chat": {**_ORDINARY, "ultrafast": "fast"},
    "messages": {
        "default": "standard_only",
        "priority": "auto",
        **dict.fromkeys(("standard", "on_demand"), "standard_only"),
    },
    "responses": _ORDINARY,
}


class Param(NamedTuple):
    """A wire's key, the request's field, and the kind of value: int, float (any number), str, bool or dict."""

    key: str
    field: str
    kind: type


def take_params(fields: Fields, table: Iterable[Param]) -> dict[str, Any]:
    """The values of `table` taken off a body, by the request's field; sampling fields among them."""
    found: dict[str, Any] = {}
    said = fields.left
    for key, field, kind in table:
        if key in said:
            value = fields.number(key) if kind is float else fields.take(key, kind)
            if value is not None:
                found[field] = value
    return found


def split_sampling(values: dict[str, Any]) -> tuple[dict[str, Any], Sampling]:
    """The values that stand on the request itself, and those that make its Sampling."""
    sampling = {name: value for name, value in values.items() if name in SAMPLING}
    return {name: value for name, value in values.items() if name not in SAMPLING}, Sampling(**sampling)


def value_of(request: Request, field: str) -> Any:
    """A plain field of a request, wherever it stands."""
    return getattr(request.sampling if field in SAMPLING else request, field)


def put_params(out: dict[str, Any], request: Request, table: Iterable[Param]) -> None:
    """Write the values of `table` that were said."""
    sampling = request.sampling
    for key, field, _ in table:
        value = getattr(sampling if field in SAMPLING else request, field)
        if value is not None:
            out[key] = value


def take_tier(fields: Fields, wire: str, key: str = "service_tier") -> str | None:
    """The tier; a word that the wire's own types do not know is marked as said by its client."""
    tier = fields.take(key, str)
    if tier is not None and tier not in TIERS[wire]:
        fields.marks["tier"] = True
    return tier


def put_tier(out: dict[str, Any], request: Request, wire: str, notes: Notes) -> None:
    """Write the tier: the word itself, its twin on this wire, or a note."""
    said = request.tier
    if said is None:
        return
    known = said in TIERS[wire] or marks(request.opaque, wire).get("tier")
    tier = said if known else TWINS[wire].get(said)
    if tier is None:
        notes.add(("tier",), "dropped", f"this wire has no tier {said!r}")
        return
    if tier != said:
        notes.add(("tier",), "substituted", f"this wire's word for {said!r} is {tier!r}", loss=False)
    out["service_tier"] = tier


def drop_refused(out: dict[str, Any], keys: Iterable[str], place: Callable[[str], Path], notes: Notes) -> None:
    """Leave out the body keys that a server refuses; `place` gives a key's place in the middle format."""
    for key in keys:
        if out.get(key) is not None:
            notes.add(place(key), "dropped", f"this server refuses `{key}`")
        out.pop(key, None)


def note_unsaid(notes: Notes, request: Request, said: Iterable[str], wire: str) -> None:
    """One note for each plain field that was said and that `wire` has no key for."""
    for field in _unsaid(tuple(said)):
        value = value_of(request, field)
        if value is not None:
            path = ("sampling", field) if field in SAMPLING else (field,)
            loss = field not in NEUTRAL or value != NEUTRAL[field]
            reason = f"the {wire} wire has no such parameter"
            reason = reason if loss else f"{reason}, and does what this says without it"
            notes.add(path, "dropped", reason, loss=loss)


@cache
def _unsaid(said: tuple[str, ...]) -> tuple[str, ...]:
    """The plain fields that a wire's table leaves out: asked of a handful of tables, with every request."""
    return tuple(field for field in PLAIN if field not in said)


def note_unsaid_usage(notes: Notes, usage: Usage, said: Iterable[str], wire: str) -> None:
    """One note for each figure of a usage that was reported and that `wire` has no key for; 0 equals not reported.
    The tier tells how a request was served, not what it cost or said: no loss."""
    can = frozenset((*said, "opaque"))
    for field in Usage.__struct_fields__:
        if field not in can and getattr(usage, field):
            reason = f"usage on the {wire} wire has no such figure"
            notes.add(("usage", field), "dropped", reason, loss=field != "tier")
