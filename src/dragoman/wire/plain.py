"""What most conversations are made of: texts, calls and results that say nothing beside. Such values go a short way
through a codec (each wire's `plain.py`), and what comes out is the same (tests/laws/test_fast_paths.py)."""

from __future__ import annotations

from typing import TypeGuard

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.opaque import MARKS, Bag, Opaque
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.harmless import HARMLESS

NOTHING: frozenset[str] = frozenset()


def is_silent(opaque: Opaque | None, wire: str) -> bool:
    """Whether leftovers hold nothing that `wire` would write and nothing that it would note. False says nothing."""
    if not opaque:
        return True
    if wire in opaque:
        return False
    for other in opaque:
        left = opaque[other]
        for key in left:
            value = left[key]
            if value is None or key == MARKS:
                continue
            nested = type(value) is dict and key[:1] == MARKS
            if not nested or not HARMLESS.get(other, NOTHING).issuperset(value):
                return False
    return True


def text_of(block: Content, wire: str) -> str | None:
    """The text of a block that is only that."""
    if type(block) is not Text or block.cache is not None or block.citations is not None or block.phase is not None:
        return None
    return block.text if block.opaque is None or is_silent(block.opaque, wire) else None


def is_call(block: Content, wire: str) -> TypeGuard[ToolCall]:
    """Whether a block is a call of a function and says nothing beside its id, name and arguments."""
    if type(block) is not ToolCall or block.kind != "function" or block.namespace is not None:
        return False
    return block.cache is None and (block.opaque is None or is_silent(block.opaque, wire))


def text_of_result(block: Content, wire: str) -> str | None:
    """The text of a result of a function that says something, and nothing beside."""
    if type(block) is not ToolResult or len(block.content) != 1 or block.kind != "function":
        return None
    if block.name is not None or block.is_error is not None or block.cache is not None:
        return None
    text = text_of(block.content[0], wire)
    return text if text and (block.opaque is None or is_silent(block.opaque, wire)) else None


def read_definition(item: Bag, schema: str, beside: int) -> Tool | None:
    """A function from its flat definition, whose schema stands under `schema`; `beside` counts its other keys."""
    name, description, parameters = item.get("name"), item.get("description"), item.get(schema)
    if type(name) is not str or type(description) is not str or type(parameters) is not dict:
        return None
    size = len(item) - beside
    if size == 3:
        return Tool(name=name, description=description, parameters=parameters)
    strict = item.get("strict")
    if size == 4 and type(strict) is bool:
        return Tool(name=name, description=description, parameters=parameters, strict=strict)
    return None


def write_definition(tool: Tool | HostedTool, schema: str, wire: str) -> Bag | None:
    """What `read_definition` reads, of a function with a schema that says nothing beside."""
    if type(tool) is not Tool or tool.kind != "function" or tool.parameters is None or tool.namespace is not None:
        return None
    if tool.cache is not None or not (tool.opaque is None or is_silent(tool.opaque, wire)):
        return None
    out: Bag
    if tool.description is None:
        out = {"name": tool.name, schema: tool.parameters}
    else:
        out = {"name": tool.name, "description": tool.description, schema: tool.parameters}
    if tool.strict is not None:
        out["strict"] = tool.strict
    return out
