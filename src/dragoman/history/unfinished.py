"""Turns that broke off: a mark on the message, so that no later request takes half a turn for a whole one."""

from __future__ import annotations

import msgspec

from dragoman.types.message import Message
from dragoman.types.opaque import MARKS, marks

OURS = "dragoman"  # no wire: marks under it are written nowhere and noted nowhere
BROKE_OFF = "it broke off"


def unfinished(message: Message, why: str = BROKE_OFF) -> Message:
    """`message` marked as half a turn: kept for people to read, left out of what is sent (dialects §8e.5)."""
    return msgspec.structs.replace(message, opaque={**(message.opaque or {}), OURS: {MARKS: {"unfinished": why}}})


def why_unfinished(message: Message) -> str | None:
    """Why the turn broke off; None for a whole one."""
    why = marks(message.opaque, OURS).get("unfinished") if message.opaque else None
    return why if why is None or isinstance(why, str) else BROKE_OFF


def finished(message: Message) -> Message:
    """`message` without the mark."""
    opaque = {wire: left for wire, left in (message.opaque or {}).items() if wire != OURS}
    return msgspec.structs.replace(message, opaque=opaque or None)
