"""What a reader of logs gathers: messages up to a summary, what they used, and what was not taken over."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect.model import BASE
from dragoman.history.repair import repair
from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http


class Part(msgspec.Struct, kw_only=True):
    """A stretch of a conversation. `summary` is what stood for it in later requests."""

    messages: list[Message] = []
    summary: str | None = None


class Gathered(msgspec.Struct, kw_only=True):
    """A log, read. `replies` hold the usage of each answer, where it was kept."""

    system: str | None = None
    parts: list[Part] = []
    replies: list[Reply] = []
    notes: list[Note] = []
    origin: str = ""

    def note(self, reason: str, *, at: int | None = None, loss: bool = True) -> None:
        """Something that was not taken over as it stood, before the next message or at one of this stretch."""
        path = ("messages", sum(len(part.messages) for part in self.parts) if at is None else at)
        self.notes.append(Note(path=path, action="dropped" if loss else "moved", reason=reason, loss=loss))


def decoded(wire: str, body: dict[str, Any]) -> tuple[Message, ...]:
    """The messages of a request body. Raises RemoteError with the place in it."""
    http = Http(body=msgspec.json.encode(body))
    return find(wire).decode_request(http, BASE, Exchange(seed="log", now=0)).request.messages


def replied(wire: str, body: dict[str, Any]) -> Reply:
    """The reply of a body. Raises RemoteError with the place in it."""
    return find(wire).decode_reply(msgspec.json.encode(body), BASE, Exchange(seed="log", now=0)).value


def stored(messages: list[Message], gathered: Gathered) -> list[Message]:
    """The messages as an agent stores them: three roles, every call with its result, fit for every wire (C-26)."""
    found: list[Message] = []
    for at, message in enumerate(messages):
        if message.role in ("system", "developer"):
            said = f"what the {message.role} said in mid-conversation is a user's message here"
            gathered.note(said, at=at, loss=False)
            message = msgspec.structs.replace(message, role="user", opaque=None)
        found.append(message)
    called = {block.name: None for message in found for block in message.content if isinstance(block, ToolCall)}
    request = Request(messages=tuple(found), tools=tuple(Tool(name=name) for name in called) or None)
    for wire in WIRES:
        mended = repair(request, wire)
        request = mended.request
        gathered.notes += [note for note in mended.notes if note not in gathered.notes]
    return list(request.messages)
