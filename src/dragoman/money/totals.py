"""Sums over calls: of a turn, a session, a day, a model, a whole ledger."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.money.bill import Label


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What calls used and cost together; money in nanodollars.

    `name` is what they have in common. `failed` are the calls without an answer that came to its end, `unpriced` those
    whose cost nobody knows: `cost` is then more than it says. `label` is that of the least certain part. `computed` and
    `full` are of the calls with a price list, `last_input` is the input of the last call.
    """

    name: str
    calls: int = 0
    attempts: int = 0
    failed: int = 0
    unpriced: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    fresh_cost: int = 0
    cache_read_cost: int = 0
    cache_write_cost: int = 0
    output_cost: int = 0
    cost: int = 0
    full: int = 0
    label: Label | None = None
    last_input: int = 0
    seconds: float = 0.0

    @property
    def computed(self) -> int:
        """The sum of the four segments."""
        return self.fresh_cost + self.cache_read_cost + self.cache_write_cost + self.output_cost

    @property
    def output_share(self) -> float | None:
        """The part of the bill that is output, from 0 to 1: no cache makes it less (S3-43)."""
        return self.output_cost / self.computed if self.computed else None

    @property
    def full_ratio(self) -> float | None:
        """How many times the cost it would have been without a cache (S3-42)."""
        return self.full / self.computed if self.computed else None

    @property
    def resent_ratio(self) -> float | None:
        """How many times the last call's input was sent in all (S3-39)."""
        return self.input / self.last_input if self.last_input else None


def told(totals: Totals) -> dict[str, Any]:
    """Totals as a JSON object: every field, and the figures that follow from them."""
    return {
        **msgspec.to_builtins(totals),
        "usd": totals.cost / 1_000_000_000,
        "output_share": totals.output_share,
        "full_ratio": totals.full_ratio,
        "resent_ratio": totals.resent_ratio,
    }
