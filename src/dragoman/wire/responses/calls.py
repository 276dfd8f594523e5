"""Calls and their results as Responses items, in both directions: functions, custom tools, and the vendor's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.types.content import HostedCall, HostedResult, ToolCall
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore, word
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.jsonio import refuse
from dragoman.wire.responses.parts import WIRE, type_of

# Item type → where its arguments stand: calls whose tool the vendor defined and the caller runs.
BUILTIN = {
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
}
# Item type → the type of the item that answers it.
ANSWERS = {
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
# Every type of item that answers a call.
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", *ANSWERS.values()})
SEVERAL = "actions"  # the key of a vendor's own call where it holds more than one
# Item type → the key of its text input, if it streams one: calls the provider runs, with their result in the same item.
HOSTED: dict[str, str | None] = {
    "web_search_call": None,
    "file_search_call": None,
    "image_generation_call": None,
    "code_interpreter_call": "code",
    "mcp_call": "arguments",
}
TEXT_KEYS = {"function": "arguments", "custom": "input"}


def is_hosted(item: Mapping[str, Any]) -> bool:
    """Whether the provider itself answers this call."""
    kind = type_of(item)
    if kind == "tool_search_call":
        return item.get("execution") != "client"
    remote = type_of(item.get("environment")) == "container_reference"
    return kind in HOSTED or (kind == "shell_call" and remote)


def decode_call(item: Mapping[str, Any], path: Path, notes: Notes, place: Path) -> ToolCall:
    """A `function_call`, a `custom_tool_call`, or an item of `BUILTIN`. Without an id it gets one from its place."""
    fields = Fields(item)
    item_type = fields.left.pop("type")
    kind: Any = {"function_call": "function", "custom_tool_call": "custom"}.get(item_type, "builtin")
    name = item_type if kind == "builtin" else fields.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, "name")
    if kind == "builtin":
        arguments = _take_action(fields, BUILTIN[item_type])
    else:
        arguments = _take_text(fields, TEXT_KEYS[kind])
    namespace = fields.take("namespace", str)
    call_id = fields.take("call_id", str)
    if not call_id:
        fields.marks["call_id"] = "absent" if call_id is None else "empty"
        call_id = fields.marks["made"] = "call_" + "_".join(str(step) for step in path if isinstance(step, int))
        notes.add((*place, "id"), "synthesised", "a tool call without an id got one from its place", loss=False)
    opaque = fields.opaque(WIRE)
    return ToolCall(id=call_id, name=name, arguments=arguments, kind=kind, namespace=namespace, opaque=opaque)


def encode_call(call: ToolCall, notes: Notes, path: Path) -> dict[str, Any]:
    """The item of a call; another vendor's own tool becomes a function, noted."""
    notes.leftovers(call.opaque, WIRE, path)
    spelled = marks(call.opaque, WIRE)
    out: dict[str, Any] = {}
    missing = spelled.get("call_id") if call.id == spelled.get("made") else None
    if missing != "absent":
        out["call_id"] = "" if missing == "empty" else call.id
    if call.kind == "builtin" and call.name in BUILTIN:
        out["type"] = call.name
        out[word(spelled, "key", (SEVERAL,)) or BUILTIN[call.name]] = parsed_or_text(call.arguments)
    else:
        if call.kind == "builtin":
            notes.add((*path, "kind"), "substituted", "another vendor's own tool became a function call")
        kind = "custom" if call.kind == "custom" else "function"
        out |= {"type": "custom_tool_call" if kind == "custom" else "function_call", "name": call.name}
        _put_text(out, TEXT_KEYS[kind], call.arguments, spelled)
        if call.namespace is not None:
            out["namespace"] = call.namespace
    return restore(out, bag(call.opaque, WIRE))


def decode_hosted(item: Mapping[str, Any]) -> HostedCall:
    """A call the provider runs: its own fields are the payload, result included."""
    fields = Fields(item)
    kind = fields.left.pop("type")
    id = fields.take("id", str)
    key = HOSTED.get(kind)
    arguments = fields.take(key, str) if key else None
    return HostedCall(id=id, name=kind, arguments=arguments, payload=fields.left or None)


def encode_hosted(block: HostedCall | HostedResult, notes: Notes, path: Path) -> dict[str, Any] | None:
    """The item of a hosted call or result of this wire; None, with a note, for another wire's."""
    if isinstance(block, HostedResult):
        if block.name == "shell_call_output":
            return {"type": block.name, **_said(call_id=block.call_id), **(block.payload or {})}
    elif block.name in HOSTED or block.name in BUILTIN:
        key = HOSTED.get(block.name)
        said = _said(id=block.id, **({key: block.arguments} if key else {}))
        return restore({"type": block.name, **said}, block.payload or {})
    notes.add(path, "dropped", f"{block.name!r} was run by another provider: the responses wire has no item for it")
    return None


def decode_hosted_result(item: Mapping[str, Any]) -> HostedResult:
    """What a hosted shell gave back, as an item of its own."""
    fields = Fields(item)
    kind = fields.left.pop("type")
    return HostedResult(call_id=fields.take("call_id", str), name=kind, payload=fields.left)


def answer_type(call: ToolCall | None, kind: str) -> str:
    """The type of the item that answers a call; where the call is not known, by the kind of the result."""
    kind = kind if call is None else call.kind
    if kind == "builtin" and call is not None and call.name in ANSWERS:
        return ANSWERS[call.name]
    return "custom_tool_call_output" if kind == "custom" else "function_call_output"


def parsed_or_text(text: str) -> Any:
    """The JSON value of a text; the text itself where it is none."""
    try:
        return jsonio.decode(text.encode())[0] if text else {}
    except jsonio.RemoteError:
        return text


def _take_action(fields: Fields, key: str) -> str:
    if key not in fields.left and SEVERAL in fields.left:
        key = fields.marks["key"] = SEVERAL
    return jsonio.text(fields.left.pop(key, {}))


def _take_text(fields: Fields, key: str) -> str:
    text = fields.take(key, str)
    if text is not None:
        return text
    form = "null" if key in fields.left else "absent"
    value = fields.left.pop(key, None)
    if value is None:
        fields.marks["arguments"] = form
        return ""
    fields.marks["arguments"] = "value"
    return jsonio.text(value)


def _put_text(out: dict[str, Any], key: str, text: str, spelled: Mapping[str, Any]) -> None:
    form = spelled.get("arguments")
    if form == "value":
        out[key] = parsed_or_text(text)
    elif form is None or text:
        out[key] = text
    elif form == "null":
        out[key] = None


def _said(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
