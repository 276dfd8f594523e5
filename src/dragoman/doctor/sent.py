"""One request as it went over a wire, and what is known of its answer."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.types.reply import Usage


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is how it is called in findings; `body` the request as JSON, of whatever wire; `usage` that of its answer."""

    name: str
    body: dict[str, Any]
    usage: Usage | None = None
