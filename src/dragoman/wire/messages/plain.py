"""The short way of plain turns and blocks: what `history` writes for them, or None; and of tools, in both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.types.content import Content, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire import jsonio
from dragoman.wire.messages.calls import AROUND
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.plain import (
    is_call,
    is_tool,
    read_definition,
    text_of,
    text_of_result,
    write_definition,
)


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
    return write_definition(tool, "input_schema") if is_tool(tool, WIRE) else None
