"""One turn of a conversation."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.types.base import Origin, Value
from dragoman.types.content import Content, Text, ToolResult

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


class Message(Value, frozen=True, kw_only=True):
    """Five roles, because foreign requests have five; what an agent stores is user, assistant and tool only (C-26).

    A tool message holds its results first, then any Text or Media of the same turn. `prefill` says that this last
    assistant message is to be continued. `origin` is who produced it.
    """

    role: Role
    content: tuple[Content, ...]
    name: str | None = None
    prefill: bool | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """All Text of this message, joined by line breaks."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


def system(text: str) -> Message:
    """A system message."""
    return Message(role="system", content=(Text(text=text),))


def user(*content: str | Content) -> Message:
    """A user message of texts and blocks."""
    return Message(role="user", content=_blocks(content))


def assistant(*content: str | Content) -> Message:
    """An assistant message of texts, calls and reasoning."""
    return Message(role="assistant", content=_blocks(content))


def tool(*results: ToolResult) -> Message:
    """A tool message: the results of one batch of calls."""
    return Message(role="tool", content=results)


def _blocks(content: tuple[str | Content, ...]) -> tuple[Content, ...]:
    return tuple(Text(text=item) if isinstance(item, str) else item for item in content)
