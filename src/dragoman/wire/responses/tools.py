"""Tool definitions, tool choice and output form of a Responses request, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.types.note import Path
from dragoman.types.opaque import bag, listed, marks, restore
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool, ToolChoice
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.jsonio import refuse
from dragoman.wire.responses import plain
from dragoman.wire.responses.parts import WIRE, own_nested, type_of

MODES = ("auto", "none", "required")
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
Tools = tuple[Tool | HostedTool, ...]


def take_tools(fields: Fields) -> Tools | None:
    """`tools` off a body; an empty array stays a leftover."""
    items = fields.left.get("tools")
    if not isinstance(items, list) or not items:
        return None
    del fields.left["tools"]
    return decode_tools(items, ())


def decode_tools(items: Sequence[Any], path: Path) -> Tools:
    """An array of tools; those of a namespace become tools that name it."""
    tools: list[Tool | HostedTool] = []
    for at, item in enumerate(items):
        tool = plain.read_tool(item)
        if tool is not None:
            tools.append(tool)
        else:
            tools += _decode_entry(item, (*path, "tools", at))
    return tuple(tools)


def encode_tools(tools: Sequence[Tool | HostedTool], notes: Notes, path: Path) -> list[dict[str, Any]]:
    """The array of `tools`; neighbours of one namespace are one entry."""
    out: list[dict[str, Any]] = []
    open_namespace: str | None = None
    for at, tool in enumerate(tools):
        entry = plain.write_tool(tool) or _encode_tool(tool, notes, (*path, at))
        if entry is None:
            continue
        namespace = tool.namespace if isinstance(tool, Tool) else None
        if namespace is None:
            out.append(entry)
        elif namespace == open_namespace and "~namespace" not in bag(tool.opaque, WIRE):
            out[-1]["tools"].append(entry)
        else:
            group = {"type": "namespace", "name": namespace, "tools": [entry]}
            out.append(restore(group, own_nested(tool, "namespace")))
        open_namespace = namespace
    return out


def put_tools(out: dict[str, Any], request: Request, notes: Notes) -> None:
    """Write `tools`."""
    entries = encode_tools(request.tools or (), notes, ("tools",))
    if entries:
        out["tools"] = entries


def take_choice(fields: Fields) -> ToolChoice | None:
    """`tool_choice`; a form we do not know (a hosted tool's) stays a leftover."""
    choice = _decode_choice(fields.left.get("tool_choice"))
    if choice is not None:
        del fields.left["tool_choice"]
    return choice


def put_choice(out: dict[str, Any], request: Request) -> None:
    """Write the choice: five intents, each in this wire's form."""
    choice = request.tool_choice
    if choice is None:
        return
    if not choice.names:
        out["tool_choice"] = choice.mode
        return
    spelled = marks(choice.opaque, WIRE)
    offered = {tool.name: str(tool.kind) for tool in request.tools or () if isinstance(tool, Tool)}
    kinds = [*(listed(spelled, "kinds", str) or ()), *(["function"] * len(choice.names))]
    entries = [{"type": offered.get(name, kind), "name": name} for name, kind in zip(choice.names, kinds, strict=False)]
    if choice.mode == "required" and len(entries) == 1 and not spelled.get("allowed"):
        out["tool_choice"] = entries[0]
    else:
        out["tool_choice"] = {"type": "allowed_tools", "mode": choice.mode or "auto", "tools": entries}


def take_text(fields: Fields) -> dict[str, Any]:
    """`text`: the output form and the verbosity, with what else stands there."""
    nested = fields.left.get("text")
    if not isinstance(nested, dict):
        return {}
    inner = Fields(nested)
    values = {"output": _take_output(inner), "verbosity": inner.take("verbosity", str)}
    keep_beside(fields, inner, "text", nested)
    return {key: value for key, value in values.items() if value is not None}


def keep_beside(fields: Fields, inner: Fields, key: str, said: Mapping[str, Any]) -> None:
    """Keep what is left of an object of which some keys are modelled, each key at its own place."""
    if said:
        del fields.left[key]
    if inner.left:
        fields.left[f"~{key}"] = inner.left


def put_text(out: dict[str, Any], request: Request, notes: Notes) -> None:
    """Write `text`."""
    text: dict[str, Any] = {}
    if request.output is not None:
        text["format"] = _encode_output(request.output, notes)
    if request.verbosity is not None:
        text["verbosity"] = request.verbosity
    put_beside(out, request, "text", text)


def put_beside(out: dict[str, Any], request: Request, key: str, said: dict[str, Any]) -> None:
    """Write an object of which some keys are modelled, with what else stood there, or is to stand there."""
    bags = bag(request.opaque, WIRE)
    nested, wanted = bags.get(f"~{key}"), bags.get(key)
    written = restore(said, nested) if isinstance(nested, dict) else said
    if written:
        out[key] = restore(written, wanted if isinstance(wanted, dict) else {})


def _decode_entry(item: Any, path: Path) -> list[Tool | HostedTool]:
    if not isinstance(item, dict):
        refuse("expected a tool (an object)", *path)
    kind = type_of(item)
    if "input_schema" in item:
        refuse("a tool with `input_schema` is of the messages wire: send this body there", *path)
    if isinstance(item.get("function"), dict):
        refuse("a tool with a `function` object is of the chat wire: send this body there", *path, "function")
    if kind in ("function", "custom"):
        return [_decode_tool(item, path)]
    if kind == "namespace" and isinstance(item.get("name"), str) and _are_ours(item.get("tools")):
        return _decode_namespace(item, path)
    return [HostedTool(wire=WIRE, kind=kind or "tool", payload=item)]


def _are_ours(members: Any) -> bool:
    """Whether the members of a namespace are tools that the caller runs, one at the least."""
    if not isinstance(members, list) or not members:
        return False
    return all(type_of(member) in ("function", "custom") for member in members)


def _decode_tool(item: Mapping[str, Any], path: Path, namespace: str | None = None) -> Tool:
    fields = Fields(item)
    kind = fields.left.pop("type")
    name = fields.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, "name")
    if kind == "function":
        for key in ("strict", "parameters"):
            if key not in fields.left:
                fields.marks[key] = "absent"
    return Tool(
        name=name,
        kind=kind,
        description=fields.take("description", str),
        parameters=fields.take("parameters", dict),
        strict=fields.take("strict", bool),
        namespace=namespace,
        opaque=fields.opaque(WIRE),
    )


def _decode_namespace(item: Mapping[str, Any], path: Path) -> list[Tool | HostedTool]:
    fields = Fields(item)
    del fields.left["type"]
    name, members = fields.left.pop("name"), fields.left.pop("tools")
    tools = [_decode_tool(member, (*path, "tools", at), name) for at, member in enumerate(members)]
    first = tools[0]
    opaque = {WIRE: {**bag(first.opaque, WIRE), "~namespace": fields.left}}
    return [msgspec.structs.replace(first, opaque=opaque), *tools[1:]]


def _encode_tool(tool: Tool | HostedTool, notes: Notes, path: Path) -> dict[str, Any] | None:
    if isinstance(tool, HostedTool):
        if tool.wire == WIRE:
            return tool.payload
        notes.add(path, "dropped", f"tool {tool.kind!r} is run by a provider of the {tool.wire} wire")
        return None
    notes.leftovers(tool.opaque, WIRE, path)
    left, spelled = own(tool.opaque, WIRE), marks(tool.opaque, WIRE)
    out: dict[str, Any] = {"type": tool.kind, "name": tool.name}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.parameters is not None:
        out["parameters"] = tool.parameters
    if tool.strict is not None:
        out["strict"] = tool.strict
    if tool.kind == "function":  # both must be said: what is left out is strict at the vendor (dialects §1.2)
        for key, default in (("parameters", NO_PARAMETERS), ("strict", False)):
            if key not in out and key not in left and spelled.get(key) != "absent":
                out[key] = default
    if tool.cache is not None:
        notes.add((*path, "cache"), "dropped", "the responses wire has no cache hint on tools")
    return restore(out, left)


def _decode_choice(value: Any) -> ToolChoice | None:
    if isinstance(value, str) and value in MODES:
        return ToolChoice(mode=value)  # type: ignore[arg-type]
    if not isinstance(value, dict):
        return None
    if _is_named(value):
        return ToolChoice(mode="required", names=(value["name"],), opaque=_kinds([value]))
    entries = value.get("tools")
    if value.get("type") != "allowed_tools" or set(value) != {"type", "mode", "tools"} or not isinstance(entries, list):
        return None
    if not entries or not all(_is_named(entry) for entry in entries) or value["mode"] not in ("auto", "required"):
        return None
    names = tuple(entry["name"] for entry in entries)
    marked = {**marks(_kinds(entries), WIRE), "allowed": True}
    return ToolChoice(mode=value["mode"], names=names, opaque={WIRE: {"~": marked}})


def _kinds(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The types by which tools were named, where one is not a function: the tools may not be there to tell."""
    kinds = [entry["type"] for entry in entries]
    return {WIRE: {"~": {"kinds": kinds}}} if "custom" in kinds else None


def _is_named(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"type", "name"}:
        return False
    return value["type"] in ("function", "custom") and isinstance(value["name"], str)


def _take_output(inner: Fields) -> Output | None:
    form = inner.left.get("format")
    if not isinstance(form, dict):
        return None
    kind = {"text": "text", "json_object": "json", "json_schema": "schema"}.get(str(form.get("type")))
    if kind is None:
        return None
    del inner.left["format"]
    fields = Fields(form)
    del fields.left["type"]
    if kind == "schema" and not isinstance(form.get("name"), str):
        fields.marks["name"] = "absent"
    values: dict[str, Any] = {}
    if kind == "schema":
        values = {
            "name": fields.take("name", str),
            "schema": fields.take("schema", dict),
            "strict": fields.take("strict", bool),
            "description": fields.take("description", str),
        }
    return Output(kind=kind, opaque=fields.opaque(WIRE), **values)  # type: ignore[arg-type]


def _encode_output(output: Output, notes: Notes) -> dict[str, Any]:
    notes.leftovers(output.opaque, WIRE, ("output",))
    left = own(output.opaque, WIRE)
    if output.kind != "schema":
        return restore({"type": "text" if output.kind == "text" else "json_object"}, left)
    said = {"name": output.name, "schema": output.schema, "strict": output.strict, "description": output.description}
    form: dict[str, Any] = {"type": "json_schema", **{key: value for key, value in said.items() if value is not None}}
    if output.name is None and marks(output.opaque, WIRE).get("name") != "absent":
        form["name"] = "output"
        notes.add(("output", "name"), "synthesised", "the responses wire wants a name for a schema", loss=False)
    return restore(form, left)
