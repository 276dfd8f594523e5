"""Tool calls on an assistant message of the chat wire, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.errors import RemoteError
from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import marks, restore
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.chat.parts import WIRE, own_nested
from dragoman.wire.jsonio import refuse


class Asked:
    """What results answer: the calls of the messages before them, each message looked through once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._read = 0
        self._kinds: dict[str | None, Any] = {}
        self._legacy: dict[str | None, str] = {}

    def kind_of(self, call_id: str | None) -> Any:
        """The kind of the call of this id in the latest turn that is no result."""
        self._go_on()
        return self._kinds.get(call_id, "function")

    def legacy(self, name: str | None) -> str:
        """The id of the latest legacy call of this name; empty where there is none."""
        self._go_on()
        return self._legacy.get(name, "")

    def _go_on(self) -> None:
        for message in self._messages[self._read :]:
            if message.role != "tool":
                calls = [block for block in message.content if isinstance(block, ToolCall)]
                self._kinds = {call.id: call.kind for call in calls}
                self._legacy |= {call.name: call.id for call in calls if is_legacy(call)}
        self._read = len(self._messages)


def decode_call(call: Any, path: Path, notes: Notes) -> ToolCall:
    """One entry of `tool_calls`. A call without an id gets one from its place, noted."""
    if not isinstance(call, dict):
        refuse("expected a tool call (an object)", *path)
    fields = Fields(call)
    kind = "custom" if isinstance(call.get("custom"), dict) and "function" not in call else "function"
    nested = fields.left.pop(kind, None)
    if not isinstance(nested, dict):
        refuse(f"expected an object, got {jsonio.kind(nested)}", *path, kind)
    if fields.left.get("type") == kind:
        del fields.left["type"]
    elif "type" not in fields.left:
        fields.marks["type"] = "absent"
    inner = Fields(nested)
    name = inner.take("name", str)
    if name is None:
        refuse("expected the name of the tool", *path, kind, "name")
    arguments = _take_arguments(inner, fields, "arguments" if kind == "function" else "input")
    if inner.left:
        fields.left[f"~{kind}"] = inner.left
    id = fields.take("id", str)
    if not id:
        fields.marks["id"] = "absent" if id is None else "empty"
        id = fields.marks["made"] = positional_id(path)
        notes.add(path, "synthesised", "a tool call without an id got one from its place", loss=False)
    return ToolCall(id=id, name=name, arguments=arguments, kind=kind, opaque=fields.opaque(WIRE))


def encode_call(call: ToolCall, notes: Notes, path: Path) -> dict[str, Any]:
    """One entry of `tool_calls`."""
    spelled = marks(call.opaque, WIRE)
    note_unsaid_call(call, notes, path)
    kind, key = ("custom", "input") if call.kind == "custom" else ("function", "arguments")
    nested: dict[str, Any] = {"name": call.name}
    _put_arguments(nested, key, call, spelled)
    out: dict[str, Any] = {}
    if not _is_synthesised(call, spelled):
        out["id"] = call.id
    elif spelled.get("id") == "empty":
        out["id"] = ""
    left = own(call.opaque, WIRE)
    if spelled.get("type") != "absent" and "type" not in left:
        out["type"] = kind
    out[kind] = restore(nested, own_nested(call, kind))
    return restore(out, left)


def note_unsaid_call(call: ToolCall, notes: Notes, path: Path) -> None:
    """What of a call this wire cannot say."""
    if call.kind == "builtin":
        notes.add((*path, "kind"), "substituted", "a vendor's own tool became a function call")
    if call.namespace is not None:
        notes.add(
            (*path, "namespace"), "dropped", "the chat wire has no namespaces: a call gets its own back", loss=False
        )
    if call.cache is not None:
        notes.add((*path, "cache"), "dropped", "the chat wire has no cache hint on calls")
    notes.leftovers(call.opaque, WIRE, path)


def decode_legacy(call: Mapping[str, Any], path: Path, notes: Notes) -> ToolCall:
    """A `function_call` of the legacy form: one call, no id (S1-18)."""
    inner = Fields(call)
    outer = Fields({})
    outer.marks["legacy"] = True
    name = inner.take("name", str)
    if name is None:
        refuse("expected the name of the function", *path, "name")
    arguments = _take_arguments(inner, outer, "arguments")
    if inner.left:
        outer.left["~function"] = inner.left
    notes.add(path, "synthesised", "a legacy function call has no id: it got one from its place", loss=False)
    return ToolCall(id=positional_id(path), name=name, arguments=arguments, opaque=outer.opaque(WIRE))


def encode_legacy(call: ToolCall) -> dict[str, Any]:
    """The value of `function_call`."""
    nested: dict[str, Any] = {"name": call.name}
    _put_arguments(nested, "arguments", call, marks(call.opaque, WIRE))
    return restore(nested, own_nested(call, "function"))


def is_legacy(block: Any) -> bool:
    """Whether a call or tool was said in the form of `functions` and `function_call`."""
    return bool(marks(block.opaque, WIRE).get("legacy"))


def positional_id(path: Path) -> str:
    """An id for a call that came without one: the same for the same place, and unique in a body."""
    return "call_" + "_".join(str(step) for step in path if isinstance(step, int))


def _is_synthesised(call: ToolCall, spelled: Mapping[str, Any]) -> bool:
    return spelled.get("made") == call.id


def _take_arguments(inner: Fields, outer: Fields, key: str) -> str:
    text = inner.take(key, str)
    if text is not None:
        return text
    value = inner.left.get(key)
    if value is None:
        outer.marks["arguments"] = "null" if key in inner.left else "absent"
        inner.left.pop(key, None)
        return ""
    outer.marks["arguments"] = "value"
    return jsonio.text(inner.left.pop(key))


def _put_arguments(nested: dict[str, Any], key: str, call: ToolCall, spelled: Mapping[str, Any]) -> None:
    form = spelled.get("arguments")
    if form == "value" and (value := _as_value(call.arguments)) is not None:
        nested[key] = value
    elif form in (None, "value") or call.arguments:
        nested[key] = call.arguments
    elif form == "null":
        nested[key] = None


def _as_value(text: str) -> Any:
    try:
        return jsonio.decode(text.encode())[0]
    except RemoteError:
        return None
