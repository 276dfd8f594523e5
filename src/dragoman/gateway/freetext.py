"""Tools that take free text, for models whose server knows functions only: one string there, free text again here (GWY-011).

The chat wire has such tools, but of those who speak it hardly anyone but its vendor does (`custom_tools` of the dialect); a
function is understood by all.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from dragoman.types.content import Content, ToolCall, ToolResult
from dragoman.types.events import BlockEnd, BlockStart, Delta, StreamEvent
from dragoman.types.message import Message
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire.base import Notes

KEY = "input"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {KEY: {"type": "string"}}, "required": [KEY]}


def as_functions(request: Request, notes: Notes) -> tuple[Request, frozenset[str]]:
    """`request` with functions of one string in the place of tools that take text, and their names; calls and results that
    stand in the history are changed with them."""
    names: set[str] = set()
    tools: list[Any] = []
    for at, tool in enumerate(request.tools or ()):
        if isinstance(tool, Tool) and tool.kind == "custom":
            names.add(tool.name)
            said = "a tool that takes text became a function of one string, `input`"
            notes.add(("tools", at, "kind"), "substituted", said, loss=False)
            tool = replace(tool, kind="function", parameters=SCHEMA)
        tools.append(tool)
    messages = tuple(_message(message) for message in request.messages)
    changed = replace(request, messages=messages, tools=tuple(tools) or request.tools)
    return changed, frozenset(names)


def freed(reply: Reply, names: frozenset[str]) -> Reply:
    """A reply whose calls of these tools have their text again."""
    content = tuple(_freed(block, names) for block in reply.message.content)
    return replace(reply, message=replace(reply.message, content=content))


class Freer:
    """The same for events. The text of such a call is shown when the call ends: until then its string is not whole."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._open: dict[int, list[str]] = {}

    def feed(self, event: StreamEvent) -> tuple[StreamEvent, ...]:
        """What the client shall see of one event."""
        match event:
            case BlockStart(block=ToolCall(name=name) as call) if name in self._names:
                self._open[event.index] = [call.arguments]
                return (replace(event, block=replace(call, kind="custom", arguments="")),)
            case Delta(index=index, field="arguments") if index in self._open:
                self._open[index].append(event.text)
                return ()
            case BlockEnd(index=index) if index in self._open:
                text = _text("".join(self._open.pop(index)))
                block = None if event.block is None else _freed(event.block, self._names)
                return (Delta(index=index, field="arguments", text=text), replace(event, block=block))
            case _:
                return (event,)


def _message(message: Message) -> Message:
    content = tuple(_bound(block) for block in message.content)
    return message if content == message.content else replace(message, content=content)


def _bound(block: Content) -> Content:
    if isinstance(block, ToolCall) and block.kind == "custom":
        arguments = json.dumps({KEY: block.arguments}, ensure_ascii=False, separators=(",", ":"))
        return replace(block, kind="function", arguments=arguments)
    if isinstance(block, ToolResult) and block.kind == "custom":
        return replace(block, kind="function")
    return block


def _freed(block: Content, names: frozenset[str]) -> Content:
    if isinstance(block, ToolCall) and block.name in names and block.kind == "function":
        return replace(block, kind="custom", arguments=_text(block.arguments))
    return block


def _text(arguments: str) -> str:
    """The free text of a call; what is not of the form that was asked for is the text itself."""
    try:
        said = json.loads(arguments)
    except ValueError:
        return arguments
    found = said.get(KEY) if isinstance(said, dict) else None
    return found if isinstance(found, str) else arguments
