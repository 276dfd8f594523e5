"""Which tools a request offers: fewer are called better (S4-26)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.errors import UsageError
from dragoman.tools.words import closest, names
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool, ToolChoice

MANY = 20  # tools in one request: from about here on models choose worse (S4-26)


def narrowed(
    request: Request, wanted: Iterable[str] | None = None, *, many: int = MANY
) -> tuple[Request, tuple[Note, ...]]:
    """The request with the tools named `wanted` alone, in their own order (None: all), and a warning for too many.

    What the run may execute is not changed by it. A choice that names a tool that is left out becomes the wanted tools
    themselves. Raises UsageError for a name that no tool has.
    """
    tools = request.tools or ()
    if wanted is not None:
        listed = tuple(dict.fromkeys(wanted))
        known = [_name(tool) for tool in tools]
        for name in listed:
            if name not in known:
                meant = closest(name, known)
                hint = f"; did you mean `{meant}`?" if meant else ""
                raise UsageError("usage", f"there is no tool `{name}` to offer{hint} ({names(known) or 'none'})")
        tools = tuple(tool for tool in tools if _name(tool) in listed)
        request = msgspec.structs.replace(request, tools=tools or None, tool_choice=_choice(request, tools))
    if len(tools) <= many:
        return request, ()
    reason = f"{len(tools)} tools are offered: beyond {many} models choose worse; offer a few for each request"
    return request, (Note(path=("tools",), action="substituted", reason=reason, loss=False),)


def _choice(request: Request, tools: tuple[Tool | HostedTool, ...]) -> ToolChoice | None:
    choice = request.tool_choice
    if choice is None or not tools:
        return None
    left = {_name(tool) for tool in tools}
    if choice.names and not left.issuperset(choice.names):
        kept = tuple(name for name in choice.names if name in left)
        return msgspec.structs.replace(choice, names=kept or None)
    return choice


def _name(tool: Tool | HostedTool) -> str:
    return tool.name if isinstance(tool, Tool) else tool.kind
