"""From what a call used to what it cost: four segments, each with its price and how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, TypeAlias

import msgspec

from dragoman.catalog.models import Prices, Rates, Schedule
from dragoman.money.prices import served
from dragoman.money.reported import reported
from dragoman.types.note import Action, Note
from dragoman.types.reply import Usage

# reported: the service said this figure. derived: computed from what it said and from a price list. estimated: some part
# of it is a guess, and a note says which.
Label: TypeAlias = Literal["reported", "derived", "estimated"]
TRUST: tuple[Label, ...] = ("reported", "derived", "estimated")  # most first
Kind: TypeAlias = Literal["fresh", "cache_read", "cache_write", "output"]
KINDS: tuple[Kind, ...] = ("fresh", "cache_read", "cache_write", "output")
NANODOLLARS = Decimal(1000)  # of a dollar for a million tokens, a token
HOUR = Decimal("1.6")  # a write of one hour costs 2 times the input where one of five minutes costs 1.25 times


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one kind and what they cost, in whole nanodollars: rounded here and nowhere else."""

    kind: Kind
    tokens: int
    nanodollars: int
    label: Label


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """What one call cost (S3-41).

    `segments` are empty where no price is known. `cost` is the service's own figure where it gave one, else the sum of
    the segments; None: nobody knows. `full` is what the same tokens cost where nothing is cached. `notes` tell what was
    assumed, and what in the usage cannot be.
    """

    segments: tuple[Segment, ...] = ()
    cost: int | None = None
    label: Label = "derived"
    full: int | None = None
    notes: tuple[Note, ...] = ()

    def of(self, kind: Kind) -> int | None:
        """The cost of one segment; None where no price is known."""
        return next((segment.nanodollars for segment in self.segments if segment.kind == kind), None)

    @property
    def computed(self) -> int | None:
        """The sum of the segments; None where there are none."""
        return sum(segment.nanodollars for segment in self.segments) if self.segments else None


def bill(usage: Usage, prices: Prices | None, *, tier: str | None = None, counted: Iterable[str] = ()) -> Bill:
    """The bill of one call.

    `tier` is the tier of service where the usage does not say it. `counted` names the figures of `usage` that nobody
    reported and we counted. Reasoning lies within the output and costs nothing beside it
    (USE-006); cached tokens lie within the input and are never charged twice (S3-33, USE-001).
    """
    told = _Told()
    tokens = _tokens(usage, told)
    for name in counted:
        told.add(name, "synthesised", "not reported: counted by us", *_kinds(name))
    said = reported(usage)
    if prices is None or prices.input is None or prices.output is None:
        label: Label = "estimated" if said is None else "reported"
        return Bill(cost=said, label=label, notes=tuple(told.notes))
    rates = _rates(_schedule(prices, usage.tier or tier, told).at(usage.input or 0), tokens, told)
    amounts: dict[Kind, Decimal] = {kind: tokens[kind] * rates[kind] for kind in KINDS}
    amounts["cache_write"] += tokens["hour"] * (rates["hour"] - rates["cache_write"])
    heard = tokens["heard"] * (rates["heard"] - rates["fresh"])
    amounts["fresh"] += heard
    amounts["output"] += tokens["spoken"] * (rates["spoken"] - rates["output"])
    segments = tuple(
        Segment(
            kind=kind,
            tokens=tokens[kind],
            nanodollars=rounded(amounts[kind]),
            label="estimated" if kind in told.guessed else "derived",
        )
        for kind in KINDS
    )
    given = sum(tokens[kind] for kind in KINDS if kind != "output")
    computed = sum(segment.nanodollars for segment in segments)
    if said is not None and computed and not computed <= 2 * said <= 4 * computed:
        told.add("cost", "substituted", f"the service says {said} nanodollars, the price list {computed}")
    return Bill(
        segments=segments,
        cost=computed if said is None else said,
        label=worst(segment.label for segment in segments) if said is None else "reported",
        full=rounded(given * rates["fresh"] + heard) + segments[-1].nanodollars,
        notes=tuple(told.notes),
    )


def worst(labels: Iterable[Label]) -> Label:
    """How far a sum is to be trusted: no further than its least part."""
    least: Label = "reported"
    for label in labels:
        if TRUST.index(label) > TRUST.index(least):
            least = label
    return least


def rounded(amount: Decimal) -> int:
    """Tokens times dollars for a million of them, in whole nanodollars; halves to the even one."""
    return int((amount * NANODOLLARS).to_integral_value(rounding=ROUND_HALF_EVEN))


class _Told:
    """Gathers notes, and the segments that they make a guess."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.guessed: set[Kind] = set()

    def add(self, field: str, action: Action, reason: str, *kinds: Kind) -> None:
        self.notes.append(Note(path=("usage", field), action=action, reason=reason, loss=False))
        self.guessed.update(kinds)


def _tokens(usage: Usage, told: _Told) -> dict[str, int]:
    """A usage in the four kinds that are priced; of the writes what is kept an hour, and the audio of input and output."""
    read, write, hour = usage.cache_read or 0, usage.cache_write or 0, usage.cache_write_1h or 0
    if usage.input is None:
        told.add("input", "dropped", "not reported: not in this bill", "fresh")
    elif read + write > usage.input:
        reason = f"{read} read and {write} written are more than the input of {usage.input}: no other input is charged"
        told.add("cache_read", "clamped", reason, "fresh", "cache_read", "cache_write")
    if usage.output is None:
        told.add("output", "dropped", "not reported: not in this bill", "output")
    elif (usage.reasoning or 0) > usage.output:
        reason = f"{usage.reasoning} of reasoning are more than the output of {usage.output}: the output is charged"
        told.add("reasoning", "clamped", reason, "output")
    if hour > write:
        told.add("cache_write_1h", "clamped", f"{hour} for an hour are more than the {write} written", "cache_write")
        hour = write
    for name, count in (usage.hosted_calls or {}).items():
        if count:
            told.add("hosted_calls", "dropped", f"{count} of {name} are charged apart: not in this bill")
    if usage.output_image:
        told.add("output_image", "substituted", f"{usage.output_image} tokens of image at the price of text", "output")
    fresh, output = usage.uncached or 0, usage.output or 0
    heard, spoken = min(usage.input_audio or 0, fresh), min(usage.output_audio or 0, output)
    counts = {"fresh": fresh, "cache_read": read, "cache_write": write, "output": output}
    return {**counts, "hour": hour, "heard": heard, "spoken": spoken}


def _kinds(figure: str) -> tuple[Kind, ...]:
    """The segments that a figure of a usage is in."""
    if figure.startswith("input"):
        return ("fresh",)
    return ("output",) if figure.startswith("output") else tuple(kind for kind in KINDS if kind == figure)


def _schedule(prices: Prices, tier: str | None, told: _Told) -> Schedule:
    known = served(prices, tier)
    if known is None:
        told.add("tier", "substituted", f"the price of tier {tier!r} is not known: taken at the list price", *KINDS)
    return prices if known is None else known


def _rates(rates: Rates, tokens: Mapping[str, int], told: _Told) -> dict[str, Decimal]:
    """A price for each kind; what the list leaves open is assumed, and told where it matters."""
    fresh, output = rates.input or Decimal(0), rates.output or Decimal(0)
    read, write, hour = rates.cache_read, rates.cache_write, rates.cache_write_1h
    if read is None and tokens["cache_read"]:
        told.add("cache_read", "substituted", "no price for reading a cache is known: taken as input", "cache_read")
    if write is None and tokens["cache_write"]:
        told.add("cache_write", "substituted", "no price for writing a cache is known: taken as input", "cache_write")
    if hour is None and tokens["hour"]:
        reason = "no price for a cache of one hour is known: taken as 1.6 times a usual write"
        told.add("cache_write_1h", "substituted", reason, "cache_write")
    for name, part in (("input_audio", "heard"), ("output_audio", "spoken")):
        if getattr(rates, name) is None and tokens[part]:
            told.add(name, "substituted", f"{tokens[part]} tokens of audio at the price of text", *_kinds(name))
    write = fresh if write is None else write
    return {
        "fresh": fresh,
        "cache_read": fresh if read is None else read,
        "cache_write": write,
        "hour": write * HOUR if hour is None else hour,
        "output": output,
        "heard": fresh if rates.input_audio is None else rates.input_audio,
        "spoken": output if rates.output_audio is None else rates.output_audio,
    }
