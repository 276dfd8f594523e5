"""Tools of namespaces on a wire that has none: each under one name, which an answer's calls are known by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.types.content import ToolCall, ToolsChange
from dragoman.types.note import Path
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes
from dragoman.wire.glance import Glance, glance

Known = tuple[str, str]  # namespace and name


def flat(request: Request, notes: Notes, seen: Glance | None = None) -> tuple[Request, Mapping[str, Known]]:
    """The request with no two tools under one name, and what each name stands for of the tools that have a namespace.

    The first to have a name keeps it, so that most requests are the same value and a longer history changes no earlier
    name; those after it get their namespace in front, the same in offers and history, and that is told. Clients know a
    tool by both (Codex answers "unsupported call" to a call without its namespace). `seen` saves a walk.
    """
    said = dict.fromkeys(_said(request, glance(request, seen)))
    if not said:
        return request, {}
    taken = {tool.name for tool in request.tools or () if isinstance(tool, Tool) and not tool.namespace}
    given = {known: _free(known, taken) for known in said}
    renamed = {known: made for known, made in given.items() if known[1] != made}
    if renamed:
        request = _Rename(renamed, notes).request(request)
    return request, {made: known for known, made in given.items()}


def _said(request: Request, seen: Glance) -> Iterator[Known]:
    """Namespace and name of each tool of a namespace that is offered, in their order. A call whose namespace nobody
    offers keeps its name: it may be of a tool that has none."""
    yield from _of(request.tools)
    for _, block in seen.changes:
        yield from _of(block.add)


def _of(tools: Iterable[Tool | HostedTool] | None) -> Iterator[Known]:
    return ((tool.namespace, tool.name) for tool in tools or () if isinstance(tool, Tool) and tool.namespace)


def _free(known: Known, taken: set[str]) -> str:
    namespace, name = known
    if name in taken:
        name = f"{namespace}__{name}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


class _Rename:
    """Writes other names where a tool with a namespace stands, and tells it."""

    def __init__(self, given: Mapping[Known, str], notes: Notes) -> None:
        self._given = given
        self._notes = notes

    def request(self, request: Request) -> Request:
        tools = self._tools(request.tools, ("tools",))
        messages = tuple(
            msgspec.structs.replace(
                message,
                content=tuple(
                    self._block(block, ("messages", at, "content", inner))
                    for inner, block in enumerate(message.content)
                ),
            )
            for at, message in enumerate(request.messages)
        )
        return msgspec.structs.replace(request, tools=tools, messages=messages)

    def _tools(self, tools: Any, path: Path) -> Any:
        return tools and tuple(self._named(tool, (*path, at)) for at, tool in enumerate(tools))

    def _block(self, block: Any, path: Path) -> Any:
        if isinstance(block, ToolsChange):
            return msgspec.structs.replace(block, add=self._tools(block.add, (*path, "add")))
        return self._named(block, path) if isinstance(block, ToolCall) else block

    def _named(self, value: Any, path: Path) -> Any:
        known = (getattr(value, "namespace", None) or "", getattr(value, "name", ""))
        if known not in self._given:
            return value
        made = self._given[known]
        self._notes.add((*path, "name"), "renamed", f"another tool has this name: called {made} here", loss=False)
        return msgspec.structs.replace(value, name=made)
