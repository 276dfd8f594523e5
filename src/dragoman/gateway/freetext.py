"""Tools that take free text, for models whose server knows functions only: one string there, free text again here (GWY-011).

The chat wire has such tools, but of those who speak it hardly anyone but its vendor does (`custom_tools` of the dialect); a
function is understood by all.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from msgspec.structs import replace

from dragoman.types.content import Content, ToolCall, ToolResult, ToolsChange
from dragoman.types.events import BlockEnd, BlockStart, Delta, StreamEvent
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes
from dragoman.wire.freeform import FORM, parted

KEY = "input"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {KEY: {"type": "string"}}, "required": [KEY]}
Tools: TypeAlias = tuple[Tool | HostedTool, ...] | None


def as_functions(request: Request, notes: Notes) -> tuple[Request, frozenset[str]]:
    """`request` with functions of one string in the place of tools that take text, those of later turns too, and their
    names; calls and results that stand in the history are changed with them."""
    bound = _Bound(notes)
    tools = bound.tools(request.tools, ("tools",))
    messages = tuple(bound.message(message, ("messages", at)) for at, message in enumerate(request.messages))
    return replace(request, messages=messages, tools=tools), frozenset(bound.names)


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


def _parameters(form: Bag | None) -> dict[str, Any]:
    """What the function takes; the grammar of the text is in words, since else the model would not know what to write."""
    if form is None or "definition" not in form:
        return SCHEMA
    told = f"The text itself, which must be of this {form['syntax']} grammar:\n{form['definition']}"
    return {**SCHEMA, "properties": {KEY: {"type": "string", "description": told}}}


class _Bound:
    """Free text as functions: the `names` of the tools, and what is told of them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.names: set[str] = set()

    def tools(self, tools: Tools, path: Path) -> Tools:
        """Definitions with no free text in them."""
        return tools and tuple(self._tool(tool, (*path, at)) for at, tool in enumerate(tools))

    def message(self, message: Message, path: Path) -> Message:
        """A message with no free text of a tool in it; the same one where there is none."""
        content = tuple(self._block(block, (*path, "content", at)) for at, block in enumerate(message.content))
        return message if content == message.content else replace(message, content=content)

    def _tool(self, tool: Tool | HostedTool, path: Path) -> Tool | HostedTool:
        if not isinstance(tool, Tool) or tool.kind != "custom":
            return tool
        self.names.add(tool.name)
        said = "a tool that takes text became a function of one string, `input`"
        self._notes.add((*path, "kind"), "substituted", said, loss=False)
        bare, form = parted(tool)
        if form is not None and "definition" in form:
            said = f"a {form['syntax']} grammar is told in words here, and nothing holds the model to it"
            self._notes.add((*path, FORM), "substituted", said)
        return replace(bare, kind="function", parameters=_parameters(form))

    def _block(self, block: Content, path: Path) -> Content:
        match block:
            case ToolCall(kind="custom"):
                arguments = json.dumps({KEY: block.arguments}, ensure_ascii=False, separators=(",", ":"))
                return replace(block, kind="function", arguments=arguments)
            case ToolResult(kind="custom"):
                return replace(block, kind="function")
            case ToolsChange():
                return replace(block, add=self.tools(block.add, (*path, "add")))
            case _:
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
