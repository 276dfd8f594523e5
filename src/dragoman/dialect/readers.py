"""The facts by which clients of one wire differ, and the rows of readers.toml, read once."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import msgspec


class Reader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one client cannot read of its own wire. Each default is a client that reads all of it.

    `agent` is how its `user-agent` begins; `source` names the measurement or issue that a row rests on. What the facts
    mean stands in readers.toml.
    """

    agent: str = ""
    source: str = ""
    whole_calls: bool = False
    alive: bytes = b""
    card: tuple[tuple[str, Any], ...] = ()


EVERY = Reader()


@lru_cache(maxsize=256)  # the same few clients, again and again
def reader(agent: str) -> Reader:
    """Who says `agent` of himself; a client that reads all of his wire where no row is about him."""
    return next((row for row in rows() if agent.startswith(row.agent)), EVERY)


@cache
def rows() -> tuple[Reader, ...]:
    """Every row in its order."""
    text = files("dragoman.dialect").joinpath("readers.toml").read_text(encoding="utf-8")
    return tuple(map(_row, tomllib.loads(text)["reader"]))


def _row(said: dict[str, Any]) -> Reader:
    alive, card = said.pop("alive", ""), said.pop("card", {})
    return Reader(alive=alive.encode(), card=tuple(card.items()), **said)
