"""A choice among tools brought to what a server takes: the same rule for each wire, each in its own form."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.wire.base import Notes

INTENTS = ("auto", "none", "required", "named", "allowed")


def taken_choice(intent: str, dialect: Dialect, notes: Notes) -> str | None:
    """The intent itself where the server takes it, else the nearest that it does, told; None where it takes none that is
    near, so that the choice is left out. What is no intent of ours is a vendor's own word, and stays as it is."""
    if intent in dialect.tool_choices or intent not in INTENTS:
        return intent
    told = f"this server does not take the choice {intent!r}"
    nearest = "required" if intent == "named" and "required" in dialect.tool_choices else "auto"
    if nearest not in dialect.tool_choices:
        notes.add(("tool_choice",), "dropped", told)
        return None
    notes.add(("tool_choice",), "substituted", f"{told}: {nearest!r}")
    return nearest
