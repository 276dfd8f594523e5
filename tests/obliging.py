"""A model that does what it is asked, whoever asks: it calls the tool it is offered, keeps to a schema, thinks when told to, and
else says back what was said. A script for FakeProvider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dragoman.testing.script import echo, reply
from dragoman.types.content import Content, Reasoning, Text, ToolCall
from dragoman.types.reply import Reply, Usage
from dragoman.types.request import Request
from dragoman.types.tool import Tool

THOUGHT = "Let me think about that."
LEAST: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "null": None, "array": [], "string": "text"}


def oblige(request: Request) -> Reply:
    """The reply to a request."""
    thinks = bool(request.budget) or request.effort not in (None, "none")
    thought = (Reasoning(text=THOUGHT),) if thinks else ()
    usage = Usage(input=20, output=12, reasoning=6 if thinks else None)
    call = _call(request)
    if call is not None:
        return reply((*thought, call), "tool_calls", usage)
    return reply((*thought, _answer(request)), "end", usage)


def _call(request: Request) -> ToolCall | None:
    """A call of a tool that is offered, unless the last word was a result or calls are forbidden."""
    choice, tools = request.tool_choice, [tool for tool in request.tools or () if isinstance(tool, Tool)]
    named = choice.names if choice is not None else None
    tools = [tool for tool in tools if not named or tool.name in named]
    if not tools or (choice is not None and choice.mode == "none"):
        return None
    if request.messages and request.messages[-1].role == "tool" and (choice is None or choice.mode == "auto"):
        return None
    arguments = "text" if tools[0].kind == "custom" else json.dumps(least(tools[0].parameters or {"type": "object"}))
    return ToolCall(id=f"call_{len(request.messages)}", name=tools[0].name, arguments=arguments, kind=tools[0].kind)


def _answer(request: Request) -> Content:
    if request.output is None or request.output.kind == "text":
        return echo(request).message.content[0]
    return Text(text=json.dumps(least(request.output.schema or {"type": "object"})))


def least(schema: Mapping[str, Any]) -> Any:
    """The least value of a plain schema."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf"):
        return least(schema["anyOf"][0])
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: least(properties.get(name, {})) for name in schema.get("required", properties)}
    return LEAST[kind]
