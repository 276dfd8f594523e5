"""What a tool is to the agent, and what it gives back."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from dragoman.transport.cancel import CancelToken
from dragoman.types.content import ResultContent
from dragoman.types.tool import Tool

Access: TypeAlias = Literal["read", "write", "execute", "network", "send"]


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop must know of a tool beyond what the model is told. Nothing of it is ever sent.

    `access` is what the tool does to the world, at worst: look (read), change files (write), run programs (execute),
    fetch from elsewhere (network), or make something known or happen elsewhere (send). `paths` are the arguments that
    are paths and `root` the folder they may not leave, `command` is the one that is a shell command, `subject` another
    one that patterns are matched against. `timeout` is in seconds. A tool that `polls` may be asked the same thing again
    and again; one that is to run `alone` has no other beside it.
    """

    access: Access = "read"
    paths: tuple[str, ...] = ()
    root: str | None = None
    command: str | None = None
    subject: str | None = None
    timeout: float | None = None
    polls: bool = False
    alone: bool = False


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What one call gave. `content` is for the model; `display` is for people and never enters the history (S0-47).

    `rest` says, in words for the model, where the whole of it can be read should it be cut.
    """

    content: tuple[ResultContent, ...]
    is_error: bool = False
    display: str | None = None
    rest: str | None = None


class ToolError(Exception):
    """Raise it in a tool to tell the model why, in these very words. It never leaves the tool's call."""


class AnyTool(Protocol):
    """Something the agent can call. Both ways of calling always give an output: a failure is one too (S0-49).

    `cancel` is pulled when nobody waits for the output any more.
    """

    @property
    def definition(self) -> Tool: ...
    @property
    def traits(self) -> Traits: ...
    def invoke(self, arguments: dict[str, Any], /, *, cancel: CancelToken | None = None) -> ToolOutput: ...
    async def ainvoke(self, arguments: dict[str, Any], /, *, cancel: CancelToken | None = None) -> ToolOutput: ...
