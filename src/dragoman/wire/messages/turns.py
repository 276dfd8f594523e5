"""The messages and the system prompt of a request: JSON to middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.types.content import Content, HostedCall, Media, Text, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, bag, marks
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages import plain
from dragoman.wire.messages.blocks import decode_block
from dragoman.wire.messages.parts import WIRE, decode_part

ROLES = ("user", "assistant", "system")
# Keys of a message that only another wire's body has.
TELLTALES = {"tool_calls": "chat", "tool_call_id": "chat", "function_call": "chat"}


def take_system(fields: Fields, notes: Notes) -> tuple[Message, ...]:
    """The top-level `system` as the leading message; an empty one says nothing and stays a leftover."""
    system = fields.left.get("system")
    if not system:
        return ()
    del fields.left["system"]
    if isinstance(system, str) and not system.isspace():
        return (Message(role="system", content=(Text(text=system),)),)
    inner = Fields({"content": system})
    content = take_content(inner, (), notes, key="system")
    return (Message(role="system", content=tuple(content), opaque=inner.opaque(WIRE)),)


def decode_messages(items: Any, notes: Notes) -> tuple[Message, ...]:
    """Each message of a body as one Message: boundaries are data."""
    if not isinstance(items, list):
        refuse(f"expected an array of messages, got {jsonio.kind(items)}", "messages")
    messages: list[Message] = []
    for index, item in enumerate(items):
        messages.append(_decode_message(item, messages, ("messages", index), notes))
    if messages and is_prefill(messages[-1]):
        messages[-1] = msgspec.structs.replace(messages[-1], prefill=True)
    return tuple(messages)


def take_content(fields: Fields, path: Path, notes: Notes, key: str = "content") -> list[Content]:
    """The value of `content` as blocks; how it was spelled becomes a mark, an explicit null stays a leftover."""
    content = fields.left.get("content")
    if content is None:
        if "content" not in fields.left:
            fields.marks["content"] = "absent"
        return []
    if not isinstance(content, str | list):
        refuse(f"expected text or an array of blocks, got {jsonio.kind(content)}", *path, key)
    del fields.left["content"]
    if isinstance(content, list):
        fields.marks["content"] = "list"
        return [decode_block(block, (*path, key, at), notes) for at, block in enumerate(content)]
    if not content:
        fields.marks["content"] = "empty"
        return []
    return [decode_part({"type": "text", "text": content}, path)]


def _decode_message(item: Any, before: list[Message], path: Path, notes: Notes) -> Message:
    if not isinstance(item, dict):
        refuse("expected a message (an object)", *path)
    at_once = plain.read_turn(item, before)
    if at_once is not None:
        return at_once
    role: Any = item.get("role")
    for key, wire in TELLTALES.items():
        if key in item:
            refuse(f"`{key}` is of the {wire} wire: send this body there", *path, key)
    if role not in ROLES:
        where = " (send this body to the chat wire)" if role in ("tool", "function", "developer") else ""
        refuse(f"unknown role {role!r}: one of {', '.join(ROLES)}{where}", *path, "role")
    fields = Fields(item)
    del fields.left["role"]
    return finished(role, take_content(fields, path, notes), fields, before)


def finished(role: Any, content: list[Content], fields: Fields, before: Sequence[Message]) -> Message:
    """A turn of a client as a message: one that holds results is a tool's, and what is out of the ordinary is marked."""
    if role == "user" and any(isinstance(block, ToolResult) for block in content):
        role, content = "tool", _results_first(fields, content)
        if before and before[-1].role == "tool":
            fields.marks["apart"] = True
    elif role == "assistant":
        content = [_marked(block) for block in content]
    elif role == "system" and (not before or marks(before[-1].opaque, WIRE).get("place")):  # none but such before it
        fields.marks["place"] = "messages"
    return Message(role=role, content=tuple(content), opaque=fields.opaque(WIRE))


def _results_first(fields: Fields, content: list[Content]) -> list[Content]:
    """Results, then the rest; the order that a client wrote against the API's rule is a mark."""
    order = sorted(range(len(content)), key=lambda at: not isinstance(content[at], ToolResult))
    if order != sorted(order):
        fields.marks["order"] = order
    return [content[at] for at in order]


def _marked(block: Content) -> Content:
    """An image in an assistant turn is against the API's rule: written back only because a client said it."""
    if not isinstance(block, Media):
        return block
    said = {**bag(block.opaque, WIRE), MARKS: {**marks(block.opaque, WIRE), "said": True}}
    opaque = {**(block.opaque or {}), WIRE: said}
    return msgspec.structs.replace(block, opaque=opaque)


def is_prefill(message: Message) -> bool:
    """An assistant turn at the end is to be continued, unless it was paused while the provider's own calls ran."""
    if message.role != "assistant" or any(isinstance(block, HostedCall) for block in message.content):
        return False
    return bool(message.content) and isinstance(message.content[-1], Text)
