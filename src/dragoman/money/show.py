"""Money and counts as people read them."""

from __future__ import annotations

NANO = 1_000_000_000
CENT = NANO // 100


def dollars(nanodollars: int) -> str:
    """An amount with as many digits as it takes: $12.34, $0.0140, $0.000052."""
    amount = nanodollars / NANO
    if nanodollars >= NANO:
        return f"${amount:,.2f}"
    if nanodollars >= CENT // 10 or nanodollars == 0:
        return f"${amount:.4f}"
    digits = 10 - len(str(nanodollars)) + 1  # two that count
    return f"${amount:.{min(digits, 9)}f}"


def times(ratio: float, digits: int = 2) -> str:
    """How many times something is of another."""
    return f"{ratio:.{digits}f}×"


def percent(share: float) -> str:
    """A part as a whole percentage."""
    return f"{share:.0%}"
