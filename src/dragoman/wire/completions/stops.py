"""Finish reasons of text completions."""

from __future__ import annotations

from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.reply import Stop, StopReason
from dragoman.wire.base import Notes
from dragoman.wire.completions.parts import WIRE

# Word → reason: dialects §1.6, and the words of relatives in the recordings.
REASONS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "length": "length",
    "content_filter": "filter",
    "error": "error",
}
# Reason → the word this wire has for it; the rest end as "stop", noted.
WORDS: dict[StopReason, str] = {
    "end": "stop",
    "length": "length",
    "context": "length",
    "filter": "content_filter",
    "refusal": "content_filter",
}
EXACT = frozenset({"end", "length", "filter"})


def decode_stop(raw: str | None) -> Stop:
    """The reason by the vendor's word."""
    return Stop(reason=REASONS.get(raw or "", "other"), raw=raw)


def encode_stop(stop: Stop, message: Message, notes: Notes, path: Path) -> str | None:
    """This wire's own word when the stop still means it, else the nearest word, noted where it is not the same."""
    ours = message.origin is not None and message.origin.wire == WIRE
    if ours and decode_stop(stop.raw).reason == stop.reason:
        return stop.raw
    if stop.reason not in EXACT:
        notes.add((*path, "reason"), "substituted", f"a text completion has no word for {stop.reason!r}")
    if stop.sequence is not None:
        notes.add((*path, "sequence"), "dropped", "a text completion does not say which stop sequence matched")
    if stop.detail is not None:
        loss = stop.reason == "refusal"  # else it is another wire's word for the reason
        notes.add((*path, "detail"), "dropped", "a text completion explains no stop", loss=loss)
    return WORDS.get(stop.reason, "stop")
