"""Why a response stopped: this wire says a status, and the rest stands in the output (S3-08)."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.types.content import Refusal, ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import marks, word
from dragoman.types.reply import Stop, StopReason
from dragoman.wire.base import Notes
from dragoman.wire.responses.parts import WIRE


class Status(NamedTuple):
    """`status`, and the reason in `incomplete_details`."""

    word: str | None
    reason: str | None = None


STATUSES: dict[str, StopReason] = {
    "completed": "end",
    "incomplete": "length",
    "in_progress": "pause",
    "queued": "pause",
    "cancelled": "cancelled",
    "failed": "error",
}
INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "filter", "steered": "pause"}

# Our reason → what this wire says; the last member tells whether it means the same.
WORDS: dict[StopReason, tuple[Status, bool]] = {
    "end": (Status("completed"), True),
    "tool_calls": (Status("completed"), True),
    "stop_sequence": (Status("completed"), False),
    "length": (Status("incomplete", "max_output_tokens"), True),
    "context": (Status("incomplete", "max_output_tokens"), False),
    "filter": (Status("incomplete", "content_filter"), True),
    "refusal": (Status("incomplete", "content_filter"), False),
    "pause": (Status("incomplete"), False),
    "cancelled": (Status("cancelled"), True),
    "error": (Status("failed"), True),
}


def decode_stop(status: Status, message: Message) -> Stop:
    """The reason; a completed response with an open call waits for the caller, hosted calls do not count."""
    reason: StopReason = STATUSES.get(status.word or "completed", "other")
    if status.word == "incomplete":
        reason = INCOMPLETE.get(status.reason or "", "other" if status.reason else "length")
    if reason == "end" and any(isinstance(block, ToolCall) for block in message.content):
        reason = "tool_calls"
    if status.reason in INCOMPLETE:  # the reason says it: the word is how
        return Stop(reason=reason, raw=status.word, opaque={WIRE: {"~": {"word": status.reason}}})
    return Stop(reason=reason, raw=status.word, detail=status.reason)


def encode_stop(stop: Stop, message: Message, notes: Notes, path: Path) -> Status:
    """This wire's own words when the stop still means them, else the nearest, noted where they are not the same."""
    said = Status(stop.raw, word(marks(stop.opaque, WIRE), "word", INCOMPLETE) or stop.detail)
    if message.origin is not None and message.origin.wire == WIRE and decode_stop(said, message).reason == stop.reason:
        return said
    if stop.detail is not None and stop.reason != "error":
        notes.add((*path, "detail"), "dropped", "the responses wire does not explain why it stopped")
    if stop.reason == "refusal" and any(isinstance(block, Refusal) for block in message.content):
        reason = "the responses wire says a refusal in the message alone"
        notes.add((*path, "reason"), "substituted", reason, loss=False)
        return Status("completed")
    status, exact = WORDS.get(stop.reason, (Status("completed"), False))
    if not exact:
        notes.add((*path, "reason"), "substituted", f"the responses wire has no word for {stop.reason!r}")
    if stop.sequence is not None:
        notes.add((*path, "sequence"), "dropped", "the responses wire does not say which stop sequence matched")
    return status
