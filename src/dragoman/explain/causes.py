"""The table of causes, read once."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

import msgspec

from dragoman.errors import ApiError

READ = 2000  # characters


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One row of causes.toml, whose head says what each field means."""

    name: str
    cause: str
    fix: str
    source: str
    pattern: str = ""
    codes: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    rule: str | None = None
    holds: str | None = None
    field: tuple[str, ...] = ()

    def said(self, error: ApiError) -> str | None:
        """What the pattern captured of the service's words, "" for nothing; None: this is not the cause."""
        if self.only and error.code not in self.only:
            return None
        found = _compiled(self.pattern).search(words(error)) if self.pattern else None
        if found is not None:
            return next((text for text in found.groups() if text), "")
        own = {str(word).lower() for word in (error.detail.vendor_code, error.detail.vendor_type)}
        return "" if own & self.codes else None


def words(error: ApiError) -> str:
    """The service's own words, as many as are looked at: a service that talks for ever is not read for ever."""
    return (error.detail.message or error.message)[:READ]


@cache
def causes() -> tuple[Cause, ...]:
    """Every row in its order."""
    text = files("dragoman.explain").joinpath("causes.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["cause"], list[Cause]))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
