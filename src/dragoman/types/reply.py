"""What a model answered."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.types.base import Value
from dragoman.types.content import ToolCall
from dragoman.types.message import Message

StopReason: TypeAlias = Literal[
    "end",
    "length",
    "stop_sequence",
    "tool_calls",
    "refusal",
    "filter",
    "pause",
    "context",
    "malformed",
    "cancelled",
    "error",
    "other",
]


class Usage(Value, frozen=True, kw_only=True):
    """Tokens as inclusive totals with subsets: cache_read, cache_write and audio lie within input, reasoning within
    output. None = not reported. `cost` is in nano-dollars, as the vendor said. `opaque[wire]` is the vendor's own dict.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    reasoning: int | None = None
    input_audio: int | None = None
    output_audio: int | None = None
    output_image: int | None = None
    hosted_calls: dict[str, int] | None = None
    tier: str | None = None
    cost: int | None = None

    @property
    def uncached(self) -> int | None:
        """Input tokens that were neither read from nor written to a cache; None when the input is not known."""
        if self.input is None:
            return None
        return max(self.input - (self.cache_read or 0) - (self.cache_write or 0), 0)


class Stop(Value, frozen=True, kw_only=True):
    """Why the model stopped. `raw` is the vendor's word, `sequence` the stop sequence that matched."""

    reason: StopReason
    raw: str | None = None
    sequence: str | None = None
    detail: str | None = None


class Choice(Value, frozen=True, kw_only=True):
    """One more answer to the same request (n > 1)."""

    message: Message
    stop: Stop


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When an answer came, in seconds after its call began, waits and further tries included (S3-37).

    Of the first event, the first text that is not empty, the first sign of a call the caller must answer, and the end.
    None: there was none. A reply that came in one piece has everything at its end.
    """

    first_event: float | None = None
    first_text: float | None = None
    first_call: float | None = None
    total: float | None = None


class Reply(Value, frozen=True, kw_only=True):
    """One whole answer. `created` is seconds since the epoch as the vendor said; `others` are choices 1…n.

    `timing` and `parsed` are set by clients only; no wire says them, no codec reads or writes them. Two replies that
    differ in their timing alone are equal; `parsed` is the value that the answer holds where one was asked for.
    """

    message: Message
    stop: Stop
    usage: Usage | None = None
    id: str | None = None
    model: str | None = None
    created: float | int | None = None
    others: tuple[Choice, ...] | None = None
    timing: Timing | None = None
    parsed: Any = None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _said(self) == _said(other)

    def __hash__(self) -> int:
        return hash(_said(self))

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.message.text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls the caller must answer, in order."""
        return tuple(block for block in self.message.content if isinstance(block, ToolCall))


def _said(reply: Any) -> tuple[Any, ...]:
    return tuple(getattr(reply, name) for name in reply.__struct_fields__ if name != "timing")
