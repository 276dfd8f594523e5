"""The short way of plain chat messages, in both directions: what `turns` and `history` give for them, or None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.chat.calls import Asked
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.plain import (
    is_call,
    is_silent,
    read_definition,
    text_of,
    text_of_result,
    write_definition,
)

INSTRUCTING = ("system", "developer")
SPEAKERS = ("system", "developer", "user")


def read_message(item: Mapping[str, Any], asked: Asked) -> Message | None:
    """A message of one text; an assistant's with calls, or a result."""
    role: Any = item.get("role")
    content, size = item.get("content"), len(item)
    if size == 2:
        if type(content) is str and (role in SPEAKERS or (role == "assistant" and content)):
            return Message(role=role, content=(Text(text=content),))
    elif size != 3:
        return None
    elif role == "tool":
        id = item.get("tool_call_id")
        if type(content) is str and content and type(id) is str:
            result = ToolResult(call_id=id, content=(Text(text=content),), kind=asked.kind_of(id))
            return Message(role="tool", content=(result,))
    elif role == "assistant" and "content" in item:
        calls = read_calls(item.get("tool_calls"))
        if calls is not None and content is None:
            return Message(role="assistant", content=calls, opaque={WIRE: {"content": None}})
        if calls is not None and type(content) is str and content:
            return Message(role="assistant", content=(Text(text=content), *calls))
    return None


def read_calls(items: Any) -> tuple[ToolCall, ...] | None:
    """Calls of functions."""
    if type(items) is not list or not items:
        return None
    calls: list[ToolCall] = []
    for item in items:
        if type(item) is not dict or len(item) != 3 or item.get("type") != "function":
            return None
        id, function = item.get("id"), item.get("function")
        if type(id) is not str or not id or type(function) is not dict or len(function) != 2:
            return None
        name, arguments = function.get("name"), function.get("arguments")
        if type(name) is not str or type(arguments) is not str:
            return None
        calls.append(ToolCall(id=id, name=name, arguments=arguments))
    return tuple(calls)


def write_message(message: Message, dialect: Dialect) -> Bag | None:
    """One text, of a program too where the dialect has no word in that; an assistant's, with or without calls."""
    role, content, opaque = message.role, message.content, message.opaque
    if not content or message.name is not None or message.prefill is not None:
        return None
    if opaque is not None and not is_silent(opaque, WIRE):
        return None
    text = text_of(content[0], WIRE)
    if text is not None and len(content) == 1:
        instructs = role in INSTRUCTING and (dialect.one_system_message or dialect.instruction_role not in (None, role))
        return None if instructs else {"role": role, "content": text}
    calls = write_calls(content if text is None else content[1:]) if role == "assistant" else None
    if calls is None:
        return None
    if text is None and dialect.empty_content != "null":
        text = ""
    return {"role": "assistant", "content": text, "tool_calls": calls}


def write_results(message: Message) -> list[Bag] | None:
    """The results of a tool message, one written message each."""
    if message.opaque is not None and not is_silent(message.opaque, WIRE):
        return None
    out: list[Bag] = []
    for block in message.content:
        text = text_of_result(block, WIRE)
        if text is None:
            return None
        out.append({"role": "tool", "tool_call_id": block.call_id, "content": text})  # type: ignore[union-attr]
    return out


def write_calls(blocks: Sequence[Content]) -> list[Bag] | None:
    """Calls of functions."""
    out: list[Bag] = []
    for call in blocks:
        if not is_call(call, WIRE):
            return None
        out.append({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
    return out


def read_tool(item: Any) -> Tool | None:
    """A function."""
    if type(item) is not dict or len(item) != 2 or item.get("type") != "function":
        return None
    function = item.get("function")
    return read_definition(function, "parameters", 0) if type(function) is dict else None


def write_tools(tools: Iterable[Tool | HostedTool]) -> list[Bag] | None:
    """All tools, where each is a function."""
    written = [write_tool(tool) for tool in tools]
    return None if None in written else written  # type: ignore[return-value]


def write_tool(tool: Tool | HostedTool) -> Bag | None:
    """A function."""
    definition = write_definition(tool, "parameters", WIRE)
    return None if definition is None else {"type": "function", "function": definition}
