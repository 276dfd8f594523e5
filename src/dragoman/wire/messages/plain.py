"""The short way of plain turns and blocks, in both directions: what `turns` and `history` give for them, or None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, Opaque
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire import jsonio
from dragoman.wire.messages.calls import JsonText
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.plain import (
    is_call,
    is_silent,
    is_tool,
    read_definition,
    text_of,
    text_of_result,
    write_definition,
)


def read_turn(item: Any, before: Sequence[Message]) -> Message | None:
    """A turn of one text, or of plain blocks: a user's, an assistant's, or one of results."""
    if type(item) is not dict or len(item) != 2:
        return None
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant"):
        return None
    if type(content) is str:
        return Message(role=role, content=(Text(text=content),)) if content.strip() else None
    if type(content) is not list or not content:
        return None
    blocks: list[Content] = []
    results = 0
    for block in content:
        read = read_block(block) if type(block) is dict else None
        if read is None:
            return None
        results += type(read) is ToolResult
        blocks.append(read)
    if results and role == "user":
        if results < len(blocks) or (before and before[-1].role == "tool"):
            return None
        role = "tool"
    return Message(role=role, content=tuple(blocks), opaque=_listed())


def read_block(block: Mapping[str, Any]) -> Text | ToolCall | ToolResult | None:
    """A text, a call or a result."""
    kind, size = block.get("type"), len(block)
    if kind == "text" and size == 2:
        return _read_text(block)
    if kind == "tool_use" and size == 4:
        id, name, input = block.get("id"), block.get("name"), block.get("input")
        if type(id) is str and id and type(name) is str and type(input) is JsonText:
            return ToolCall(id=id, name=name, arguments=str(input))
    if kind == "tool_result" and size == 3:
        return _read_result(block)
    return None


def _read_text(part: Any) -> Text | None:
    text = part.get("text") if type(part) is dict and len(part) == 2 and part.get("type") == "text" else None
    return Text(text=text) if type(text) is str and text.strip() else None


def _read_result(block: Mapping[str, Any]) -> ToolResult | None:
    id, content = block.get("tool_use_id"), block.get("content")
    if type(id) is not str:
        return None
    if type(content) is str:
        return ToolResult(call_id=id, content=(Text(text=content),)) if content.strip() else None
    if type(content) is not list:
        return None
    texts = [_read_text(part) for part in content]
    kept = tuple(text for text in texts if text is not None)
    return ToolResult(call_id=id, content=kept, opaque=_listed()) if len(kept) == len(texts) else None


def _listed() -> Opaque:
    return {WIRE: {"~": {"content": "list"}}}


def is_bare(message: Message) -> bool:
    """Whether a message says nothing beside its role and content."""
    return message.name is None and (message.opaque is None or is_silent(message.opaque, WIRE))


def write_turn(message: Message) -> Bag | None:
    """A bare turn of one text that says something."""
    if len(message.content) != 1:
        return None
    text = text_of(message.content[0], WIRE)
    return {"role": message.role, "content": text} if text and not text.isspace() else None


def write_text(block: Content) -> Bag | None:
    """A text that says something."""
    text = text_of(block, WIRE)
    return {"type": "text", "text": text} if text and not text.isspace() else None


def write_call(call: ToolCall) -> Bag | None:
    """A call whose arguments are a JSON object."""
    if not is_call(call, WIRE):
        return None
    input = call.arguments.strip().encode("utf-8", "replace")
    if not jsonio.is_object(input):
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


def write_tool(tool: Tool | HostedTool) -> Bag | None:
    """A function."""
    return write_definition(tool, "input_schema") if isinstance(tool, Tool) and is_tool(tool, WIRE) else None
