"""The addresses at which clients knock: a table from a path to the wire that is spoken there and what is asked."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dragoman.secret import NAMED
from dragoman.wire import LIBRARY
from dragoman.wire.base import Http
from dragoman.wire.ollama import generate

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
# The headers of a client that belong to its request. All others, its key above all, stay here.
FORWARDED = frozenset({"anthropic-version", "anthropic-beta"})


class Door(NamedTuple):
    """What is spoken at one address: the wire, the path below a provider's base address, and what is asked for.

    `media` is the type of a stream; `object` what a count calls itself, where its wire wants that.
    """

    wire: str
    path: str
    asks: Literal["reply", "count"] = "reply"
    media: str = EVENTS
    object: str | None = None


_ALL: dict[str, Door] = {
    "/v1/chat/completions": Door("chat", "chat/completions"),
    "/v1/completions": Door("completions", "completions"),
    "/v1/responses": Door("responses", "responses"),
    "/v1/responses/input_tokens": Door("responses", "responses", "count", object="response.input_tokens"),
    "/v1/messages": Door("messages", "messages"),
    "/v1/messages/count_tokens": Door("messages", "messages", "count"),
    "/api/chat": Door("ollama", "api/chat", media=LINES),
    "/api/generate": Door("ollama", generate.PATH, media=LINES),
}
DOORS = {path: door for path, door in _ALL.items() if door.wire in LIBRARY}


def speaker(path: str, headers: dict[str, str]) -> str:
    """The wire of whoever asks for something at no door of ours: told by the path, else by the headers."""
    door = DOORS.get(path)
    if door is not None:
        return door.wire
    if path.startswith("/api/") and "ollama" in LIBRARY:
        return "ollama"
    return "messages" if "anthropic-version" in headers or path.startswith("/v1/messages") else "chat"


def onward(door: Door, query: str, headers: dict[str, str], body: bytes) -> Http:
    """A request as it may go on: its path relative, no header but those of its format, no key in its query, and its body one
    of the wire."""
    if door.path == generate.PATH:
        return Http(path=generate.PATH, body=generate.as_chat(body))
    kept = tuple((name, value) for name, value in headers.items() if name in FORWARDED)
    query = query and "&".join(part for part in query.split("&") if not NAMED.search(part.partition("=")[0]))
    return Http(path=f"{door.path}?{query}" if query else door.path, headers=kept, body=body)
