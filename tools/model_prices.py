"""Prices out of the Python source of genai-prices, read as data: nothing of it is run."""

from __future__ import annotations

import ast
import re
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

NAMES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "input_audio_mtok": "input_audio",
    "output_audio_mtok": "output_audio",
}
WHEN = (
    "processing",
    "service_tier",
    "speed",
)  # which of a price's conditions name a service: batch, flex, priority, fast

Data = dict[str, Any]


class Listed(NamedTuple):
    """A model of the list: which names it goes by, and its prices of today."""

    id: str
    label: str | None
    context: int | None
    match: Data
    prices: Data

    def fits(self, name: str) -> bool:
        """Whether `name` is one of its names."""
        return _fits(self.match, name.lower())


def listed(source: str, today: date) -> tuple[str, dict[str, list[Listed]]]:
    """The last day on which a price of the list began to hold, today at most, and its models by provider.

    The package does not say when it was made; a list that knows of a price's beginning was made on that day or later.
    """
    value = next(node.value for node in ast.parse(source).body if isinstance(node, ast.AnnAssign))
    assert value is not None
    made: dict[str, list[Listed]] = {}
    began = [date.min]
    for provider in _read(value):
        for model in provider.get("models", []):
            prices = _today(model["prices"], today)
            began += _beginnings(model["prices"], today)
            standard = _flat(prices)
            if standard:
                services = _services(prices, model.get("price_variants") or [], today)
                made.setdefault(provider["id"], []).append(
                    Listed(
                        model["id"],
                        model.get("name"),
                        model.get("context_window"),
                        model["match"],
                        {**standard, **({"services": services} if services else {})},
                    )
                )
    return max(began).isoformat(), made


def _beginnings(prices: Any, today: date) -> list[date]:
    rows = [] if isinstance(prices, dict) else prices
    days = [(row.get("constraint") or {}).get("start_date") for row in rows]
    return [day for day in days if day is not None and day <= today]


def _read(node: ast.expr) -> Any:
    """A literal as it is, a call of a class as a dict with the class's name under "is"."""
    if isinstance(node, ast.List):
        return [_read(item) for item in node.elts]
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name == "Decimal":
            return Decimal(ast.literal_eval(node.args[0]))
        if name in ("datetime.date", "date"):
            return date(*(ast.literal_eval(item) for item in node.args))
        return {"is": name, **{item.arg or "": _read(item.value) for item in node.keywords}}
    if isinstance(node, ast.Dict):
        return {_read(key): _read(value) for key, value in zip(node.keys, node.values, strict=True) if key is not None}
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _today(prices: Any, today: date) -> Data:
    """Of several prices the last that holds by its date; one of certain hours only is left out."""
    if isinstance(prices, dict):
        return prices
    held: Data = prices[0]["prices"]
    for row in prices:
        if _active(row.get("constraint"), today):
            held = row["prices"]
    return held


def _active(constraint: Any, today: date) -> bool:
    if not constraint:
        return True
    return constraint["is"] == "StartDateConstraint" and constraint["start_date"] <= today


def _services(standard: Data, variants: list[Data], today: date) -> dict[str, Data]:
    """Whole rates by service: what a variant does not say costs what it usually does."""
    made: dict[str, Data] = {}
    for variant in variants:
        names = [variant["when"][key] for key in WHEN if key in variant["when"]]
        if len(variant["when"]) == len(names) == 1 and _active(variant.get("constraint"), today):
            made[names[0]] = {**standard, **made.get(names[0], {}), **variant["prices"]}
    return {name: _flat(said) for name, said in made.items() if _flat(said) != _flat(standard)}


def _flat(said: Data) -> Data:
    """Rates under our names, and whole tiers where the price depends on the size of a request."""
    kept = {name: said[key] for key, name in NAMES.items() if said.get(key) is not None}
    if "input" not in kept and "output" not in kept:
        return {}
    starts = sorted({tier["start"] for value in kept.values() if isinstance(value, dict) for tier in value["tiers"]})
    made: Data = {name: _at(value, 0) for name, value in kept.items()}
    tiers = [{"above": start, **{name: _at(value, start) for name, value in kept.items()}} for start in starts]
    return {**made, **({"tiers": tiers} if tiers else {})}


def _at(value: Any, start: int) -> Decimal:
    if isinstance(value, Decimal):
        return value
    price: Decimal = value["base"]
    for tier in value["tiers"]:
        if tier["start"] <= start:
            price = tier["price"]
    return price


def _fits(match: Data, name: str) -> bool:
    kind = match["is"].removeprefix("Clause")
    if kind == "Or":
        return any(_fits(part, name) for part in match["or_"])
    if kind == "And":
        return all(_fits(part, name) for part in match["and_"])
    if kind == "Not":
        return not _fits(match["not_"], name)
    if kind == "Regex":
        return re.search(match["regex"], name, re.IGNORECASE) is not None
    wanted = next(value for key, value in match.items() if key != "is").lower()
    return {
        "Equals": name == wanted,
        "StartsWith": name.startswith(wanted),
        "EndsWith": name.endswith(wanted),
        "Contains": wanted in name,
    }[kind]
