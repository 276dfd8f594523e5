"""Tool definitions, tool choice and output form of a chat request, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool, ToolChoice
from dragoman.wire.base import Fields, Notes
from dragoman.wire.caching import spelling_of, take_cache, write_cache
from dragoman.wire.chat import plain
from dragoman.wire.chat.calls import is_legacy
from dragoman.wire.chat.parts import WIRE, own_nested
from dragoman.wire.glance import Glance
from dragoman.wire.hoisting import FROM_THE_START, Placed, changes, hoisted
from dragoman.wire.jsonio import refuse

MODES = ("auto", "none", "required")


def take_tools(fields: Fields) -> tuple[Tool | HostedTool, ...] | None:
    """`tools`, or the legacy `functions`, off a body; an empty array stays a leftover."""
    tools: list[Tool | HostedTool] = []
    for key, decode in (("tools", decode_tool), ("functions", _decode_legacy)):
        items = fields.left.get(key)
        if isinstance(items, list) and items:
            del fields.left[key]
            tools += [decode(item, (key, at)) for at, item in enumerate(items)]
    return tuple(tools) or None


def decode_tool(item: Any, path: Path) -> Tool | HostedTool:
    """One entry of `tools`; a type this wire does not define is the provider's own, kept whole."""
    tool = plain.read_tool(item)
    if tool is not None:
        return tool
    if not isinstance(item, dict):
        refuse("expected a tool (an object)", *path)
    kind = item.get("type")
    if "input_schema" in item and "function" not in item:
        refuse("a tool with `input_schema` is of the messages wire: send this body there", *path)
    if isinstance(item.get("function"), dict) and kind != "function":
        if "type" in item:
            refuse("a tool with a `function` object has the type 'function'", *path, "type")
        kind = "function"  # many servers take it unsaid
    if kind in ("function", "custom") and isinstance(item.get(kind), dict):
        fields = Fields(item)
        if fields.left.pop("type", None) is None:
            fields.marks["type"] = "absent"
        inner = Fields(fields.left.pop(kind))
        name = inner.take("name", str)
        if name is None:
            refuse("expected the name of the tool", *path, kind, "name")
        values = _definition(inner)
        cache = take_cache(fields)
        if cache is not None:
            fields.marks["cache"] = "cache_control"
        if inner.left:
            fields.left[f"~{kind}"] = inner.left
        return Tool(name=name, kind=kind, cache=cache, opaque=fields.opaque(WIRE), **values)
    if kind == "function":
        refuse("expected a `function` object; a flat tool is of the responses wire", *path)
    return HostedTool(wire=WIRE, kind=str(kind), payload=item)


def encode_tool(tool: Tool | HostedTool, dialect: Dialect, notes: Notes, path: Path) -> dict[str, Any] | None:
    """One entry of `tools`; None, with a note, for a tool that another wire's provider runs."""
    if isinstance(tool, HostedTool):
        if tool.wire == WIRE:
            return tool.payload
        notes.add(path, "dropped", f"tool {tool.kind!r} is run by a provider of the {tool.wire} wire")
        return None
    notes.leftovers(tool.opaque, WIRE, path)
    if tool.namespace is not None:
        notes.add(
            (*path, "namespace"), "dropped", "the chat wire has no namespaces: a call gets its own back", loss=False
        )
    out: dict[str, Any] = {"type": tool.kind, tool.kind: restore(_define(tool), own_nested(tool, tool.kind))}
    if marks(tool.opaque, WIRE).get("type") == "absent":
        del out["type"]
    if tool.cache is not None:
        spelling = spelling_of(tool.opaque, WIRE, dialect)
        if spelling is None:
            notes.add((*path, "cache"), "dropped", "this server is told no cache hints")
        else:
            out |= write_cache(tool.cache, spelling)
    return restore(out, bag(tool.opaque, WIRE))


def put_tools(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes, seen: Glance) -> None:
    """Write the tools, those that appear in mid-conversation among them, since this wire has one list only."""
    added = _hoisted(request, notes, seen)
    plainly = None if added or not request.tools else plain.write_tools(request.tools)
    if plainly is not None:
        out["tools"] = plainly
        return
    tools: list[Placed] = [*((("tools", at), tool) for at, tool in enumerate(request.tools or ())), *added]
    if tools and all(isinstance(tool, Tool) and tool.opaque is not None and is_legacy(tool) for _, tool in tools):
        out["functions"] = [restore(_define(tool), bag(tool.opaque, WIRE)) for _, tool in tools]
        return
    written = [plain.write_tool(tool) or encode_tool(tool, dialect, notes, path) for path, tool in tools]
    entries = [entry for entry in written if entry is not None]
    if entries:
        out["tools"] = entries


def take_choice(fields: Fields) -> ToolChoice | None:
    """`tool_choice`, or the legacy `function_call`; a form we do not know stays a leftover."""
    for key in ("tool_choice", "function_call"):
        if key not in fields.left:
            continue
        choice = _decode_choice(fields.left[key], legacy=key == "function_call")
        if choice is not None:
            del fields.left[key]
            return choice
    return None


def put_choice(out: dict[str, Any], request: Request) -> None:
    """Write the choice: five intents, each in this wire's form."""
    choice = request.tool_choice
    if choice is None:
        return
    spelled = marks(choice.opaque, WIRE)
    if spelled.get("legacy"):
        out["function_call"] = {"name": choice.names[0]} if choice.names else choice.mode
        return
    if not choice.names:
        out["tool_choice"] = choice.mode
        return
    custom = {tool.name for tool in request.tools or () if isinstance(tool, Tool) and tool.kind == "custom"}
    entries = [_name_one(name, "custom" if name in custom else "function") for name in choice.names]
    if choice.mode == "required" and len(entries) == 1 and not spelled.get("allowed"):
        out["tool_choice"] = entries[0]
    else:
        allowed = {"mode": choice.mode or "auto", "tools": entries}
        out["tool_choice"] = {"type": "allowed_tools", "allowed_tools": allowed}


def take_output(fields: Fields) -> Output | None:
    """`response_format` of one of the three kinds; anything else stays a leftover."""
    form = fields.left.get("response_format")
    if not isinstance(form, dict):
        return None
    kind = {"text": "text", "json_object": "json", "json_schema": "schema"}.get(str(form.get("type")))
    nested = form.get("json_schema") if kind == "schema" else {}
    if kind is None or not isinstance(nested, dict):
        return None
    outer, inner = Fields(form), Fields(nested)
    if kind == "schema":
        del outer.left["json_schema"]
    del fields.left["response_format"], outer.left["type"]
    values = {
        "name": inner.take("name", str),
        "schema": inner.take("schema", dict),
        "strict": inner.take("strict", bool),
        "description": inner.take("description", str),
    }
    if kind == "schema" and values["name"] is None:
        outer.marks["name"] = "absent"
    if inner.left:
        outer.left["~json_schema"] = inner.left
    return Output(kind=kind, opaque=outer.opaque(WIRE), **values)  # type: ignore[arg-type]


def put_output(out: dict[str, Any], output: Output | None, notes: Notes) -> None:
    """Write `response_format`."""
    if output is None:
        return
    notes.leftovers(output.opaque, WIRE, ("output",))
    if output.kind != "schema":
        form: dict[str, Any] = {"type": "text" if output.kind == "text" else "json_object"}
    else:
        said = {
            "name": output.name,
            "description": output.description,
            "schema": output.schema,
            "strict": output.strict,
        }
        inner = {key: value for key, value in said.items() if value is not None}
        if output.name is None and marks(output.opaque, WIRE).get("name") != "absent":
            inner = {"name": "output", **inner}
            notes.add(("output", "name"), "synthesised", "the chat wire wants a name for a schema", loss=False)
        form = {"type": "json_schema", "json_schema": restore(inner, own_nested(output, "json_schema"))}
    out["response_format"] = restore(form, bag(output.opaque, WIRE))


def _definition(inner: Fields) -> dict[str, Any]:
    return {
        "description": inner.take("description", str),
        "parameters": inner.take("parameters", dict),
        "strict": inner.take("strict", bool),
    }


def _define(tool: Any) -> dict[str, Any]:
    said = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }
    return {key: value for key, value in said.items() if value is not None}


def _decode_legacy(item: Any, path: Path) -> Tool:
    if not isinstance(item, dict):
        refuse("expected a function (an object)", *path)
    fields = Fields(item)
    name = fields.take("name", str)
    if name is None:
        refuse("expected the name of the function", *path, "name")
    values = _definition(fields)
    fields.marks["legacy"] = True
    return Tool(name=name, opaque=fields.opaque(WIRE), **values)


def _hoisted(request: Request, notes: Notes, seen: Glance) -> list[Placed]:
    found = changes(request, seen)
    for path, block in found:
        if block.remove:
            notes.add((*path, "remove"), "dropped", "the chat wire cannot take tools away in mid-conversation")
        if block.names:
            notes.add((*path, "names"), "moved", FROM_THE_START, loss=False)
    return hoisted(found, request, notes)


def _decode_choice(value: Any, *, legacy: bool) -> ToolChoice | None:
    opaque = {WIRE: {"~": {"legacy": True}}} if legacy else None
    if value in MODES:
        return ToolChoice(mode=value, opaque=opaque)
    if not isinstance(value, dict):
        return None
    if legacy and set(value) == {"name"} and isinstance(value["name"], str):
        return ToolChoice(mode="required", names=(value["name"],), opaque=opaque)
    name = _named(value)
    if name is not None:
        return ToolChoice(mode="required", names=(name,))
    allowed = value.get("allowed_tools")
    plain = set(value) == {"type", "allowed_tools"} and value["type"] == "allowed_tools"
    if plain and isinstance(allowed, dict) and set(allowed) == {"mode", "tools"}:
        entries: Sequence[Any] = allowed["tools"] if isinstance(allowed["tools"], list) else ()
        names = [_named(entry) for entry in entries]
        if names and None not in names and allowed["mode"] in ("auto", "required"):
            return ToolChoice(
                mode=allowed["mode"],
                names=msgspec.convert(names, tuple[str, ...]),
                opaque={WIRE: {"~": {"allowed": True}}},
            )
    return None


def _named(value: Any) -> str | None:
    if isinstance(value, dict) and value.get("type") in ("function", "custom"):
        inner = value.get(value["type"])
        if set(value) == {"type", value["type"]} and isinstance(inner, dict) and set(inner) == {"name"}:
            return inner["name"] if isinstance(inner["name"], str) else None
    return None


def _name_one(name: str, kind: str) -> dict[str, Any]:
    return {"type": kind, kind: {"name": name}}
