"""Reasons for the end of an answer on this wire, and the times it tells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.reply import Stop, StopReason
from dragoman.wire.base import Notes

WIRE = "ollama"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Word → reason: dialects §1.7, §7. `load` and `unload` answer a request without messages.
REASONS: dict[str, StopReason] = {"stop": "end", "length": "length"}
# Reason → the word this wire has for it; the rest end as "stop", noted.
WORDS: dict[StopReason, str] = {"length": "length", "context": "length"}


def decode_stop(raw: str | None, has_calls: bool) -> Stop:
    """The reason; open calls beat a word that says the turn is over (C-08)."""
    reason: StopReason = REASONS.get(raw or "", "other")
    if reason in ("end", "other") and has_calls:
        reason = "tool_calls"
    return Stop(reason=reason, raw=raw)


def encode_stop(stop: Stop, message: Message, notes: Notes, path: Path) -> str | None:
    """This wire's own word when the stop still means it, else the nearest word, noted where it is not the same."""
    has_calls = any(isinstance(block, ToolCall) for block in message.content)
    ours = message.origin is not None and message.origin.wire == WIRE
    if ours and decode_stop(stop.raw, has_calls).reason == stop.reason:
        return stop.raw
    word = WORDS.get(stop.reason, "stop")
    if decode_stop(word, has_calls).reason != stop.reason:
        notes.add((*path, "reason"), "substituted", f"this wire has no word for {stop.reason!r}")
    if stop.sequence is not None:
        notes.add((*path, "sequence"), "dropped", "this wire does not say which stop sequence matched")
    if stop.detail is not None:
        loss = stop.reason == "refusal"  # else it is another wire's word for the reason
        notes.add((*path, "detail"), "dropped", "this wire explains no stop", loss=loss)
    return word


def read_time(text: object) -> float | int | None:
    """Seconds since the epoch of a time as this wire writes it; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        seconds = (datetime.fromisoformat(text) - EPOCH).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return int(seconds) if seconds.is_integer() else seconds


def write_time(seconds: float) -> str | None:
    """The time as this wire writes it; None for one beyond its calendar."""
    try:
        return (EPOCH + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return None
