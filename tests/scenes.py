"""The three scenes that the figures of money are shown on, by the names of the sources: made to fit, and labelled so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.dialect.model import BASE
from dragoman.money import Bill, bill, prices
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
