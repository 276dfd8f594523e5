"""Tools that are no functions but are run by the client, for models whose server knows functions only (GWY-011).

A tool of free text takes one string there, and has its free text again here. The chat wire has such tools, but of those who speak
it hardly anyone but its vendor does (`custom_tools` of the dialect); a function is understood by all. The search for tools that a
client does itself is a function as well, and what it found is offered from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from dragoman.types.content import Content, Text, ToolCall, ToolResult, ToolsChange
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
SEARCH, SEARCHED = "tool_search", "tool_search_call"  # of the responses wire: the tool, and the item of its call
FOUND = "tools that are offered from now on"
Tools: TypeAlias = tuple[Tool | HostedTool, ...] | None
Bound: TypeAlias = Mapping[str, Literal["text", "search"]]
NONE: Bound = {}


def as_functions(request: Request, notes: Notes, *, texts: bool = True) -> tuple[Request, Bound]:
    """`request` with functions in the place of such tools, those of later turns too, and by their names what they stand
    for; calls and results that stand in the history are changed with them. Without `texts` tools of free text stay."""
    binding = _Binding(notes, texts=texts)
    tools = binding.tools(request.tools, ("tools",))
    messages = tuple(binding.message(message, ("messages", at)) for at, message in enumerate(request.messages))
    return replace(request, messages=messages, tools=tools), binding.names


def freed(reply: Reply, names: Bound) -> Reply:
    """A reply whose calls of these tools are again what the client knows."""
    content = tuple(_freed(block, names) for block in reply.message.content)
    return replace(reply, message=replace(reply.message, content=content))


class Freer:
    """The same for events. What such a call says is shown when the call ends: until then it is not whole."""

    def __init__(self, names: Bound) -> None:
        self._names = names
        self._open: dict[int, list[str]] = {}
        self._named: dict[int, str] = {}

    def feed(self, event: StreamEvent) -> tuple[StreamEvent, ...]:
        """What the client shall see of one event."""
        match event:
            case BlockStart(block=ToolCall(name=name) as call) if name in self._names:
                self._open[event.index], self._named[event.index] = [call.arguments], name
                return (replace(event, block=replace(_freed(call, self._names), arguments="")),)
            case Delta(index=index, field="arguments") if index in self._open:
                self._open[index].append(event.text)
                return ()
            case BlockEnd(index=index) if index in self._open:
                said, name = "".join(self._open.pop(index)), self._named.pop(index)
                text = _text(said) if self._names[name] == "text" else said
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


class _Binding:
    """Such tools as functions: the `names` of the tools, and what is told of them."""

    def __init__(self, notes: Notes, *, texts: bool) -> None:
        self._notes = notes
        self._texts = texts
        self.names: dict[str, Literal["text", "search"]] = {}

    def tools(self, tools: Tools, path: Path) -> Tools:
        """Definitions that are functions."""
        return tools and tuple(self._tool(tool, (*path, at)) for at, tool in enumerate(tools))

    def message(self, message: Message, path: Path) -> Message:
        """A message in which they are called as functions; the same one where none is called."""
        content = tuple(self._block(block, (*path, "content", at)) for at, block in enumerate(message.content))
        if any(isinstance(block, ToolResult) and block.kind == "builtin" for block in content):
            content = _found(content)
        return message if content == message.content else replace(message, content=content)

    def _tool(self, tool: Tool | HostedTool, path: Path) -> Tool | HostedTool:
        if isinstance(tool, HostedTool):
            return self._search(tool, path)
        if tool.kind != "custom" or not self._texts:
            return tool
        self.names[tool.name] = "text"
        said = "a tool that takes text became a function of one string, `input`"
        self._notes.add((*path, "kind"), "substituted", said, loss=False)
        bare, form = parted(tool)
        if form is not None and "definition" in form:
            said = f"a {form['syntax']} grammar is told in words here, and nothing holds the model to it"
            self._notes.add((*path, FORM), "substituted", said)
        return replace(bare, kind="function", parameters=_parameters(form))

    def _search(self, tool: HostedTool, path: Path) -> Tool | HostedTool:
        said: Any = tool.payload
        if tool.kind != SEARCH or said.get("execution") != "client" or not isinstance(said.get("parameters"), dict):
            return tool
        self.names[SEARCH] = "search"
        self._notes.add(path, "substituted", "the client's search for tools became a function", loss=False)
        return Tool(name=SEARCH, description=said.get("description"), parameters=said["parameters"])

    def _block(self, block: Content, path: Path) -> Content:
        match block:
            case ToolCall(kind="custom") if self._texts:
                arguments = json.dumps({KEY: block.arguments}, ensure_ascii=False, separators=(",", ":"))
                return replace(block, kind="function", arguments=arguments)
            case ToolCall(kind="builtin", name=name) if name == SEARCHED:
                return replace(block, kind="function", name=SEARCH, opaque=None)
            case ToolResult(kind="custom") if self._texts:
                return replace(block, kind="function")
            case ToolsChange():
                return replace(block, add=self.tools(block.add, (*path, "add")))
            case _:
                return block


def _found(content: tuple[Content, ...]) -> tuple[Content, ...]:
    """The result of a search says what it found: the definitions beside it are offered, not shown."""
    changes = [block for block in content if isinstance(block, ToolsChange)]
    names = [tool.name for block in changes for tool in block.add or () if isinstance(tool, Tool)]
    said = Text(text=json.dumps({FOUND: names}, ensure_ascii=False))
    return tuple(
        replace(block, kind="function", content=(said,), opaque=None)
        if changes and isinstance(block, ToolResult) and block.kind == "builtin" and not block.content
        else block
        for block in content
    )


def _freed(block: Any, names: Bound) -> Any:
    if not isinstance(block, ToolCall) or block.kind != "function":
        return block
    match names.get(block.name):
        case "text":
            return replace(block, kind="custom", arguments=_text(block.arguments))
        case "search":
            opaque = {**(block.opaque or {}), "responses": {"execution": "client"}}
            return replace(block, kind="builtin", name=SEARCHED, opaque=opaque)
        case _:
            return block


def _text(arguments: str) -> str:
    """The free text of a call; what is not of the form that was asked for is the text itself."""
    try:
        said = json.loads(arguments)
    except ValueError:
        return arguments
    found = said.get(KEY) if isinstance(said, dict) else None
    return found if isinstance(found, str) else arguments
