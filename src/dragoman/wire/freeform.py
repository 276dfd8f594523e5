"""The form of a custom tool's free text, a grammar for instance, in the spelling of each wire that has such tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.types.content import ToolsChange
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, nested
from dragoman.types.request import Request
from dragoman.types.tool import Tool

FORM = "format"
NESTED = "~custom"  # where the leftovers of a chat tool's `custom` object stand
OTHER = {"chat": "responses", "responses": "chat"}
RULE = {"syntax", "definition"}  # what is said of a grammar: on the chat wire in an object of its own


def respelled(request: Request, said: str, to: str) -> Request:
    """`request`, said on one wire, whose custom tools, those of later turns too, say their form as the wire `to` does; a
    form that is not of the known kinds stays what it is, a leftover of its own wire."""
    if OTHER.get(said) != to:
        return request
    tools, messages = _all_respelled(request.tools, to), request.messages
    if ToolsChange in {type(block) for message in messages for block in message.content}:
        messages = tuple(_with_changes(message, to) for message in messages)
    if tools is request.tools and messages is request.messages:
        return request
    return replace(request, tools=tools, messages=messages)


def parted(tool: Tool) -> tuple[Tool, Bag | None]:
    """A custom tool without its form, and that form as the responses wire says it; the very tool and None where it has none
    of the known kinds."""
    for wire in OTHER:
        bag = (tool.opaque or {}).get(wire, {})
        holder = nested(bag, NESTED) if wire == "chat" else bag
        form = _flat(holder.get(FORM), wire)
        if form is not None:
            rest = {key: value for key, value in holder.items() if key != FORM}
            left = {**bag, NESTED: rest} if wire == "chat" else rest
            left = {key: value for key, value in left.items() if key != NESTED or value}
            bags = {name: said for name, said in {**(tool.opaque or {}), wire: left}.items() if said}
            return replace(tool, opaque=bags or None), form
    return tool, None


def _with_changes(message: Message, to: str) -> Message:
    content = tuple(
        replace(block, add=_all_respelled(block.add, to)) if isinstance(block, ToolsChange) else block
        for block in message.content
    )
    return replace(message, content=content)


def _all_respelled(tools: Any, to: str) -> Any:
    """The same tools; the very value where none is custom."""
    if not any(type(tool) is Tool and tool.kind == "custom" for tool in tools or ()):
        return tools
    return tuple(_respelled(tool, to) if _is_custom(tool) else tool for tool in tools)


def _is_custom(tool: object) -> bool:
    return type(tool) is Tool and tool.kind == "custom"


def _respelled(tool: Any, to: str) -> Tool:
    bare, form = parted(tool)
    if form is None:
        return tool
    bags: dict[str, Any] = dict(bare.opaque or {})
    bag = bags.get(to, {})
    if to == "responses":
        bags[to] = {**bag, FORM: form}
    else:
        rule = {key: value for key, value in form.items() if key in RULE}
        said = {"type": form["type"], **({form["type"]: rule} if rule else {})}
        bags[to] = {**bag, NESTED: {**nested(bag, NESTED), FORM: said}}
    return replace(bare, opaque=bags)


def _flat(said: Any, wire: str) -> Bag | None:
    """A form as the responses wire says it; None for one that is not whole, or of no known kind."""
    if said == {"type": "text"}:
        return said
    if not isinstance(said, dict) or said.get("type") != "grammar":
        return None
    rule = said.get("grammar") if wire == "chat" else {key: value for key, value in said.items() if key != "type"}
    if not isinstance(rule, dict) or {*rule} != RULE or (wire == "chat" and {*said} != {"type", "grammar"}):
        return None
    return {"type": "grammar", **rule} if all(isinstance(value, str) for value in rule.values()) else None
