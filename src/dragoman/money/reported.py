"""What services say their answers cost, each in its own place and unit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from dragoman.types.reply import Usage
from dragoman.wire.figures import at

# Where a usage says its cost in dollars, and the factor that makes it dollars. A zero is believed only of a plain
# `cost`: some write one under the other keys whatever the call cost.
# Sources: https://docs.perplexity.ai (cost.total_cost), https://docs.x.ai (ten thousand million ticks a dollar);
# recordings rig-99b6610166d6, rig-a2b747fab34e, ruby_llm-7f941779dbbe (a zero of ticks that is none).
PLACES: tuple[tuple[tuple[str, ...], Decimal], ...] = (
    (("cost", "total_cost"), Decimal(1)),
    (("cost_in_usd_ticks",), Decimal("1e-10")),
)
# Where the caller's own key paid for the model, `cost` is the broker's part alone (https://openrouter.ai/docs/use-cases/byok).
OWN_KEY, UPSTREAM = ("is_byok",), ("cost_details", "upstream_inference_cost")
NANO = Decimal("1e9")


def reported(usage: Usage) -> int | None:
    """The cost in nanodollars that the service itself says; None where it says none."""
    for raw in (usage.opaque or {}).values():
        if usage.cost is not None and at(raw, OWN_KEY) is True:
            return usage.cost + (_nanodollars(at(raw, UPSTREAM), Decimal(1)) or 0)
        for place, unit in PLACES:
            if usage.cost is None and (said := _nanodollars(at(raw, place), unit)):
                return said
    return usage.cost


def _nanodollars(value: Any, unit: Decimal) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    amount = Decimal(str(value)) * unit * NANO
    return int(amount.to_integral_value()) if amount.is_finite() and 0 <= amount < 2**62 else None
