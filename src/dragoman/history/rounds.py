"""Where a conversation may be cut: never inside a turn that calls and the results it got (CTX-006)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.types.content import ToolCall
from dragoman.types.message import Message


class Group(msgspec.Struct, frozen=True):
    """Messages that stay or go together: a user's, an answer, or a turn that calls with all its results.

    `start` and `stop` are places among the messages, as of a slice.
    """

    start: int
    stop: int
    role: str
    calls: bool = False


def groups(messages: Sequence[Message]) -> tuple[Group, ...]:
    """The conversation in the smallest pieces that can be left out. Results belong to what stands before them."""
    found: list[Group] = []
    for at, message in enumerate(messages):
        calls = message.role == "assistant" and any(isinstance(block, ToolCall) for block in message.content)
        last = found[-1] if found else None
        split = last is not None and last.calls and message.role == messages[at - 1].role == "assistant"
        if last is not None and (message.role == "tool" or split):
            found[-1] = msgspec.structs.replace(last, stop=at + 1)
        else:
            found.append(Group(at, at + 1, message.role, calls))
    return tuple(found)


def rounds(messages: Sequence[Message]) -> tuple[int, ...]:
    """Where each round begins: at a user's message that follows no other user's."""
    return tuple(
        at
        for at, message in enumerate(messages)
        if message.role == "user" and (at == 0 or messages[at - 1].role != "user")
    )


def running(messages: Sequence[Message]) -> int:
    """Where the round begins that is not over: its reasoning must go back as it came (CTX-007)."""
    begins = rounds(messages)
    return begins[-1] if begins else 0


def last_rounds(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """The last `count` rounds, whole; all of it where there are no more (S4-13)."""
    begins = rounds(messages)
    return tuple(messages[begins[-count] :]) if 0 < count < len(begins) else tuple(messages)


def last_messages(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """The groups that end the conversation and have at most `count` messages together: what is left out of the last
    `count` messages is a group that begins before them, so that no result is without its call (CTX-006).
    """
    pieces = [piece for piece in groups(messages) if piece.start >= len(messages) - count]
    return tuple(messages[pieces[0].start :]) if pieces else ()
