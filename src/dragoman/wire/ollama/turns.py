"""Messages of this wire to the middle format, and the one message of a reply."""

from __future__ import annotations

from typing import Any

from dragoman.types.content import Content, Media, Reasoning, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.jsonio import refuse
from dragoman.wire.media import guess_type
from dragoman.wire.ollama.calls import decode_call
from dragoman.wire.ollama.stops import WIRE

ROLES = ("system", "user", "assistant", "tool")


def decode_messages(items: Any, notes: Notes) -> tuple[Message, ...]:
    """Each message of a body as one Message. A result that names no call answers the first of its name still open."""
    if not isinstance(items, list):
        refuse(f"expected an array of messages, got {jsonio.kind(items)}", "messages")
    messages: list[Message] = []
    unanswered: list[ToolCall] = []
    for index, item in enumerate(items):
        path = ("messages", index)
        if not isinstance(item, dict):
            refuse("expected a message (an object)", *path)
        role = item.get("role")
        if role not in ROLES:
            refuse(f"unknown role {role!r}: one of {', '.join(ROLES)}", *path, "role")
        fields = Fields(item)
        del fields.left["role"]
        if role == "assistant":
            messages.append(decode_assistant(fields, f"call_{index}_", notes, path))
            unanswered += [block for block in messages[-1].content if isinstance(block, ToolCall)]
        elif role == "tool":
            messages.append(_decode_tool(fields, unanswered, path))
        else:
            content = (*_take_text(fields, path), *_take_images(fields))
            messages.append(Message(role=role, content=content, opaque=fields.opaque(WIRE)))
    return tuple(messages)


def decode_assistant(fields: Fields, ids: str, notes: Notes, path: Path) -> Message:
    """An assistant message: thinking, text, images, calls, in this order; `ids` begins the ids that nobody said."""
    blocks: list[Content] = []
    if fields.left.get("thinking"):
        thought = fields.take("thinking", str)
        blocks += [] if thought is None else [Reasoning(text=thought)]
    blocks += (*_take_text(fields, path), *_take_images(fields))
    calls = fields.left.get("tool_calls")
    if isinstance(calls, list) and calls:
        del fields.left["tool_calls"]
        blocks += [decode_call(call, f"{ids}{at}", (*path, "tool_calls", at), notes) for at, call in enumerate(calls)]
    return Message(role="assistant", content=tuple(blocks), opaque=fields.opaque(WIRE))


def _decode_tool(fields: Fields, unanswered: list[ToolCall], path: Path) -> Message:
    content: Any = (*_take_text(fields, path), *_take_images(fields))
    name, id = fields.take("tool_name", str), fields.take("tool_call_id", str)
    if name is None:
        fields.marks["tool_name"] = "absent"
    answered = next((call for call in unanswered if call.id == id or (id is None and name in (None, call.name))), None)
    if answered is not None:
        unanswered.remove(answered)
    if id is None:
        id = fields.marks["made"] = "" if answered is None else answered.id
    result = ToolResult(call_id=id, content=content, name=name)
    return Message(role="tool", content=(result,), opaque=fields.opaque(WIRE))


def _take_text(fields: Fields, path: Path) -> tuple[Text, ...]:
    content = fields.left.get("content")
    if isinstance(content, str):
        del fields.left["content"]
        return (Text(text=content),) if content else ()
    if content is not None:
        refuse(f"expected text, got {jsonio.kind(content)}", *path, "content")
    fields.marks["content"] = "absent"
    return ()


def _take_images(fields: Fields) -> tuple[Media, ...]:
    """Base64 without a type: the type is what the bytes begin like."""
    images = (fields.strings("images") or ()) if fields.left.get("images") else ()
    return tuple(Media(kind="image", media_type=guess_type(data), data=data) for data in images)
