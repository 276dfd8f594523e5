"""Dialects by name: the rows of rows.toml, read once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import UsageError


def find(name: str | None, wire: str) -> Dialect:
    """The dialect of a server on one wire; the wire's base for a name that has no row there."""
    return _rows().get(wire, {}).get(name or "", BASE)


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
def _rows() -> dict[str, dict[str, Dialect]]:
    found: dict[str, dict[str, Dialect]] = {}
    for (name, wire), facts in rows().items():
        said = {key: value for key, value in facts.items() if key != "equal"}
        found.setdefault(wire, {})[name] = override(BASE, {"name": name, **said})
    return found
