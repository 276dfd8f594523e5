"""Prompt caches made use of: breakpoints and a key, put on the copy of a request that is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Cache
from dragoman.types.content import Foreign, HostedCall, HostedResult, Media, Text, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Note, Path
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool

Caching: TypeAlias = Literal["auto", "off"]
INSTRUCTIONS = ("system", "developer")
MARKED = "messages"  # the wire that has breakpoints by itself; on another one the dialect must say how they are spelled
KEYED = ("chat", "responses")
HOUR = "1h"
HINT = "cache_control"
LETTERS = 32
WHOLE = (Foreign, HostedTool, HostedCall, HostedResult)  # whose payload is sent as it is


class Place(NamedTuple):
    """Where a breakpoint stands: a tool, a block of a message, or a part of a result. Places grow in the order in which
    services read, but that a result comes before its parts."""

    part: int  # 0: tools, 1: messages
    at: int
    inner: int = 0
    within: int = -1

    @property
    def path(self) -> Path:
        """The same in the middle format."""
        if self.part == 0:
            return ("tools", self.at, "cache")
        block = ("messages", self.at, "content", self.inner)
        return (*block, "cache") if self.within < 0 else (*block, "content", self.within, "cache")


def cached(request: Request, wire: str, dialect: Dialect) -> Request:
    """`request` with what its service's prompt cache wants, or the very same where it wants nothing (S3-46).

    Breakpoints are put after the tools, the system prompt and the latest user turn; a key is derived from the beginning of
    the conversation. No more breakpoints stand in all than the service takes, and the caller's own win: they count first, and where they hold
    for longer, so do ours before them. A lone question, without tools or a turn before it, has its system prompt marked and
    nothing else: writing a cache that nobody reads costs more than it saves. Equal requests get equal hints.
    """
    if request.cache_key is None and wire in KEYED and dialect.cache_key and _goes_on(request):
        request = msgspec.structs.replace(request, cache_key=session_key(request))
    if hinted(wire, dialect):
        request = _marked(request, wire, dialect.max_cache)
    return request


def hinted(wire: str, dialect: Dialect) -> bool:
    """Whether a service takes breakpoints."""
    return wire == MARKED or (wire == "chat" and dialect.cache_style is not None)


def within(request: Request, wire: str, dialect: Dialect) -> tuple[Request, tuple[Note, ...]]:
    """`request` with no more of the caller's own breakpoints than its service takes, and a note for each that was left out
    (GWY-019). Those stay that hold the most: the last of the tools, the last of the instructions, then the latest."""
    if not hinted(wire, dialect):
        return request, ()
    own, most = [place for place, _ in _own(request)], dialect.max_cache - (request.cache is not None)
    if len(own) <= most:
        return request, ()
    head = _head(request)
    tools = [place for place in own if place.part == 0][-1:]
    instructions = [place for place in own if place.part == 1 and place.at < head][-1:]
    ranked = [*tools, *instructions, *(place for place in reversed(own) if place not in (*tools, *instructions))]
    notes: list[Note] = []
    for place in sorted(ranked[max(most, 0) :]):
        request = _changed(request, place, _unmarked)
        reason = f"this service takes {dialect.max_cache} cache hints in all: the latest and the last of each part stay"
        notes.append(Note(path=place.path, action="dropped", reason=reason))
    return request, tuple(notes)


def session_key(request: Request) -> str:
    """A name for the conversation: the same for all its turns, another one for another conversation; says nothing of it.

    Made of what never changes within one: model, tools, the instructions at its head and the first message after them.
    """
    head = _head(request)
    first = request.messages[: head + 1]
    said = msgspec.json.encode((request.model, request.tools, first))
    return f"dragoman-{hashlib.sha256(said).hexdigest()[:LETTERS]}"


def _marked(request: Request, wire: str, most: int) -> Request:
    hints = list(_own(request))
    own = dict(hints)
    room = most - len(hints) - (request.cache is not None)
    wanted = [place for place in _wanted(request, wire) if place not in own]
    for place in wanted[: max(room, 0)]:
        longer = any(ttl == HOUR and place < other for other, ttl in own.items())
        request = _changed(request, place, partial(_hinted, cache=Cache(ttl=HOUR) if longer else Cache()))
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
                for part, item in enumerate(block.content):
                    if (cache := _hint(item)) is not None:
                        yield Place(1, at, inner, part), cache.ttl


def _hint(element: Any) -> Cache | None:
    """The breakpoint of an element, also one in a spelling that no codec read: it counts where it is sent."""
    if element.cache is not None:
        return element.cache
    if element.opaque is None and type(element) not in WHOLE:
        return None
    for bag in (*(element.opaque or {}).values(), getattr(element, "payload", None)):
        hint = bag.get(HINT) if isinstance(bag, dict) else None
        if isinstance(hint, dict):
            ttl = hint.get("ttl")
            return Cache(ttl=ttl if isinstance(ttl, str) else None)
    return None


def _hinted(element: Any, cache: Cache) -> Any:
    return msgspec.structs.replace(element, cache=cache)


def _unmarked(element: Any) -> Any:
    """An element without its breakpoint, however that was spelled."""
    changes: dict[str, Any] = {"cache": None}
    if element.opaque is not None:
        bags = {wire: _without(bag) for wire, bag in element.opaque.items()}
        changes["opaque"] = {wire: bag for wire, bag in bags.items() if bag} or None
    if isinstance(getattr(element, "payload", None), dict):
        changes["payload"] = _without(element.payload)
    return msgspec.structs.replace(element, **changes)


def _without(bag: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in bag.items() if key != HINT}


def _changed(request: Request, place: Place, change: Callable[[Any], Any]) -> Request:
    """`request` with the element at a place changed."""
    if place.part == 0:
        return msgspec.structs.replace(request, tools=_with(request.tools or (), place.at, change))
    message = request.messages[place.at]
    if place.within < 0:
        content = _with(message.content, place.inner, change)
    else:
        result: Any = message.content[place.inner]
        said = msgspec.structs.replace(result, content=_with(result.content, place.within, change))
        content = (*message.content[: place.inner], said, *message.content[place.inner + 1 :])
    message = msgspec.structs.replace(message, content=content)
    return msgspec.structs.replace(
        request, messages=(*request.messages[: place.at], message, *request.messages[place.at + 1 :])
    )


def _with(items: tuple[Any, ...], at: int, change: Callable[[Any], Any]) -> tuple[Any, ...]:
    return (*items[:at], change(items[at]), *items[at + 1 :])
