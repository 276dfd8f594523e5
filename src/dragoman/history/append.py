"""A message at the end of a conversation in which user and assistant take turns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.history.repair import PLACEHOLDER
from dragoman.history.view import leftovers
from dragoman.types.content import Text
from dragoman.types.message import Message, Role

TURNS: dict[Role, Role] = {"user": "assistant", "assistant": "user"}  # who else speaks between two of one role


def append(messages: tuple[Message, ...], message: Message, *, placeholder: str = PLACEHOLDER) -> tuple[Message, ...]:
    """`messages` and `message`, the role at their end looked at first (S4-20): a second message of one role joins the
    one before it where nothing but what it says would change, else the placeholder stands between them (C-05).

    Tool messages and instructions stand as they are.
    """
    last = messages[-1] if messages else None
    if last is None or last.role != message.role or last.role not in TURNS:
        return (*messages, message)
    if _joins(last, message):
        return (*messages[:-1], _joined(last, message))
    between = Message(role=TURNS[last.role], content=(Text(text=placeholder),))
    return (*messages, between, message)


def enqueue(messages: Sequence[Message], queued: Sequence[Message], *, sent: int) -> tuple[Message, ...]:
    """A history and what users said meanwhile (S4-19, S4-20). `sent` of its messages were sent before.

    While the message at the end has never been sent, the next one of its role joins it. Once it was sent it is not
    touched, so that its bytes, and the provider's prompt cache, stay; where a server demands that roles take turns,
    `repair` puts them in order on the copy that is sent (C-05).
    """
    found = list(messages)
    for message in queued:
        if len(found) > sent and found[-1].role == message.role and _joins(found[-1], message):
            found[-1] = _joined(found[-1], message)
        else:
            found.append(message)
    return tuple(found)


def _joins(last: Message, message: Message) -> bool:
    """Whether nothing but what is said would change if two messages of one role were one."""
    same = last.name == message.name and last.origin == message.origin
    return same and last.role in TURNS and not leftovers(message) and not last.prefill


def _joined(last: Message, message: Message) -> Message:
    return msgspec.structs.replace(last, content=(*last.content, *message.content), prefill=message.prefill)
