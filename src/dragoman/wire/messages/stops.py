"""Stop reasons of the messages wire and its relatives."""

from __future__ import annotations

from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import Bag, bag, restore
from dragoman.types.reply import Stop, StopReason
from dragoman.wire.base import Fields, Notes
from dragoman.wire.messages.parts import WIRE, own_nested

# Word → reason; source: dialects §1.3 and §7.
REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "refusal",
    "sensitive": "filter",
    "model_context_window_exceeded": "context",
}

# Reason → the word this wire has for it; the rest end as "end_turn", noted.
WORDS: dict[StopReason, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "filter": "refusal",
    "context": "model_context_window_exceeded",
}
DETAILS = "stop_details"


def take_stop(fields: Fields, *, has_calls: bool) -> Stop:
    """`stop_reason`, `stop_sequence` and `stop_details` off a reply; open calls beat a word that says the turn is over,
    hosted calls do not (evidence A5)."""
    raw, sequence = fields.take("stop_reason", str), fields.take("stop_sequence", str)
    for key in ("stop_reason", "stop_sequence"):
        if fields.left.get(key, key) is None:  # null is how this wire says that there is none
            del fields.left[key]
    details = fields.left.get(DETAILS)
    opaque, detail = None, None
    if isinstance(details, dict):
        inner = Fields(fields.left.pop(DETAILS))
        detail = inner.take("explanation", str)
        opaque = {WIRE: {f"~{DETAILS}": inner.left}}
    return Stop(reason=reason_of(raw, has_calls=has_calls), raw=raw, sequence=sequence, detail=detail, opaque=opaque)


def reason_of(raw: str | None, *, has_calls: bool) -> StopReason:
    """What a word of this wire means."""
    reason: StopReason = REASONS.get(raw or "", "other")
    return "tool_calls" if has_calls and reason in ("end", "other") else reason


def encode_stop(stop: Stop, message: Message, notes: Notes, path: Path) -> Bag:
    """The stop's keys: this wire's own word when the stop still means it, else the nearest, noted if not the same."""
    out: Bag = {"stop_reason": _word(stop, message, notes, path), "stop_sequence": stop.sequence}
    if DETAILS_BAG in bag(stop.opaque, WIRE):
        said = {} if stop.detail is None else {"explanation": stop.detail}
        out[DETAILS] = restore(said, own_nested(stop, DETAILS))
    elif stop.detail is not None and stop.reason in ("refusal", "filter"):
        out[DETAILS] = {"type": "refusal", "category": None, "explanation": stop.detail}
    elif stop.detail is not None:
        notes.add((*path, "detail"), "dropped", "this wire explains refusals only")
    notes.leftovers(stop.opaque, WIRE, path)
    return restore(out, bag(stop.opaque, WIRE))


DETAILS_BAG = f"~{DETAILS}"


def _word(stop: Stop, message: Message, notes: Notes, path: Path) -> str | None:
    has_calls = any(isinstance(block, ToolCall) for block in message.content)
    ours = message.origin is not None and message.origin.wire == WIRE
    if ours and reason_of(stop.raw, has_calls=has_calls) == stop.reason:
        return stop.raw
    if stop.reason not in WORDS or stop.reason == "filter":
        notes.add((*path, "reason"), "substituted", f"the messages wire has no word for {stop.reason!r}")
    return WORDS.get(stop.reason, "end_turn")
