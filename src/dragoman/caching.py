"""Prompt caches made use of: breakpoints and a key, put on the copy of a request that is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Cache
from dragoman.types.content import Content, Foreign, HostedCall, HostedResult, Media, Text, ToolResult
from dragoman.types.message import Message
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool

Caching: TypeAlias = Literal["auto", "off"]
MOST = 4  # breakpoints that services take in all
INSTRUCTIONS = ("system", "developer")
MARKED = "messages"  # the wire that has breakpoints by itself; on another one the dialect must say how they are spelled
KEYED = ("chat", "responses")
HOUR = "1h"
LETTERS = 32
WHOLE = (Foreign, HostedTool, HostedCall, HostedResult)  # whose payload is sent as it is


class Place(NamedTuple):
    """Where a breakpoint stands: a tool, or a block of a message. Places grow in the order in which services read."""

    part: int  # 0: tools, 1: messages
    at: int
    inner: int = 0


def cached(request: Request, wire: str, dialect: Dialect) -> Request:
    """`request` with what its service's prompt cache wants, or the very same where it wants nothing (S3-46).

    Breakpoints are put after the tools, the system prompt and the latest user turn; a key is derived from the beginning of
    the conversation. At most four breakpoints stand in all and the caller's own win: they count first, and where they hold
    for longer, so do ours before them. A lone question, without tools or a turn before it, has its system prompt marked and
    nothing else: writing a cache that nobody reads costs more than it saves. Equal requests get equal hints.
    """
    if request.cache_key is None and wire in KEYED and dialect.cache_key and _goes_on(request):
        request = msgspec.structs.replace(request, cache_key=session_key(request))
    if wire == MARKED or (wire == "chat" and dialect.cache_style is not None):
        request = _marked(request, wire)
    return request


def session_key(request: Request) -> str:
    """A name for the conversation: the same for all its turns, another one for another conversation; says nothing of it.

    Made of what never changes within one: model, tools, the instructions at its head and the first message after them.
    """
    head = _head(request)
    first = request.messages[: head + 1]
    said = msgspec.json.encode((request.model, request.tools, first))
    return f"dragoman-{hashlib.sha256(said).hexdigest()[:LETTERS]}"


def _marked(request: Request, wire: str) -> Request:
    own = dict(_own(request))
    room = MOST - len(own) - (request.cache is not None)
    wanted = [place for place in _wanted(request, wire) if place not in own]
    for place in wanted[: max(room, 0)]:
        longer = any(ttl == HOUR and place < other for other, ttl in own.items())
        request = _put(request, place, Cache(ttl=HOUR) if longer else Cache())
    return request


def _wanted(request: Request, wire: str) -> Iterator[Place]:
    """Where breakpoints help, the most helpful first: the latest turn holds all before it, the system prompt the tools."""
    head, messages = _head(request), request.messages
    roles = ("user", "tool") if wire == MARKED else ("user",)  # elsewhere results hold no breakpoint
    if _goes_on(request) and request.cache is None:  # which is the wire's own breakpoint at the end
        for at in reversed(range(head, len(messages))):
            inner = _markable(messages[at]) if messages[at].role in roles else None
            if inner is not None:
                yield Place(1, at, inner)
                break
    if head and (inner := _markable(messages[head - 1])) is not None:
        yield Place(1, head - 1, inner)
    for at, tool in reversed(list(enumerate(request.tools or ()))):
        if isinstance(tool, Tool) and not _deferred(tool):
            yield Place(0, at)
            break


def _goes_on(request: Request) -> bool:
    """Whether more of the same conversation is sent, before this request or after it."""
    return bool(request.tools) or any(message.role == "assistant" for message in request.messages)


def _head(request: Request) -> int:
    """How many messages of instructions the conversation begins with."""
    roles = (message.role for message in request.messages)
    return next((at for at, role in enumerate(roles) if role not in INSTRUCTIONS), len(request.messages))


def _markable(message: Message) -> int | None:
    """The last block, where it may hold a breakpoint: not one without a word, nor one that only its wire knows."""
    last = len(message.content) - 1
    block = message.content[last] if message.content else None
    speaks = bool(block.text.strip()) if isinstance(block, Text) else isinstance(block, Media | ToolResult)
    return last if speaks else None


def _deferred(tool: Tool) -> bool:
    """A tool that the service loads when it is looked for: it stands in no prefix."""
    return any(bag.get("defer_loading") is True for bag in (tool.opaque or {}).values())


def _own(request: Request) -> Iterator[tuple[Place, str | None]]:
    """The caller's own breakpoints, and how long they hold."""
    for at, tool in enumerate(request.tools or ()):
        if (cache := _hint(tool)) is not None:
            yield Place(0, at), cache.ttl
    for at, message in enumerate(request.messages):
        for inner, block in enumerate(message.content):
            if (cache := _hint(block)) is not None:
                yield Place(1, at, inner), cache.ttl
            if type(block) is ToolResult:
                for part in block.content:
                    if (cache := _hint(part)) is not None:
                        yield Place(1, at, inner), cache.ttl


def _hint(element: Any) -> Cache | None:
    """The breakpoint of an element, also one in a spelling that no codec read: it counts where it is sent."""
    if element.cache is not None:
        return element.cache
    if element.opaque is None and type(element) not in WHOLE:
        return None
    for bag in (*(element.opaque or {}).values(), getattr(element, "payload", None)):
        hint = bag.get("cache_control") if isinstance(bag, dict) else None
        if isinstance(hint, dict):
            ttl = hint.get("ttl")
            return Cache(ttl=ttl if isinstance(ttl, str) else None)
    return None


def _put(request: Request, place: Place, cache: Cache) -> Request:
    if place.part == 0:
        tools = _with(request.tools or (), place.at, cache=cache)
        return msgspec.structs.replace(request, tools=tools)
    content: tuple[Content, ...] = _with(request.messages[place.at].content, place.inner, cache=cache)
    return msgspec.structs.replace(request, messages=_with(request.messages, place.at, content=content))


def _with(items: tuple[Any, ...], at: int, **change: object) -> tuple[Any, ...]:
    return (*items[:at], msgspec.structs.replace(items[at], **change), *items[at + 1 :])
