"""The short way of plain items, in both directions: what `turns` and `history` give for them, or None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.plain import (
    is_call,
    is_silent,
    read_definition,
    text_of,
    text_of_result,
    write_definition,
)
from dragoman.wire.responses.calls import answer_type
from dragoman.wire.responses.parts import WIRE

SPEAKERS = ("system", "developer", "user")
ITEM = "~item"  # as in items.py
OUTPUT = "function_call_output"


def read_item(item: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> Message | Text | ToolCall | None:
    """What an item says: a message of one text, or the result of a function; a text or a call of the model's turn."""
    kind, size = item.get("type"), len(item)
    if kind == "function_call":
        return _read_call(item) if size == 4 else None
    if kind == OUTPUT:
        return _read_output(item, calls) if size == 3 else None
    content, role = item.get("content"), item.get("role")
    if type(content) is not str or not (size == 2 or (size == 3 and kind == "message")):
        return None
    left: Bag = {} if kind is None else {"type": kind}
    if role == "assistant":
        return Text(text=content, opaque={WIRE: {ITEM: left}})
    if role in SPEAKERS:
        return Message(role=role, content=(Text(text=content),), opaque={WIRE: left} if left else None)
    return None


def _read_call(item: Mapping[str, Any]) -> ToolCall | None:
    id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is str and id and type(name) is str and type(arguments) is str:
        return ToolCall(id=id, name=name, arguments=arguments)
    return None


def _read_output(item: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> Message | None:
    id, output = item.get("call_id"), item.get("output")
    if type(id) is not str or type(output) is not str or not output or answer_type(calls.get(id), "function") != OUTPUT:
        return None
    return Message(role="tool", content=(ToolResult(call_id=id, content=(Text(text=output),)),))


def write_instructions(message: Message) -> str | None:
    """One text, in a message that says nothing beside."""
    content, opaque = message.content, message.opaque
    if message.name is not None or message.prefill or (opaque is not None and not is_silent(opaque, WIRE)):
        return None
    return text_of(content[0], WIRE) if len(content) == 1 else None


def write_items(message: Message, calls: Mapping[str, ToolCall]) -> list[Bag] | None:
    """The items of a user's one text, of an assistant's texts and calls, or of results, in a message that says nothing
    beside."""
    role, content, opaque = message.role, message.content, message.opaque
    if message.name is not None or message.prefill or (opaque is not None and not is_silent(opaque, WIRE)):
        return None
    if role == "user":
        text = text_of(content[0], WIRE) if len(content) == 1 else None
        return None if text is None else [{"role": "user", "content": text}]
    out: list[Bag] = []
    for block in content:
        item = _write_said(block) if role == "assistant" else _write_result(block, calls) if role == "tool" else None
        if item is None:
            return None
        out.append(item)
    return out or None


def _write_said(block: Content) -> Bag | None:
    text = text_of(block, WIRE)
    if text is not None:
        return {"type": "message", "role": "assistant", "content": text}
    if is_call(block, WIRE):
        return {"call_id": block.id, "type": "function_call", "name": block.name, "arguments": block.arguments}
    return None


def _write_result(block: Content, calls: Mapping[str, ToolCall]) -> Bag | None:
    text = text_of_result(block, WIRE)
    if text is None or answer_type(calls.get(block.call_id), "function") != OUTPUT:  # type: ignore[union-attr]
        return None
    return {"type": OUTPUT, "call_id": block.call_id, "output": text}  # type: ignore[union-attr]


def read_tool(item: Any) -> Tool | None:
    """A function that says whether it is strict."""
    if type(item) is not dict or item.get("type") != "function" or "strict" not in item:
        return None
    return read_definition(item, "parameters", 1)


def write_tool(tool: Tool | HostedTool) -> Bag | None:
    """A function; strictness must be said here."""
    definition = write_definition(tool, "parameters", WIRE)
    if definition is None:
        return None
    out: Bag = {"type": "function", **definition}
    out.setdefault("strict", False)
    return out
