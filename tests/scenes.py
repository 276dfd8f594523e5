"""The three scenes that the figures of money are shown on, by the names of the sources: made to fit, and labelled so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.dialect.model import BASE
from dragoman.money import Bill, Ledger, bill, prices
from dragoman.money.entry import Entry
from dragoman.money.prices import Prices
from dragoman.types import Usage
from dragoman.wire.chat.usage import decode_usage

FOLDER = Path(__file__).resolve().parent / "unit" / "money" / "scenes"
NAMES = ("T5", "T10", "pd-v2-unlimited-s3")


def scene(name: str) -> dict[str, Any]:
    """One scene: its label and why, what the sources give of it, its turns."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def usages(name: str) -> list[Usage]:
    """What each of its turns used; of raw bodies, as their codec reads it."""
    turns = scene(name)["turns"]
    return [decode_usage(turn["usage"], BASE) if "usage" in turn else Usage(**turn) for turn in turns]


def price(name: str) -> Prices:
    """The prices of the model it ran on."""
    return prices(**scene(name)["prices"])


def bills(name: str) -> list[Bill]:
    """The bill of each turn."""
    return [bill(usage, price(name)) for usage in usages(name)]


def write(ledger: Ledger, name: str) -> None:
    """Put a scene into a ledger, as a session of its own name."""
    provider, _, model = scene(name)["model"].partition("/")
    for usage, made in zip(usages(name), bills(name), strict=True):
        ledger.add(
            Entry(
                started="2026-11-30T08:00:00.000Z",
                session=name,
                provider=provider,
                model=model,
                outcome="tool_calls",
                input=usage.input,
                output=usage.output,
                cache_read=usage.cache_read,
                fresh_cost=made.of("fresh"),
                cache_read_cost=made.of("cache_read"),
                cache_write_cost=made.of("cache_write"),
                output_cost=made.of("output"),
                cost=made.cost,
                label=made.label,
                full=made.full,
            )
        )
