"""A message at the end of a conversation in which user and assistant take turns."""

from __future__ import annotations

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
    if last.name == message.name and last.origin == message.origin and not leftovers(message) and not last.prefill:
        joined = msgspec.structs.replace(last, content=(*last.content, *message.content), prefill=message.prefill)
        return (*messages[:-1], joined)
    between = Message(role=TURNS[last.role], content=(Text(text=placeholder),))
    return (*messages, between, message)
