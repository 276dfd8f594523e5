"""Usage as the messages wire reports it: its input leaves out what the cache read and wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.opaque import Bag
from dragoman.types.reply import Usage
from dragoman.wire.base import Notes
from dragoman.wire.figures import at, count, nanodollars, note_uncounted
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.params import note_unsaid_usage

FIGURES = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "hosted_calls", "cost")
# Figures under a key of their own, and those within another key.
PLAIN = {
    "cache_write": "cache_creation_input_tokens",
    "cache_read": "cache_read_input_tokens",
    "output": "output_tokens",
    "tier": "service_tier",
}
NESTED = (
    ("cache_write_1h", "cache_creation", "ephemeral_1h_input_tokens"),
    ("reasoning", "output_tokens_details", "thinking_tokens"),
)
PLACES = {
    "input": (("input_tokens",),),
    **{name: ((key,),) for name, key in PLAIN.items() if name != "tier"},
    **{name: ((key, inner),) for name, key, inner in NESTED},
}
REQUESTS = "_requests"  # hosted calls are counted as `web_search_requests`


def decode_usage(
    raw: Mapping[str, Any], dialect: Dialect, said: Mapping[str, Any] | None = None, notes: Notes | None = None
) -> Usage:
    """Inclusive totals from a vendor's dict (S3-32: 39 and 890 read make 929); the dict is kept whole in `opaque`.

    `said` is what to keep instead, where `raw` is gathered from several events.
    """
    note_uncounted(notes, raw, PLACES)
    read, written = count(raw.get("cache_read_input_tokens")), count(raw.get("cache_creation_input_tokens"))
    given = count(raw.get("input_tokens"))
    if given is not None and dialect.usage_cached != "inside":
        given += (read or 0) + (written or 0)
    tier = raw.get("service_tier")
    return Usage(
        input=given,
        output=count(raw.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        cache_write_1h=count(at(raw, ("cache_creation", "ephemeral_1h_input_tokens"))),
        reasoning=count(at(raw, ("output_tokens_details", "thinking_tokens"))),
        hosted_calls=_hosted(raw.get("server_tool_use")),
        tier=tier if isinstance(tier, str) else None,
        cost=nanodollars(raw.get("cost")),
        opaque={WIRE: dict(raw if said is None else said)},
    )


def encode_usage(usage: Usage | None, dialect: Dialect, notes: Notes, before: Mapping[str, Any] | None = None) -> Bag:
    """This wire's own dict, with what changed since written into it; without one, the totals in its form.

    `before` is what an earlier event of the same stream said: the two count together, key by key.
    """
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    raw = (usage.opaque or {}).get(WIRE)
    if raw is not None and _same(decode_usage(merged(before or {}, raw), dialect), usage):
        return raw
    ours = usage.opaque is None or WIRE in usage.opaque
    note_unsaid_usage(notes, usage, (*FIGURES, "tier") if ours else FIGURES, WIRE)
    out: Bag = {"input_tokens": 0, "output_tokens": 0} if raw is None else dict(raw)
    known = Usage() if raw is None else decode_usage(merged(before or {}, raw), dialect)
    fresh = {name for name in (*FIGURES, "tier") if getattr(usage, name) != getattr(known, name)}
    if fresh & {"input", "cache_read", "cache_write"}:
        out["input_tokens"] = (usage.input if dialect.usage_cached == "inside" else usage.uncached) or 0
    for name, key in PLAIN.items():
        if name in fresh and (name != "tier" or ours):  # another wire's tiers are other words
            _put(out, key, getattr(usage, name))
    for name, key, inner in NESTED:
        if name in fresh:
            _put(out, key, None if getattr(usage, name) is None else {**_of(out, key), inner: getattr(usage, name)})
    if "cache_write_1h" in fresh and usage.cache_write_1h is not None:
        out["cache_creation"]["ephemeral_5m_input_tokens"] = max((usage.cache_write or 0) - usage.cache_write_1h, 0)
    if "hosted_calls" in fresh:
        counts = {f"{name}{REQUESTS}": count for name, count in (usage.hosted_calls or {}).items()}
        rest = {key: value for key, value in _of(out, "server_tool_use").items() if not key.endswith(REQUESTS)}
        _put(out, "server_tool_use", {**rest, **counts} or None)
    if "cost" in fresh:
        _put(out, "cost", None if usage.cost is None else usage.cost / 1_000_000_000)
    return out


def merged(before: Mapping[str, Any], raw: Mapping[str, Any]) -> Bag:
    """Two dicts of one stream as one."""
    whole = dict(before)
    absorb(whole, raw)
    return whole


def absorb(whole: Bag, raw: Mapping[str, Any]) -> None:
    """Take a later dict of a stream in: its figure wins, and its null takes nothing back."""
    whole.update({key: value for key, value in raw.items() if value is not None or key not in whole})


def _put(out: Bag, key: str, value: Any) -> None:
    if value is None:
        out.pop(key, None)
    else:
        out[key] = value


def _of(out: Bag, key: str) -> Bag:
    value = out.get(key)
    return value if isinstance(value, dict) else {}


def _same(one: Usage, other: Usage) -> bool:
    return msgspec.structs.replace(one, opaque=None) == msgspec.structs.replace(other, opaque=None)


def _hosted(raw: Any) -> dict[str, int] | None:
    if not isinstance(raw, dict):
        return None
    counts = {key.removesuffix(REQUESTS): count(value) for key, value in raw.items() if key.endswith(REQUESTS)}
    return {name: number for name, number in counts.items() if number is not None} or None
