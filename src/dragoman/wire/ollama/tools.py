"""Tools, the form of the answer and how hard to think, in both directions."""

from __future__ import annotations

from typing import Any

from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, nested, restore
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Fields, Notes
from dragoman.wire.hoisting import FROM_THE_START, Placed, changes, hoisted
from dragoman.wire.jsonio import refuse
from dragoman.wire.ollama.calls import NESTED
from dragoman.wire.ollama.stops import WIRE

EFFORTS = ("low", "medium", "high")
OFF = "none"  # the effort that turns thinking off
NEAREST = {"minimal": "low", "xhigh": "high", "max": "high"}


def take_tools(fields: Fields) -> tuple[Tool | HostedTool, ...] | None:
    """`tools` off a body; an empty array stays a leftover."""
    items = fields.left.get("tools")
    if not isinstance(items, list) or not items:
        return None
    del fields.left["tools"]
    return tuple(_decode_tool(item, ("tools", at)) for at, item in enumerate(items))


def put_tools(out: dict[str, Any], request: Request, notes: Notes) -> None:
    """Write the tools, those that appear in mid-conversation among them, since this wire has one list only."""
    tools: list[Placed] = [(("tools", at), tool) for at, tool in enumerate(request.tools or ())]
    found = changes(request)
    for path, block in found:
        if block.remove:
            notes.add((*path, "remove"), "dropped", "this wire cannot take tools away in mid-conversation")
        if block.names:
            notes.add((*path, "names"), "moved", FROM_THE_START, loss=False)
    tools += hoisted(found, request, notes)
    written = [_encode_tool(tool, notes, path) for path, tool in tools]
    entries = [entry for entry in written if entry is not None]
    if entries:
        out["tools"] = entries
    choice = request.tool_choice
    if choice is not None:
        notes.add(("tool_choice",), "dropped", "this wire has no choice of tools", loss=choice.mode != "auto")


def take_output(fields: Fields) -> Output | None:
    """`format`: "json", or a schema as it stands; anything else stays a leftover."""
    form = fields.left.get("format")
    if form != "json" and not (isinstance(form, dict) and form):
        return None
    del fields.left["format"]
    return Output(kind="json") if form == "json" else Output(kind="schema", schema=form)


def put_output(out: dict[str, Any], output: Output | None, notes: Notes) -> None:
    """Write `format`; text is what comes unasked."""
    if output is None:
        return
    notes.leftovers(output.opaque, WIRE, ("output",))
    for field in ("name", "strict", "description"):
        value = getattr(output, field)
        if value is not None:
            notes.add(("output", field), "dropped", f"a schema has no {field} here", loss=bool(value))
    if output.kind == "text":
        notes.add(("output", "kind"), "dropped", "text is what comes unasked", loss=False)
    elif output.kind == "schema" and output.schema:
        out["format"] = output.schema
    else:
        out["format"] = "json"
        if output.kind == "schema":
            notes.add(("output",), "substituted", "a schema that says nothing is any JSON", loss=False)


def take_effort(fields: Fields) -> str | None:
    """`think`: false is no effort, a word is one; true says only that it thinks, and stays a leftover."""
    if fields.left.get("think") is False:
        del fields.left["think"]
        return OFF
    return fields.choice("think", EFFORTS) if isinstance(fields.left.get("think"), str) else None


def put_effort(out: dict[str, Any], request: Request, notes: Notes) -> None:
    """Write `think`: three words, off, or on where the word is another."""
    effort = request.effort
    if effort is None:
        return
    out["think"] = False if effort == OFF else effort if effort in EFFORTS else NEAREST.get(effort, True)
    if effort != OFF and effort not in EFFORTS:
        notes.add(("effort",), "substituted", f"this wire has no effort {effort!r}")


def _decode_tool(item: Any, path: Path) -> Tool | HostedTool:
    """One entry of `tools`; a type this wire does not define is kept whole."""
    if not isinstance(item, dict):
        refuse("expected a tool (an object)", *path)
    nested = item.get("function")
    if not isinstance(nested, dict):
        return HostedTool(wire=WIRE, kind=str(item.get("type")), payload=item)
    fields, inner = Fields(item), Fields(nested)
    del fields.left["function"]
    if fields.left.get("type") == "function":
        del fields.left["type"]
    else:
        fields.marks["type"] = "absent"
    name = inner.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, "function", "name")
    description, parameters = inner.take("description", str), inner.take("parameters", dict)
    if inner.left:
        fields.left[NESTED] = inner.left
    return Tool(name=name, description=description, parameters=parameters, opaque=fields.opaque(WIRE))


def _encode_tool(tool: Tool | HostedTool, notes: Notes, path: Path) -> dict[str, Any] | None:
    if isinstance(tool, HostedTool):
        if tool.wire == WIRE:
            return tool.payload
        notes.add(path, "dropped", f"tool {tool.kind!r} is run by a provider of the {tool.wire} wire")
        return None
    if tool.kind == "custom":
        notes.add(path, "dropped", "this wire has no tools that take free text")
        return None
    notes.leftovers(tool.opaque, WIRE, path)
    for field in ("strict", "cache", "namespace"):
        value = getattr(tool, field)
        if value is not None:
            loss = bool(value) and field != "namespace"  # a call gets its own back
            notes.add((*path, field), "dropped", f"this wire has no {field} on tools", loss=loss)
    said = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    function = {key: value for key, value in said.items() if value is not None}
    out: dict[str, Any] = {} if marks(tool.opaque, WIRE).get("type") == "absent" else {"type": "function"}
    out["function"] = restore(function, nested(bag(tool.opaque, WIRE), NESTED))
    return restore(out, bag(tool.opaque, WIRE))
