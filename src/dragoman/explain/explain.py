"""From a refusal to its explanation."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import ApiError, Explanation
from dragoman.explain.causes import causes
from dragoman.explain.place import place
from dragoman.types.request import Request

# What a fix names where the caller does not know it.
NAMES: Mapping[str, str] = {"key": "the key", "model": "asked for", "base_url": "of the service"}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request that was refused, and the wire and dialect in which it was written."""

    request: Request
    wire: str
    dialect: Dialect = BASE


def explain(error: ApiError, asked: Asked | None = None, names: Mapping[str, str] = NAMES) -> Explanation | None:
    """What `error`, as a codec read it, means; None when its words are not in the table (S0-69: never by status alone).

    `names` are what a fix names: `key`, `model`, `base_url`. Without `asked` no place is looked for.
    """
    for row in causes():
        what = row.said(error)
        if what is not None:
            path = () if asked is None else place(row, error, what, asked.request, (asked.wire, asked.dialect))
            words = {**NAMES, **{name: said for name, said in names.items() if said}, "what": what or "this"}
            return Explanation(
                name=row.name,
                cause=row.cause.format_map(words),
                fix=row.fix.format_map(words),
                path=path,
                source=row.source,
            )
    return None
