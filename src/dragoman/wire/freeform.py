"""The form of a custom tool's free text, a grammar for instance, in the spelling of each wire that has such tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.types.request import Request
from dragoman.types.tool import Tool

FORM = "format"
NESTED = "~custom"  # where the leftovers of a chat tool's `custom` object stand
OTHER = {"chat": "responses", "responses": "chat"}


def respelled(request: Request, to: str) -> Request:
    """`request` whose custom tools say their form as the wire `to` does, where another wire's client said it; a form that is
    not of the known kinds stays what it is, a leftover of its own wire."""
    if to not in OTHER or not any(_is_custom(tool) for tool in request.tools or ()):
        return request
    return replace(
        request, tools=tuple(_respelled(tool, to) if _is_custom(tool) else tool for tool in request.tools or ())
    )


def _is_custom(tool: object) -> bool:
    return type(tool) is Tool and tool.kind == "custom"


def _respelled(tool: Any, to: str) -> Tool:
    said: dict[str, Any] = dict(tool.opaque or {})
    left = dict(said.get(OTHER[to], {}))
    inner = left if to == "chat" else dict(left.get(NESTED, {}))
    form = _form(inner.pop(FORM, None), to)
    if form is None:
        return tool
    if to == "chat":
        said[to] = {**said.get(to, {}), NESTED: {**said.get(to, {}).get(NESTED, {}), FORM: form}}
    else:
        said[to] = {**said.get(to, {}), FORM: form}
        left = {key: item for key, item in {**left, NESTED: inner}.items() if key != NESTED or item}
    said[OTHER[to]] = left
    return replace(tool, opaque={wire: bag for wire, bag in said.items() if bag})


def _form(said: Any, to: str) -> Mapping[str, Any] | None:
    """A form of the other wire as this one says it; None for one that is not whole."""
    if said == {"type": "text"}:
        return said
    grammar = said if to == "chat" else said.get("grammar") if isinstance(said, dict) else None
    if not isinstance(said, dict) or said.get("type") != "grammar" or not isinstance(grammar, dict):
        return None
    rule = {key: value for key, value in grammar.items() if key != "type"}
    if {*rule} != {"syntax", "definition"} or not (to == "chat" or {*said} == {"type", "grammar"}):
        return None
    return {"type": "grammar", "grammar": rule} if to == "chat" else {"type": "grammar", **rule}
