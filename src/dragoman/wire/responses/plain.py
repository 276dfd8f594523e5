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
    is_tool,
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


def read_said(item: Mapping[str, Any]) -> Message | None:
    """A message of one text that a person or a program said."""
    role, content = item.get("role"), item.get("content")
    if len(item) == 2 and role in SPEAKERS and type(content) is str:
        return Message(role=role, content=(Text(text=content),))
    return None


def read_words(item: Mapping[str, Any]) -> Text | None:
    """A message of one text that a model said; its item has no fields of its own."""
    content = item.get("content")
    if len(item) == 2 and item.get("role") == "assistant" and type(content) is str:
        return Text(text=content, opaque={WIRE: {ITEM: {}}})
    return None


def read_call(item: Mapping[str, Any]) -> ToolCall | None:
    """A call of a function."""
    if len(item) != 4 or item.get("type") != "function_call":
        return None
    id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is str and id and type(name) is str and type(arguments) is str:
        return ToolCall(id=id, name=name, arguments=arguments)
    return None


def read_output(item: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> Message | None:
    """The result of a function, as text."""
    if len(item) != 3 or item.get("type") != OUTPUT:
        return None
    id, output = item.get("call_id"), item.get("output")
    if type(id) is not str or type(output) is not str or not output or answer_type(calls.get(id), "function") != OUTPUT:
        return None
    return Message(role="tool", content=(ToolResult(call_id=id, content=(Text(text=output),)),))


def is_bare(message: Message) -> bool:
    """Whether a message says nothing beside its role and content."""
    if message.name is not None or message.prefill:
        return False
    return message.opaque is None or is_silent(message.opaque, WIRE)


def write_items(message: Message, calls: Mapping[str, ToolCall]) -> list[Bag] | None:
    """The items of a user's one text, of an assistant's texts and calls, or of results; the message is bare."""
    content = message.content
    match message.role:
        case "user" if len(content) == 1 and (text := text_of(content[0], WIRE)) is not None:
            return [{"role": "user", "content": text}]
        case "assistant" if content:
            return _all([_write_said(block) for block in content])
        case "tool" if content:
            return _all([_write_result(block, calls) for block in content])
        case _:
            return None


def _all(items: list[Bag | None]) -> list[Bag] | None:
    return None if None in items else items  # type: ignore[return-value]


def _write_said(block: Content) -> Bag | None:
    if is_call(block, WIRE):
        return {"call_id": block.id, "type": "function_call", "name": block.name, "arguments": block.arguments}
    text = text_of(block, WIRE)
    return None if text is None else {"type": "message", "role": "assistant", "content": text}


def _write_result(block: Content, calls: Mapping[str, ToolCall]) -> Bag | None:
    text = text_of_result(block, WIRE)
    if text is None or not isinstance(block, ToolResult):
        return None
    if answer_type(calls.get(block.call_id), "function") != OUTPUT:
        return None
    return {"type": OUTPUT, "call_id": block.call_id, "output": text}


def read_tool(item: Mapping[str, Any]) -> Tool | None:
    """A function that says whether it is strict."""
    if item.get("type") != "function" or "strict" not in item:
        return None
    return read_definition(dict(item), "parameters", 1)


def write_tool(tool: Tool | HostedTool) -> Bag | None:
    """A function; strictness must be said here."""
    if not is_tool(tool, WIRE) or not isinstance(tool, Tool):
        return None
    return {"type": "function", **write_definition(tool, "parameters"), "strict": tool.strict or False}
