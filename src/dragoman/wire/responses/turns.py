"""The input items of a Responses request as messages: JSON to middle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.types.content import Content, Foreign, Json, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.jsonio import refuse
from dragoman.wire.responses import plain
from dragoman.wire.responses.calls import answer_type, is_hosted
from dragoman.wire.responses.items import decode_item, take_content
from dragoman.wire.responses.parts import FROM_CLIENT, WIRE, decode_part, type_of
from dragoman.wire.responses.tools import decode_tools

ROLES = ("system", "developer", "user", "assistant")

# Items that answer a call of the caller's → what kind of call.
OUTPUTS: dict[str, Any] = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "local_shell_call_output": "builtin",
    "shell_call_output": "builtin",
    "apply_patch_call_output": "builtin",
    "computer_call_output": "builtin",
}


def decode_input(items: list[Any], notes: Notes, at: int) -> tuple[Message, ...]:
    """Messages of an array of items: one for each run of items that a model says, one for each other item.

    `at` is the number of messages that come before. Raises RemoteError with the place in the body.
    """
    reader = _Reader(notes, at)
    for index, item in enumerate(items):
        if not reader.take_plain(item):
            reader.take(item, ("input", index))
    reader.flush()
    return tuple(reader.messages)


class _Reader:
    """Items one by one; what the model says waits until its run ends."""

    def __init__(self, notes: Notes, at: int) -> None:
        self.messages: list[Message] = []
        self._notes = notes
        self._at = at
        self._run: list[Content] = []
        self._calls: dict[str, ToolCall] = {}
        self._hosted: set[str] = set()  # ids of calls that the provider answers itself

    def take_plain(self, item: Any) -> bool:
        """Whether the item went the short way."""
        read = plain.read_item(item, self._calls) if type(item) is dict else None
        if read is None or (self._hosted and isinstance(read, Message) and _id_of(item) in self._hosted):
            return False
        if isinstance(read, Message):
            self._add(read)
            return True
        if isinstance(read, ToolCall):
            self._calls[read.id] = read
        self._run.append(read)
        return True

    def take(self, item: Any, path: Path) -> None:
        if not isinstance(item, dict):
            refuse("expected an item (an object)", *path)
        kind = type_of(item)
        if kind == "message" or (kind is None and "role" in item):
            self._message(item, path)
        elif kind == "additional_tools" and isinstance(item.get("tools"), list):
            self._add(_decode_additional(item, path))
        elif kind == "tool_search_output" and isinstance(item.get("tools"), list) and not is_hosted_output(item):
            self._add(_decode_search_output(item, path))
        elif kind in OUTPUTS and _id_of(item) not in self._hosted:
            self._add(_decode_output(item, self._calls, path))
        elif kind in FROM_CLIENT:
            self._add(Message(role="user", content=(Foreign(wire=WIRE, kind=kind, payload=item),)))
        else:
            if kind == "shell_call" and is_hosted(item):
                self._hosted.add(_id_of(item))
            self._say(item, path)

    def flush(self) -> None:
        """The end of what the model says."""
        if self._run:
            self.messages.append(Message(role="assistant", content=tuple(self._run)))
            self._run = []

    def _message(self, item: Mapping[str, Any], path: Path) -> None:
        role = item.get("role")
        if role not in ROLES:
            refuse(f"unknown role {role!r}: one of {', '.join(ROLES)}", *path, "role")
        if role == "assistant":
            self._say(item, path)
            return
        fields = Fields(item)
        del fields.left["role"]
        content = tuple(take_content(fields, role, path))
        if content == (Text(text=""),) and fields.marks.get("content") in ("empty", "absent"):
            content = ()
        self._add(Message(role=role, content=content, opaque=fields.opaque(WIRE)))

    def _say(self, item: Mapping[str, Any], path: Path) -> None:
        place = ("messages", self._at + len(self.messages), "content", len(self._run))
        blocks = decode_item(item, path, self._notes, place)
        self._calls |= {block.id: block for block in blocks if isinstance(block, ToolCall)}
        self._run += blocks

    def _add(self, message: Message) -> None:
        if self._run:
            self.flush()
        self.messages.append(message)


def is_hosted_output(item: Mapping[str, Any]) -> bool:
    """Whether the provider searched for the tools itself."""
    return item.get("execution") != "client"


def _id_of(item: Mapping[str, Any]) -> str:
    call_id = item.get("call_id")
    return call_id if isinstance(call_id, str) else ""


def _decode_output(item: Mapping[str, Any], calls: Mapping[str, ToolCall], path: Path) -> Message:
    fields = Fields(item)
    kind = fields.left.pop("type")
    call_id = fields.take("call_id", str)
    if call_id is None:
        fields.marks["call_id"] = "absent"
        call_id = fields.take("id", str) if kind == "local_shell_call_output" else None
        if call_id is not None:
            fields.marks["call_id"] = "id"
    if kind != answer_type(calls.get(call_id or ""), OUTPUTS[kind]):
        fields.marks["item"] = kind
    content = _take_output(fields, kind, path)
    result = ToolResult(call_id=call_id or "", content=content, kind=OUTPUTS[kind], opaque=fields.opaque(WIRE))
    return Message(role="tool", content=(result,))


def _take_output(fields: Fields, kind: str, path: Path) -> tuple[Any, ...]:
    """The value of `output`: text, an array of parts, or (a vendor's own tool) any JSON."""
    output = fields.left.get("output")
    if output is None:
        fields.marks["content"] = "absent"  # a null stays a leftover
        return ()
    del fields.left["output"]
    if isinstance(output, str):
        if not output:
            fields.marks["content"] = "empty"
        return (Text(text=output),) if output else ()
    if isinstance(output, list) and OUTPUTS[kind] != "builtin":
        fields.marks["content"] = "list"
        return tuple(decode_part(part, "tool", (*path, "output", at)) for at, part in enumerate(output))
    if OUTPUTS[kind] != "builtin":
        refuse(f"expected text or an array of parts, got {jsonio.kind(output)}", *path, "output")
    fields.marks["content"] = "value"
    return (Json(value=jsonio.text(output)),)


def _decode_additional(item: Mapping[str, Any], path: Path) -> Message:
    fields = Fields(item)
    del fields.left["type"]
    role = fields.choice("role", ("developer", "system", "user"))
    tools = decode_tools(fields.left.pop("tools"), path)
    if role is None:
        fields.marks["role"] = "absent"
    change = ToolsChange(add=tools, opaque=fields.opaque(WIRE))
    return Message(role=role or "developer", content=(change,))


def _decode_search_output(item: Mapping[str, Any], path: Path) -> Message:
    """A client's answer to a search for tools: the result of a call, and the tools it brings in."""
    fields = Fields(item)
    fields.marks["item"] = fields.left.pop("type")
    tools = decode_tools(fields.left.pop("tools"), path)
    call_id = fields.take("call_id", str)
    if call_id is None:
        fields.marks["call_id"] = "absent"
    result = ToolResult(call_id=call_id or "", content=(), kind="builtin", opaque=fields.opaque(WIRE))
    return Message(role="tool", content=(result, ToolsChange(add=tools)))
