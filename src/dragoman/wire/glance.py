"""What the messages of a request hold beside texts: found in one walk, for all steps of a codec that ask for it."""

from __future__ import annotations

import msgspec

from dragoman.types.content import Reasoning, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.request import Request


class Glance(msgspec.Struct, frozen=True):
    """The names that calls and results say, the blocks that bring tools in or take them away, with their places, and
    whether anybody thought."""

    messages: tuple[Message, ...]
    named: frozenset[str]
    changes: tuple[tuple[Path, ToolsChange], ...]
    thought: bool


def glance(request: Request, before: Glance | None = None) -> Glance:
    """What is seen in a request; `before` itself where the messages are still those that were seen then.

    A vendor's own tool has the name that its wire gave it: it is not among the names.
    """
    if before is not None and before.messages is request.messages:
        return before
    named: set[str | None] = set()
    moving = thought = False
    for message in request.messages:
        for block in message.content:
            kind = type(block)
            if kind is Text:  # most blocks are
                continue
            if kind is ToolResult or (kind is ToolCall and block.kind != "builtin"):  # type: ignore[union-attr]
                named.add(block.name)  # type: ignore[union-attr]
            elif kind is ToolsChange:
                moving = True
            elif kind is Reasoning:
                thought = True
    named -= {None, ""}
    changes = _changes(request) if moving else ()
    return Glance(request.messages, frozenset(named), changes, thought)  # type: ignore[arg-type]


def _changes(request: Request) -> tuple[tuple[Path, ToolsChange], ...]:
    return tuple(
        (("messages", at, "content", inner), block)
        for at, message in enumerate(request.messages)
        for inner, block in enumerate(message.content)
        if isinstance(block, ToolsChange)
    )
