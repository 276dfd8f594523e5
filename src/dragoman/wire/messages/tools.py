"""Tool definitions, tool choice and output form of a messages request, in both directions."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import ToolsChange
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore, word
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool, ToolChoice
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.caching import take_cache, write_cache
from dragoman.wire.glance import Glance
from dragoman.wire.hoisting import Placed, changes, hoisted
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages import plain
from dragoman.wire.messages.parts import WIRE

NAME, NAME_LIMIT = "[a-zA-Z0-9_-]{1,128}", 128  # of a tool: dialects §1.3, §8d
MODES = {"auto": "auto", "any": "required", "none": "none", "tool": "required"}
WORDS = {"auto": "auto", "required": "any", "none": "none"}
OLD_FORM = "output_format"  # where the form of an answer stood before `output_config`
# What a custom tool takes here: its free text as the one argument of a function.
CUSTOM_SCHEMA = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def take_tools(fields: Fields) -> tuple[Tool | HostedTool, ...] | None:
    """`tools` off a body; an empty array stays a leftover."""
    items = fields.left.get("tools")
    if not isinstance(items, list) or not items:
        return None
    del fields.left["tools"]
    return tuple([plain.read_tool(item) or decode_tool(item, ("tools", at)) for at, item in enumerate(items)])


def decode_tool(item: Any, path: Path) -> Tool | HostedTool:
    """One entry of `tools`; a type this wire does not define is the provider's own, kept whole."""
    if not isinstance(item, dict):
        refuse("expected a tool (an object)", *path)
    kind = item.get("type")
    if isinstance(item.get("function"), dict):
        refuse("a tool with a `function` object is of the chat wire: send this body there", *path)
    if kind == "function":
        refuse("a flat tool of type 'function' is of the responses wire: send this body there", *path)
    if kind not in (None, "custom"):
        return HostedTool(wire=WIRE, kind=str(kind), payload=item)
    fields = Fields(item)
    if kind == "custom":
        fields.marks["type"] = fields.left.pop("type")
    name = fields.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, "name")
    values: dict[str, Any] = {
        "description": fields.take("description", str),
        "parameters": fields.take("input_schema", dict),
        "strict": fields.take("strict", bool),
        "cache": take_cache(fields),
    }
    if values["parameters"] is None and "input_schema" not in fields.left:
        fields.marks["input_schema"] = "absent"
    return Tool(name=name, opaque=fields.opaque(WIRE), **values)


def encode_tool(tool: Tool | HostedTool, notes: Notes, path: Path) -> dict[str, Any] | None:
    """One entry of `tools`; None, with a note, for a tool that another wire's provider runs."""
    written = plain.write_tool(tool)
    if written is not None:
        return written
    if isinstance(tool, HostedTool):
        if tool.wire == WIRE:
            return tool.payload
        notes.add(path, "dropped", f"tool {tool.kind!r} is run by a provider of the {tool.wire} wire")
        return None
    notes.leftovers(tool.opaque, WIRE, path)
    spelled, left = marks(tool.opaque, WIRE), own(tool.opaque, WIRE)
    out: dict[str, Any] = {"name": tool.name}
    if spelled.get("type"):
        out = {"type": "custom", **out}
    if tool.namespace is not None:
        notes.add(
            (*path, "namespace"), "dropped", "the messages wire has no namespaces: a call gets its own back", loss=False
        )
    if tool.description is not None:
        out["description"] = tool.description
    if tool.kind == "custom":
        notes.add((*path, "kind"), "substituted", "a tool that takes text became a function of one string, `input`")
        out["input_schema"] = CUSTOM_SCHEMA
    elif tool.parameters is not None:
        out["input_schema"] = tool.parameters
    elif "input_schema" not in left and spelled.get("input_schema") != "absent":
        out["input_schema"] = {"type": "object", "properties": {}}  # mandatory here; it says that there are none
    if tool.strict is not None:
        out["strict"] = tool.strict
    if tool.cache is not None:
        out |= write_cache(tool.cache)
    return restore(out, left)


def put_tools(out: dict[str, Any], request: Request, notes: Notes, seen: Glance | None = None) -> None:
    """Write the tools, those that another wire's client added in mid-conversation among them (`hoisted`)."""
    found = [(path, block) for path, block in changes(request, seen) if not is_inline(block)]
    written = None if found or not request.tools else plain.write_tools(request)
    if written is None:
        tools: list[Placed] = [(("tools", at), tool) for at, tool in enumerate(request.tools or ())]
        tools = _allowed(request, [*tools, *hoisted(found, request, notes)], notes)
        entries = (encode_tool(tool, notes, path) for path, tool in tools)
        written = [entry for entry in entries if entry is not None]
    if written:
        out["tools"] = written


def is_inline(block: ToolsChange) -> bool:
    """Whether this wire's client gave the definitions in the turn itself."""
    return bool(marks(block.opaque, WIRE).get("definition"))


def take_choice(fields: Fields) -> tuple[ToolChoice | None, bool | None]:
    """`tool_choice` as the choice and whether calls may run in parallel; a form we do not know stays a leftover."""
    value = fields.left.get("tool_choice")
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in MODES:
        return None, None
    inner = Fields(value)
    del inner.left["type"]
    name = inner.take("name", str) if kind == "tool" else None
    if kind == "tool" and name is None:
        return None, None
    serial = inner.take("disable_parallel_tool_use", bool)
    if serial is not None:
        inner.marks["parallel"] = True
    del fields.left["tool_choice"]
    mode: Any = MODES[kind]
    choice = ToolChoice(mode=mode, names=None if name is None else (name,), opaque=inner.opaque(WIRE))
    return choice, None if serial is None else not serial


def put_choice(out: dict[str, Any], request: Request, notes: Notes) -> None:
    """Write the choice in this wire's form; several names were filtered before."""
    choice = request.tool_choice
    form: dict[str, Any] | None = None
    if choice is not None:
        notes.leftovers(choice.opaque, WIRE, ("tool_choice",))
        form = {"type": WORDS[choice.mode or "auto"]}
        if choice.mode == "required" and len(choice.names or ()) == 1:
            form = {"type": "tool", "name": (choice.names or ("",))[0]}
    elif request.parallel_tools is False and out.get("tools"):
        form = {"type": "auto"}
    _put_parallel(form, request, notes)
    if form is not None:
        out["tool_choice"] = restore(form, bag(choice.opaque, WIRE)) if choice is not None else form


def _put_parallel(form: dict[str, Any] | None, request: Request, notes: Notes) -> None:
    """Whether calls may run in parallel is a key of the choice; that they may is what this wire does by itself."""
    parallel, choice = request.parallel_tools, request.tool_choice
    if parallel is None:
        return
    said = choice is not None and marks(choice.opaque, WIRE).get("parallel")
    if form is not None and (said or (not parallel and form["type"] != "none")):
        form["disable_parallel_tool_use"] = not parallel
    else:
        notes.add(("parallel_tools",), "dropped", "this wire says it only to forbid it, beside tools", loss=False)


def take_output(fields: Fields, config: Fields) -> Output | None:
    """`output_config.format`, or the older `output_format`; anything but a JSON schema stays a leftover."""
    for holder, key in ((config, "format"), (fields, OLD_FORM)):
        form = holder.left.get(key)
        if isinstance(form, dict) and form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
            del holder.left[key]
            inner = Fields(form)
            del inner.left["type"]
            if holder is fields:
                inner.marks["key"] = key
            return Output(kind="schema", schema=inner.take("schema", dict), opaque=inner.opaque(WIRE))
    return None


def put_output(
    out: dict[str, Any], config: dict[str, Any], output: Output | None, dialect: Dialect, notes: Notes
) -> None:
    """Write the form of the answer: this wire holds it to a schema, or not at all."""
    if output is None:
        return
    if output.kind == "text":
        notes.add(("output",), "dropped", "free text is what this wire gives by itself", loss=False)
        return
    notes.leftovers(output.opaque, WIRE, ("output",))
    if output.kind == "json" or output.schema is None:
        notes.add(("output",), "dropped", "this wire holds an answer to a schema, not to JSON of any form")
        return
    if "schema" not in dialect.json_modes:
        notes.add(("output",), "dropped", "this server holds no answer to a schema")
        return
    form: dict[str, Any] = {"type": "json_schema", "schema": output.schema}
    if output.name is not None:
        notes.add(("output", "name"), "dropped", "this wire has no name for a schema", loss=False)
    if output.description is not None:
        notes.add(("output", "description"), "dropped", "this wire has no description of a schema")
    if output.strict is not None:
        notes.add(("output", "strict"), "dropped", "this wire always holds to the schema", loss=False)
    key = word(marks(output.opaque, WIRE), "key", (OLD_FORM,))
    (out if key else config)[key or "format"] = restore(form, bag(output.opaque, WIRE))


def _allowed(request: Request, tools: list[Placed], notes: Notes) -> list[Placed]:
    """Only the tools that a choice of several names allows: this wire has no such form (dialects §2)."""
    choice = request.tool_choice
    if choice is None or not choice.names or (choice.mode == "required" and len(choice.names) == 1):
        return tools
    kept = [(path, tool) for path, tool in tools if not isinstance(tool, Tool) or tool.name in choice.names]
    if not any(isinstance(tool, Tool) for _, tool in kept):
        notes.add(("tool_choice", "names"), "dropped", "none of these tools is offered: the choice is among all")
        return tools
    reason = "this wire has no choice among several tools: the others are not offered"
    notes.add(("tool_choice", "names"), "substituted", reason, loss=False)
    for path, tool in tools:
        if isinstance(tool, Tool) and tool.name not in choice.names:
            notes.add(path, "dropped", "not among the tools that the choice allows: not offered", loss=False)
    return kept
