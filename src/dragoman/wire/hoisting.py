"""Tools that appear in mid-conversation, for a wire that has one list of them only."""

from __future__ import annotations

import msgspec

from dragoman.types.content import ToolsChange
from dragoman.types.note import Path
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes
from dragoman.wire.glance import Glance, glance

FROM_THE_START = "tools that appear in mid-conversation are offered from the start"
Placed = tuple[Path, Tool | HostedTool]


def changes(request: Request, seen: Glance | None = None) -> list[tuple[Path, ToolsChange]]:
    """Every block that brings tools in or takes them away, with its place. `seen` saves a walk."""
    return list(glance(request, seen).changes)


def defined(request: Request, seen: Glance | None = None) -> list[Tool]:
    """Every tool that is offered; those of later turns too where `seen` shows that there are any."""
    tools = [tool for tool in request.tools or () if isinstance(tool, Tool)]
    if seen is not None and seen.changes:
        added = (tool for _, block in changes(request, seen) for tool in block.add or ())
        tools += [tool for tool in added if isinstance(tool, Tool)]
    return tools


def hoisted(found: list[tuple[Path, ToolsChange]], request: Request, notes: Notes) -> list[Placed]:
    """The definitions that `found` brings in, noted: the model would else be sent calls of tools it never saw (evidence
    A9). One whose name is offered already is left out, since a name stands once in a request."""
    if not found:
        return []
    offered = {tool.name: tool for tool in request.tools or () if isinstance(tool, Tool)}
    kept: list[Placed] = []
    for path, block in found:
        if block.add:
            notes.add(path, "moved", FROM_THE_START, loss=False)
        for at, tool in enumerate(block.add or ()):
            place = (*path, "add", at)
            if not isinstance(tool, Tool):
                kept.append((place, tool))
            elif tool.name not in offered:
                offered[tool.name] = tool
                kept.append((place, tool))
            else:
                loss = _definition(offered[tool.name]) != _definition(tool)
                notes.add(place, "merged", "a tool of this name is offered already", loss=loss)
    return kept


def _definition(tool: Tool) -> Tool:
    return msgspec.structs.replace(tool, opaque=None, namespace=None, cache=None)
