"""Tool calls of this wire, in both directions: arguments are objects, and many servers say no ids."""

from __future__ import annotations

from typing import Any

from dragoman.errors import RemoteError
from dragoman.types.content import ToolCall
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, nested, restore
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.jsonio import refuse
from dragoman.wire.ollama.stops import WIRE

NESTED = "~function"
RAW = "_raw"  # under this key go arguments that are no JSON object


def decode_call(call: Any, made: str, path: Path, notes: Notes) -> ToolCall:
    """One entry of `tool_calls`. A call without an id gets `made`, noted."""
    if not isinstance(call, dict):
        refuse("expected a tool call (an object)", *path)
    fields = Fields(call)
    nested = fields.left.pop("function", None)
    if not isinstance(nested, dict):
        refuse(f"expected an object, got {jsonio.kind(nested)}", *path, "function")
    inner = Fields(nested)
    name = inner.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, "function", "name")
    arguments = _take_arguments(inner, fields)
    if inner.left:
        fields.left[NESTED] = inner.left
    id = fields.take("id", str) if fields.left.get("id") else None
    if id is None:
        id = fields.marks["made"] = made
        notes.add(path, "synthesised", "a tool call without an id got one from its place", loss=False)
    return ToolCall(id=id, name=name, arguments=arguments, opaque=fields.opaque(WIRE))


def encode_call(call: ToolCall, notes: Notes, path: Path) -> dict[str, Any]:
    """One entry of `tool_calls`; the id that was made for a call is not said."""
    spelled = marks(call.opaque, WIRE)
    notes.leftovers(call.opaque, WIRE, path)
    if call.cache is not None:
        notes.add((*path, "cache"), "dropped", "this wire has no cache hints")
    if call.namespace is not None:
        reason = "this wire has no namespaces: a call gets its own back"
        notes.add((*path, "namespace"), "dropped", reason, loss=False)
    function: dict[str, Any] = {"name": call.name}
    if call.kind != "function":
        notes.add((*path, "kind"), "substituted", "this wire has functions only")
    if call.kind == "custom":
        notes.add((*path, "arguments"), "substituted", "free text became the string `input`", loss=False)
        function["arguments"] = {"input": call.arguments}
    elif spelled.get("arguments") == "text":
        function["arguments"] = call.arguments
    elif call.arguments or spelled.get("arguments") != "absent":
        any_value = spelled.get("arguments") == "value"
        function["arguments"] = _write_arguments(call.arguments, any_value, notes, (*path, "arguments"))
    out: dict[str, Any] = {} if call.id == spelled.get("made") else {"id": call.id}
    out["function"] = restore(function, nested(bag(call.opaque, WIRE), NESTED))
    return restore(out, bag(call.opaque, WIRE))


def _take_arguments(inner: Fields, fields: Fields) -> str:
    value = inner.left.get("arguments")
    if value is None:
        fields.marks["arguments"] = "absent"
        return ""
    del inner.left["arguments"]
    if isinstance(value, str):
        fields.marks["arguments"] = "text"
        return value
    if not isinstance(value, dict):
        fields.marks["arguments"] = "value"
    return jsonio.text(value)


def _write_arguments(text: str, any_value: bool, notes: Notes, path: Path) -> Any:
    """The object that `text` stands for; nothing means `{}`. Text that is no JSON object is wrapped, never dropped.

    An object has no spelling of its own here: a text that was written otherwise is noted.
    """
    if text.strip() in ("", "null"):
        notes.add(path, "substituted", "no arguments are an empty object here", loss=False)
        return {}
    try:
        value, found = jsonio.decode(text.encode("utf-8", "replace"))
    except RemoteError:
        value, found = None, ()
    if not isinstance(value, dict) and (value is None or not any_value):
        notes.add(path, "substituted", f"arguments that are no JSON object went as the value of {RAW!r}")
        return {RAW: text}
    if jsonio.text(value) != text:
        notes.add(path, "substituted", "arguments are an object here, their spelling is gone", loss=bool(found))
    return value
