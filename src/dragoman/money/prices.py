"""Whose prices hold: the catalogue's, unless you give your own; and which list a tier of service has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias, TypedDict, Unpack

from dragoman.catalog import models
from dragoman.catalog.models import Prices, Schedule
from dragoman.errors import UsageError

# The prices of a model, by the provider's and the model's name as a Target has them; None where they are not known.
PriceOf: TypeAlias = Callable[[str, str], Prices | None]
Amount: TypeAlias = Decimal | int | float | str
YOURS = "given by you"

# Words for the usual tier: what is asked for (auto) and what was served (default, standard, on_demand).
USUAL = frozenset({"", "auto", "default", "standard", "standard_only", "on_demand"})


class Amounts(TypedDict, total=False):
    """US dollars for a million tokens of each kind, and of when they are."""

    input: Amount
    output: Amount
    cache_read: Amount
    cache_write: Amount
    cache_write_1h: Amount
    input_audio: Amount
    output_audio: Amount
    date: str


def prices(**amounts: Unpack[Amounts]) -> Prices:
    """Prices of your own. What is not said is not known. Raises UsageError for an amount that is none."""
    unknown = [name for name in amounts if name not in Amounts.__optional_keys__]
    if unknown:
        known = ", ".join(Amounts.__annotations__)
        raise UsageError("usage", f"prices: unknown {unknown[0]!r}; known: {known}")
    date = amounts.pop("date", "")
    said: dict[str, Any] = {name: _amount(name, value) for name, value in amounts.items()}
    return Prices(date=date, source=YOURS, **said)


def price_list(rows: Mapping[str, Prices]) -> PriceOf:
    """Your own prices by `provider/model` or `model`, before the catalogue's."""

    def price_of(provider: str, model: str) -> Prices | None:
        return rows.get(f"{provider}/{model}") or rows.get(model) or catalogued(provider, model)

    return price_of


def catalogued(provider: str, model: str) -> Prices | None:
    """The catalogue's prices."""
    facts = models.find(provider, model)
    return None if facts is None else facts.prices


def served(prices: Prices, tier: str | None) -> Schedule | None:
    """The prices of a tier of service; None where they are not known."""
    word = (tier or "").lower()
    return prices if word in USUAL else prices.services.get(word)


def _amount(name: str, value: object) -> Decimal:
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        raise UsageError("usage", f"prices: {name} is {value!r}: write US dollars for a million tokens")
    return amount
