"""What the rules look at: a conversation walked once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

from dragoman.dialect.model import BASE, Dialect
from dragoman.history.pairing import Call, Pairs, Result, Step
from dragoman.types.base import Origin
from dragoman.types.content import Content, Foreign, Media, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool

INSTRUCTIONS = ("system", "developer")
EMPTY: tuple[Any, ...] = (None, "", [], {})
SPOKEN = (Text, Media)  # what, standing between results, is somebody's word


class Speaker(Protocol):
    """A message, or one being mended."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> Sequence[Content]: ...


class View:
    """A request, where it is going, and its blocks with their places."""

    def __init__(self, request: Request, wire: str, dialect: Dialect = BASE, target: Origin | None = None) -> None:
        self.request = request
        self.wire = wire
        self.dialect = dialect
        self.target = target
        self.kept = is_kept(request)

    @cached_property
    def blocks(self) -> list[tuple[Path, str, Content]]:
        """Every block with its place and the role of its message."""
        return [
            (("messages", at, "content", inner), message.role, block)
            for at, message in enumerate(self.request.messages)
            for inner, block in enumerate(message.content)
        ]

    def block(self, path: Path) -> Content:
        """The block at a place."""
        return self.request.messages[int(path[1])].content[int(path[3])]

    @cached_property
    def pairs(self) -> Pairs:
        """Calls and results, linked."""
        return Pairs(steps(self.request.messages))

    @cached_property
    def offered(self) -> frozenset[str]:
        """Every name that a tool choice may say; empty when no tool is offered."""
        tools = list(self.request.tools or ())
        names: set[str] = set()
        for message in self.request.messages:
            for block in message.content:
                if type(block) is ToolsChange:
                    tools += block.add or ()
                    names.update(block.names or ())
        for tool in tools:
            names.update(_names(tool))
        return frozenset(names)


def steps(messages: Iterable[Speaker]) -> list[Step]:
    """The conversation as pairing sees it; the place of a block is its message's index and its own."""
    found: list[Step] = []
    for at, message in enumerate(messages):
        role = message.role
        step = Step(role)
        for inner, block in enumerate(message.content):
            kind = type(block)
            if kind in SPOKEN:
                step.speaks = True
            elif kind is ToolCall:
                if role == "assistant":
                    step.calls.append(Call(("messages", at, "content", inner), block.id, block.name))  # type: ignore[union-attr]
            elif kind is ToolResult:
                step.results.append(Result(("messages", at, "content", inner), block.call_id))  # type: ignore[union-attr]
        found.append(step)
    return found


def is_kept(request: Request) -> bool:
    """Whether the server holds a part of the conversation, so that a result's call may be there and not here."""
    if request.state is not None:
        return True
    return any(
        type(block) is Foreign and block.kind == "item_reference"
        for message in request.messages
        if message.role == "assistant"
        for block in message.content
    )


def leftovers(value: Any) -> dict[str, Any]:
    """What a value's wires said beyond it; nulls, empty values and our own marks say nothing."""
    found: dict[str, Any] = {}
    for left in (value.opaque or {}).values():
        found |= {key: item for key, item in left.items() if item not in EMPTY and not key.startswith(MARKS)}
    return found


def is_blank(block: Content) -> bool:
    """Whether a block is a text without a letter."""
    return isinstance(block, Text) and not block.text.strip()


def _names(tool: Tool | HostedTool) -> tuple[str, ...]:
    if isinstance(tool, Tool):
        return (tool.name,)
    payload: Any = tool.payload if isinstance(tool.payload, dict) else {}
    said = (payload.get(key) for key in ("name", "server_label", "type"))
    return (tool.kind, *(name for name in said if isinstance(name, str)))
