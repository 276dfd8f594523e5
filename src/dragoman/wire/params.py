"""Parameters that a wire spells under its own key: one table a wire, read in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

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


# What some clients say of a parameter though it is what every service does unasked.
NEUTRAL: dict[str, Any] = {"n": 1, "logprobs": False, "presence_penalty": 0, "frequency_penalty": 0}


class Param(NamedTuple):
    """A wire's key, the request's field, and the kind of value: int, float (any number), str, bool or dict."""

    key: str
    field: str
    kind: type


def take_params(fields: Fields, table: Iterable[Param]) -> dict[str, Any]:
    """The values of `table` taken off a body, by the request's field; sampling fields among them."""
    found: dict[str, Any] = {}
    for key, field, kind in table:
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
    for key, field, _ in table:
        value = value_of(request, field)
        if value is not None:
            out[key] = value


def note_unsaid(notes: Notes, request: Request, said: Iterable[str], wire: str) -> None:
    """One note for each plain field that was said and that `wire` has no key for."""
    can = frozenset(said)
    for field in PLAIN:
        value = value_of(request, field)
        if field not in can and value is not None:
            path = ("sampling", field) if field in SAMPLING else (field,)
            loss = field not in NEUTRAL or value != NEUTRAL[field]
            notes.add(path, "dropped", f"the {wire} wire has no such parameter", loss=loss)


def note_unsaid_usage(notes: Notes, usage: Usage, said: Iterable[str], wire: str) -> None:
    """One note for each figure of a usage that was reported and that `wire` has no key for; 0 equals not reported.
    The tier tells how a request was served, not what it cost or said: no loss."""
    can = frozenset((*said, "opaque"))
    for field in Usage.__struct_fields__:
        if field not in can and getattr(usage, field):
            reason = f"usage on the {wire} wire has no such figure"
            notes.add(("usage", field), "dropped", reason, loss=field != "tier")
