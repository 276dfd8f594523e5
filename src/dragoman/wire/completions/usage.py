"""Usage of text completions: the chat wire's form, kept under this wire's own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.reply import Usage
from dragoman.wire.base import Notes
from dragoman.wire.chat import usage as chat
from dragoman.wire.chat.parts import WIRE as CHAT
from dragoman.wire.completions.parts import WIRE


def usage_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The usage dict of a reply or chunk, when it counts anything."""
    return chat.usage_of({"usage": body.get("usage")})


def decode_usage(raw: Mapping[str, Any], dialect: Dialect, notes: Notes | None = None) -> Usage:
    """Inclusive totals from a vendor's dict, which is kept whole."""
    return msgspec.structs.replace(chat.decode_usage(raw, dialect, notes), opaque={WIRE: dict(raw)})


def encode_usage(usage: Usage, dialect: Dialect, notes: Notes) -> dict[str, Any]:
    """This wire's own dict when it still says the same, else one written from the totals."""
    raw = (usage.opaque or {}).get(WIRE)
    return chat.encode_usage(msgspec.structs.replace(usage, opaque=raw and {CHAT: raw}), dialect, notes)
