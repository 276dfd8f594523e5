"""One call as a ledger keeps it: who, when, how much and for how much; never a word of what was said."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from dragoman.catalog.models import Prices
from dragoman.client.observe import Exchanged
from dragoman.money.bill import Bill, Label, bill
from dragoman.money.estimate import tokens
from dragoman.money.prices import PriceOf
from dragoman.types.note import show_path
from dragoman.types.reply import Reply, Usage

LOCAL = "local"
FREE = Prices(input=Decimal(0), output=Decimal(0), date="", source="this machine")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One call. Tokens are inclusive totals as in Usage, money is nanodollars, times are seconds; None: not known.

    `started` is UTC. `outcome` is the reason of the stop, or the code of the error. `label` says how far `cost` is to be
    trusted; `counted` names the figures that nobody reported. `said` are the notes of the bill.
    """

    started: str
    session: str
    provider: str
    model: str
    wire: str | None = None
    outcome: str
    attempts: int = 1
    tier: str | None = None
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    reasoning: int | None = None
    counted: str = ""
    fresh_cost: int | None = None
    cache_read_cost: int | None = None
    cache_write_cost: int | None = None
    output_cost: int | None = None
    cost: int | None = None
    label: Label | None = None
    full: int | None = None
    prices: str | None = None
    said: str = ""
    first_event: float | None = None
    first_text: float | None = None
    first_call: float | None = None
    total: float | None = None


def entry(seen: Exchanged, session: str, price_of: PriceOf) -> Entry:
    """The entry of a call that has ended. A refusal used nothing; what a failed try cost is known to nobody."""
    provider = LOCAL if seen.target is None else seen.target.provider
    usage, counted = used(seen)
    model = (seen.reply.model if seen.reply else None) or LOCAL if seen.target is None else seen.target.model
    prices = FREE if seen.target is None else _prices(seen, price_of)
    tier = _tier(seen)
    made = Bill() if usage is None else bill(usage, prices, tier=tier, counted=counted)
    return Entry(
        started=seen.started.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z",
        session=session,
        provider=provider,
        model=model,
        wire=seen.target.wire if seen.target else None,
        outcome=_outcome(seen),
        attempts=len(seen.attempts),
        tier=tier,
        **_tokens(usage),
        counted=" ".join(counted),
        **_money(made),
        prices=None if prices is None or usage is None else f"{prices.source} {prices.date}".strip(),
        said="\n".join(f"{show_path(note.path)}: {note.reason}" for note in made.notes),
        first_event=seen.timing.first_event,
        first_text=seen.timing.first_text,
        first_call=seen.timing.first_call,
        total=seen.timing.total,
    )


def used(seen: Exchanged) -> tuple[Usage | None, tuple[str, ...]]:
    """What a call used, and the figures of it that were counted here because nobody reported them.

    An answer that broke off or was cancelled is billed by the service all the same: what came of it is counted, and
    what the service had said of the input by then is kept, unless it is the zero that some begin with (USE-009).
    Nothing came: nothing is known.
    """
    reply = seen.reply
    if reply is None:
        return None, ()
    usage, counted = reply.usage or Usage(), []
    if usage.input is None or (seen.error is not None and usage.input == 0):
        usage = msgspec.structs.replace(usage, input=_asked(seen))
        counted.append("input")
    if usage.output is None or (seen.error is not None and usage.output < (come := _answered(reply))):
        come = _answered(reply)
        usage = msgspec.structs.replace(usage, output=come)
        counted.append("output")
    return usage, tuple(counted)


def _asked(seen: Exchanged) -> int:
    if seen.http_body is not None:
        return tokens(seen.http_body.decode("utf-8", "replace"))
    return tokens(msgspec.json.encode(seen.request.messages).decode())


def _answered(reply: Reply) -> int:
    return sum(tokens(_words(block)) for block in reply.message.content)


def _words(block: Any) -> str:
    """What a model wrote of a block: its text, or its call."""
    said = (getattr(block, name, None) for name in ("text", "name", "arguments"))
    return " ".join(part for part in said if isinstance(part, str))


def _prices(seen: Exchanged, price_of: PriceOf) -> Prices | None:
    target = seen.target
    assert target is not None
    known = price_of(target.provider, target.model)
    if known is None and seen.reply is not None and seen.reply.model:  # a deployment's own name says nothing of prices
        known = price_of(target.provider, seen.reply.model)
    return known


def _tier(seen: Exchanged) -> str | None:
    """The tier that was served, as the answer says it; else the one that was asked for."""
    reply = seen.reply
    if reply is not None:
        bags: list[Mapping[str, Any]] = list((reply.opaque or {}).values())
        served = (bag.get("service_tier") for bag in bags)
        said = next((word for word in served if isinstance(word, str) and word), None)
        if (tier := (reply.usage.tier if reply.usage else None) or said) is not None:
            return tier
    return seen.request.tier


def _outcome(seen: Exchanged) -> str:
    if seen.error is not None:
        return seen.error.code
    return seen.reply.stop.reason if seen.reply else "other"


def _tokens(usage: Usage | None) -> dict[str, int | None]:
    names = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning")
    return {name: getattr(usage, name, None) for name in names}


def _money(made: Bill) -> dict[str, Any]:
    return {
        "fresh_cost": made.of("fresh"),
        "cache_read_cost": made.of("cache_read"),
        "cache_write_cost": made.of("cache_write"),
        "output_cost": made.of("output"),
        "cost": made.cost,
        "label": None if made.cost is None else made.label,
        "full": made.full,
    }
