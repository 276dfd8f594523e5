"""Tool names that a wire refuses, sent in a legal form and read back: the same in offers, choice and history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import filterfalse
from typing import Any, TypeGuard

import msgspec

from dragoman.types.content import Content, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes
from dragoman.wire.glance import Glance, glance
from dragoman.wire.ids import Renamer

LETTERS = 16_384  # of the names in a request, at most, for what is found of them to be remembered


def legalised(
    request: Request, form: str, limit: int, notes: Notes, seen: Glance | None = None
) -> tuple[Request, Mapping[str, str]]:
    """The request with every tool under a name that matches `form`, and what each new name stands for (REQ-022).

    A replacement is letters, digits, _ and -, at most `limit`, with a digest of the name at its end, so that two names
    that begin alike stay two (REQ-023). The request itself where nothing is wrong. Each place is noted. `seen` saves a walk.
    """
    said = _names(request, glance(request, seen))
    wrong = (remembered if sum(map(len, said)) <= LETTERS else _illegal)(form, said)
    if not wrong:
        return request, {}
    renamer = Renamer(limit, said - wrong)
    given = {name: renamer(name) for name in sorted(wrong)}
    return _Rename(given, notes).request(request), {made: name for name, made in given.items()}


def _illegal(form: str, names: frozenset[str]) -> frozenset[str]:
    return frozenset(filterfalse(re.compile(form).fullmatch, names))


remembered = lru_cache(maxsize=64)(_illegal)  # an agent has the same tools in every request


def for_caller(block: Content, names: Mapping[str, str]) -> Content:
    """A call under the name its caller gave the tool."""
    if not isinstance(block, ToolCall) or block.name not in names:
        return block
    return msgspec.structs.replace(block, name=names[block.name])


def reply_for_caller(reply: Reply, names: Mapping[str, str]) -> Reply:
    """A reply whose calls have the names that the caller gave the tools."""
    if not names:
        return reply
    others = [msgspec.structs.replace(other, message=_message(other.message, names)) for other in reply.others or ()]
    return msgspec.structs.replace(reply, message=_message(reply.message, names), others=tuple(others) or None)


def _message(message: Message, names: Mapping[str, str]) -> Message:
    content = tuple(for_caller(block, names) for block in message.content)
    return msgspec.structs.replace(message, content=content)


def _names(request: Request, seen: Glance) -> frozenset[str]:
    """Every name of a tool; a vendor's own tool has the name that its wire gave it."""
    choice = request.tool_choice
    moved = (
        names for _, block in seen.changes for names in (_of_tools(block.add), block.names or (), block.remove or ())
    )
    return seen.named.union(_of_tools(request.tools), (choice and choice.names) or (), *moved)


def _is_named(block: Content) -> TypeGuard[ToolCall | ToolResult]:
    return isinstance(block, ToolResult) or (isinstance(block, ToolCall) and block.kind != "builtin")


def _of_tools(tools: Iterable[Tool | HostedTool] | None) -> list[str]:
    return [tool.name for tool in tools or () if isinstance(tool, Tool) and tool.name]


class _Rename:
    """Writes other names where they stand, and tells it."""

    def __init__(self, given: Mapping[str, str], notes: Notes) -> None:
        self._given = given
        self._notes = notes

    def request(self, request: Request) -> Request:
        choice = request.tool_choice
        if choice is not None and choice.names:
            choice = msgspec.structs.replace(choice, names=self._words(choice.names, ("tool_choice", "names")))
        messages = [self._message(message, ("messages", at)) for at, message in enumerate(request.messages)]
        tools = self._tools(request.tools, ("tools",))
        return msgspec.structs.replace(request, tools=tools, tool_choice=choice, messages=tuple(messages))

    def _message(self, message: Message, path: Path) -> Message:
        content = [self._block(block, (*path, "content", at)) for at, block in enumerate(message.content)]
        same = all(new is old for new, old in zip(content, message.content, strict=True))
        return message if same else msgspec.structs.replace(message, content=tuple(content))

    def _block(self, block: Content, path: Path) -> Content:
        if isinstance(block, ToolsChange):
            names = None if block.names is None else self._words(block.names, (*path, "names"))
            remove = None if block.remove is None else self._words(block.remove, (*path, "remove"))
            return msgspec.structs.replace(
                block, add=self._tools(block.add, (*path, "add")), names=names, remove=remove
            )
        return self._named(block, path) if _is_named(block) else block

    def _tools(self, tools: tuple[Tool | HostedTool, ...] | None, path: Path) -> tuple[Tool | HostedTool, ...] | None:
        if tools is None:
            return None
        return tuple(
            self._named(tool, (*path, at)) if isinstance(tool, Tool) else tool for at, tool in enumerate(tools)
        )

    def _named(self, value: Any, path: Path) -> Any:
        made = self._given.get(value.name)
        if made is None:
            return value
        self._tell((*path, "name"), made)
        return msgspec.structs.replace(value, name=made)

    def _words(self, names: tuple[str, ...], path: Path) -> tuple[str, ...]:
        for at, name in enumerate(names):
            if name in self._given:
                self._tell((*path, at), self._given[name])
        return tuple(self._given.get(name, name) for name in names)

    def _tell(self, path: Path, made: str) -> None:
        self._notes.add(path, "renamed", f"this wire calls it {made}", loss=False)
