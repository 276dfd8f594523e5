"""What a tool is to the agent, and what it gives back."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from dragoman.types.content import ResultContent
from dragoman.types.tool import Tool


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What one call gave. `content` is for the model; `display` is for people and never enters the history (S0-47)."""

    content: tuple[ResultContent, ...]
    is_error: bool = False
    display: str | None = None


class ToolError(Exception):
    """Raise it in a tool to tell the model why, in these very words. It never leaves the tool's call."""


class AnyTool(Protocol):
    """Something the agent can call. Both ways of calling always give an output: a failure is one too (S0-49)."""

    @property
    def definition(self) -> Tool: ...
    def invoke(self, arguments: dict[str, Any]) -> ToolOutput: ...
    async def ainvoke(self, arguments: dict[str, Any]) -> ToolOutput: ...
