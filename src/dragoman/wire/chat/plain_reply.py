"""The short way of plain chat replies, in both directions: what `reply` gives for one text or some calls, or None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Content, Text
from dragoman.types.message import Message
from dragoman.types.opaque import MARKS, Bag, restore
from dragoman.types.reply import Choice
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.chat.plain import read_calls, write_calls
from dragoman.wire.chat.stops import decode_stop
from dragoman.wire.plain import is_silent, text_of

NOTHING: Bag = {}


def read_choice(choice: Mapping[str, Any], dialect: Dialect, origin: Origin) -> tuple[Choice, Bag] | None:
    """A choice and its leftovers, whose message says beside text and calls only nulls and empty lists: these stay as said."""
    message, raw = choice.get("message"), choice.get("finish_reason")
    if type(message) is not dict or type(raw) is not str or MARKS in choice or dialect.think_tags != "never":
        return None
    left = dict(message)
    text = left.get("content")
    content: tuple[Content, ...] = ()
    if text and type(text) is str:
        content = (Text(text=left.pop("content")),)
    elif text is not None or "content" not in left:
        return None
    calls = left.get("tool_calls")
    if calls:
        made = read_calls(left.pop("tool_calls"))
        if made is None:
            return None
        content += made
    if not content or left.pop("role", None) != "assistant" or MARKS in left:
        return None
    for value in left.values():
        if value is not None and value != []:
            return None
    said = Message(role="assistant", content=content, origin=origin, opaque={WIRE: left} if left else None)
    beside = {key: value for key, value in choice.items() if key not in ("message", "finish_reason")}
    return Choice(message=said, stop=decode_stop(raw, bool(calls))), beside


def write_message(message: Message, dialect: Dialect) -> Bag | None:
    """The message of a choice, and what this wire's server said beside."""
    content, opaque = message.content, message.opaque
    left = opaque.get(WIRE, NOTHING) if opaque else NOTHING
    if (
        not content
        or message.name is not None
        or message.prefill is not None
        or MARKS in left
        or "role" in left
        or (left and len(opaque or ()) > 1)
    ):
        return None
    if opaque and not left and not is_silent(opaque, WIRE):
        return None
    text = text_of(content[0], WIRE)
    calls = write_calls(content if text is None else content[1:])
    if calls is None:
        return None
    if text is None and "content" not in left and dialect.empty_content != "null":
        text = ""
    out: Bag = {"role": "assistant", "content": text}
    if calls:
        out["tool_calls"] = calls
    return restore(out, left)
