"""Dialects by name: the rows of rows.toml and the families of families.toml, read once."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import UsageError


class Family(NamedTuple):
    """Models that want the same of any server: `pattern` is matched by their whole name."""

    wire: str
    pattern: re.Pattern[str]
    facts: dict[str, Any]
    source: str


def find(name: str | None, wire: str, model: str | None = None) -> Dialect:
    """The dialect of a server on one wire, under what its model's family wants; the wire's base for a name that has no
    row there. A family's facts win over the server's, and the keys that both refuse are refused together."""
    dialect = _rows().get(wire, {}).get(name or "", BASE)
    for family in families() if model is not None else ():
        if family.wire == wire and family.pattern.fullmatch(model or ""):
            dialect = override(dialect, {key: _joined(dialect, key, said) for key, said in family.facts.items()})
    return dialect


def named(name: str, wire: str) -> Dialect:
    """The same for a name that somebody typed: raises UsageError with the names there are."""
    dialect = _rows().get(wire, {}).get(name)
    if dialect is None:
        known = ", ".join(sorted(_rows().get(wire, {})))
        raise UsageError("usage", f"the {wire} wire has no dialect {name!r}: one of {known}")
    return dialect


def rows() -> dict[tuple[str, str], dict[str, Any]]:
    """Every row as it is written, by (name, wire)."""
    text = files("dragoman.dialect").joinpath("rows.toml").read_text(encoding="utf-8")
    return {(name, wire): facts for name, wires in tomllib.loads(text).items() for wire, facts in wires.items()}


@cache
def families() -> tuple[Family, ...]:
    """Every family in its order."""
    text = files("dragoman.dialect").joinpath("families.toml").read_text(encoding="utf-8")
    made: list[Family] = []
    for facts in tomllib.loads(text)["family"]:
        wire, pattern, source = (facts.pop(key) for key in ("wire", "pattern", "source"))
        made.append(Family(wire, re.compile(pattern), facts, source))
    return tuple(made)


def _joined(dialect: Dialect, key: str, said: Any) -> Any:
    before = getattr(dialect, key, None)
    return tuple(dict.fromkeys((*before, *said))) if isinstance(before, tuple) else said


@cache
def _rows() -> dict[str, dict[str, Dialect]]:
    found: dict[str, dict[str, Dialect]] = {}
    for (name, wire), facts in rows().items():
        said = {key: value for key, value in facts.items() if key != "equal"}
        found.setdefault(wire, {})[name] = override(BASE, {"name": name, **said})
    return found
