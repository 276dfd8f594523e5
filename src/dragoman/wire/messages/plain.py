"""The short way of plain turns, blocks and tools, in both directions: what `turns` and `history` give for them, or None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, Opaque
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire import jsonio
from dragoman.wire.messages.calls import AROUND, JsonText
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.plain import (
    is_call,
    read_definition,
    text_of,
    text_of_result,
    write_definition,
)

# How content was spelled: leftovers that many values share, as none changes its own.
LISTED: Opaque = {WIRE: {"~": {"content": "list"}}}


def read_turn(item: Mapping[str, Any], before: Sequence[Message]) -> Message | None:
    """A turn of one text, or of plain blocks; results stand among themselves, after a turn that holds none."""
    role, content = item.get("role"), item.get("content")
    if len(item) != 2 or (role != "user" and role != "assistant"):
        return None
    if type(content) is str:
        return Message(role=role, content=(Text(text=content),)) if _says(content) else None
    if type(content) is not list or not content:
        return None
    blocks: list[Content] = []
    for entry in content:
        block = _read_block(entry) if type(entry) is dict else None
        if block is None:
            return None
        blocks.append(block)
    results = [block for block in blocks if type(block) is ToolResult]
    if not results or role == "assistant":
        return Message(role=role, content=tuple(blocks), opaque=LISTED)
    if len(results) < len(blocks) or (before and before[-1].role == "tool"):
        return None
    return Message(role="tool", content=tuple(blocks), opaque=LISTED)


def _read_block(block: Mapping[str, Any]) -> Content | None:
    kind, size = block.get("type"), len(block)
    if kind == "text" and size == 2:
        text = block.get("text")
        return Text(text=text) if type(text) is str and _says(text) else None
    if kind == "tool_use" and size == 4:
        id, name, input = block.get("id"), block.get("name"), block.get("input")
        if type(id) is str and id and type(name) is str and type(input) is JsonText:
            return ToolCall(id=id, name=name, arguments=str(input))
    if kind == "tool_result" and size == 3:
        id, text = block.get("tool_use_id"), block.get("content")
        if type(id) is str and type(text) is str and _says(text):
            return ToolResult(call_id=id, content=(Text(text=text),))
    return None


def _says(text: str) -> bool:
    """Whether a text is neither empty nor white space."""
    return bool(text) and not text.isspace()


def write_turn(message: Message) -> Bag | None:
    """A bare turn of one text that says something."""
    role, content = message.role, message.content
    if len(content) != 1 or (role != "user" and role != "assistant"):
        return None
    text = text_of(content[0], WIRE)
    return {"role": role, "content": text} if text and not text.isspace() else None


def write_text(block: Content) -> Bag | None:
    """A text that says something."""
    text = text_of(block, WIRE)
    return {"type": "text", "text": text} if text and not text.isspace() else None


def write_call(call: ToolCall) -> Bag | None:
    """A call whose arguments are a JSON object."""
    if not is_call(call, WIRE):
        return None
    input = call.arguments.strip()
    if not jsonio.is_object(input, AROUND):
        return None
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": msgspec.Raw(input)}


def write_result(result: ToolResult) -> Bag | None:
    """A result of one text that says something."""
    text = text_of_result(result, WIRE)
    if not text or text.isspace():
        return None
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": text}


def read_tool(item: Any) -> Tool | None:
    """A function."""
    return read_definition(item, "input_schema", 0) if type(item) is dict else None


def write_tools(request: Request) -> list[Bag] | None:
    """All tools, where each is a function and the choice leaves none of them out."""
    if request.tool_choice is not None and request.tool_choice.names:
        return None
    written = [write_tool(tool) for tool in request.tools or ()]
    return None if None in written else written  # type: ignore[return-value]


def write_tool(tool: Tool | HostedTool) -> Bag | None:
    """A function."""
    return write_definition(tool, "input_schema", WIRE)
