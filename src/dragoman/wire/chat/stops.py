"""Finish reasons of the chat wire and its relatives."""

from __future__ import annotations

from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.reply import Stop, StopReason
from dragoman.wire.base import Notes
from dragoman.wire.chat.calls import is_legacy
from dragoman.wire.chat.parts import WIRE

# Word → reason; sources: dialects §7, recordings named in corpus oddities.
REASONS: dict[str, StopReason] = {
    "stop": "end",
    "end": "end",
    "eos": "end",
    "eos_token": "end",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filter",
    "sensitive": "filter",
    "model_context_window_exceeded": "context",
    "network_error": "error",
    "error": "error",
}

# Reason → the word this wire has for it; the rest end as "stop", noted.
WORDS: dict[StopReason, str] = {
    "end": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "context": "length",
    "tool_calls": "tool_calls",
    "filter": "content_filter",
    "refusal": "content_filter",
}
EXACT = frozenset({"end", "length", "tool_calls", "filter"})


def decode_stop(raw: str | None, has_calls: bool) -> Stop:
    """The reason; open calls beat a word that says the turn is over (C-08)."""
    reason: StopReason = REASONS.get(raw or "", "other")
    if reason in ("end", "other") and has_calls:
        reason = "tool_calls"
    return Stop(reason=reason, raw=raw)


def encode_stop(stop: Stop, message: Message, notes: Notes, path: Path) -> str | None:
    """This wire's own word when the stop still means it, else the nearest word, noted where it is not the same."""
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    ours = message.origin is not None and message.origin.wire == WIRE
    if ours and decode_stop(stop.raw, bool(calls)).reason == stop.reason:
        return stop.raw
    if stop.reason == "tool_calls" and calls and is_legacy(calls[0]):
        return "function_call"
    if stop.reason not in EXACT:
        notes.add((*path, "reason"), "substituted", f"the chat wire has no word for {stop.reason!r}")
    if stop.sequence is not None:
        notes.add((*path, "sequence"), "dropped", "the chat wire does not say which stop sequence matched")
    if stop.detail is not None:
        loss = stop.reason == "refusal"  # else it is another wire's word for the reason
        notes.add((*path, "detail"), "dropped", "the chat wire explains no stop", loss=loss)
    return WORDS.get(stop.reason, "stop")
