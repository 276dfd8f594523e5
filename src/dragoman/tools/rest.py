"""Results that were cut, whole, for as long as the program runs: the model reads on with `more`."""

from __future__ import annotations

from collections import OrderedDict
from typing import Annotated

from msgspec import Meta

from dragoman.tools.base import ToolError, ToolOutput
from dragoman.tools.function import FunctionTool, tool
from dragoman.tools.result import text_of
from dragoman.types.content import ToolCall

ROOM = 50_000_000  # characters kept in all; the oldest go first
LINES = 1000
CHARACTERS = 50_000


class Rest:
    """Keeps whole results: `keep` for the driver's manner, `tool` for the agent's tools."""

    def __init__(self, room: int = ROOM) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._room = room
        self._count = 0
        self.tool = self._more()

    def keep(self, _call: ToolCall, output: ToolOutput) -> str:
        """Keep a result, and say how the model reads the rest of it."""
        self._count += 1
        id = str(self._count)
        self._kept[id] = text_of(output.content)
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._room:
            self._kept.popitem(last=False)
        return f'all of it: `more` with {{"id":"{id}"}}'

    def _more(self) -> FunctionTool:
        @tool
        def more(
            id: Annotated[str, "The id that was named where the result was cut"],
            offset: Annotated[int, Meta(ge=1, description="The first line to read, counted from 1")] = 1,
            limit: Annotated[int, Meta(ge=1, description="How many lines to read")] = LINES,
        ) -> str:
            """Read on in a result that was too long to be shown whole."""
            if id not in self._kept:
                raise ToolError(f"result {id!r} is not kept (any more): call its tool again, and ask for less")
            lines = self._kept[id].split("\n")
            part = "\n".join(lines[offset - 1 : offset - 1 + limit])
            if not part:
                raise ToolError(f"result {id} has {len(lines)} lines: there is no line {offset}")
            cut = part[:CHARACTERS]
            following = offset + cut.count("\n") + (len(cut) == len(part))
            told = (
                f"\n[line {following - 1} of {len(lines)}; read on with offset={following}]"
                if following <= len(lines)
                else ""
            )
            return cut + told

        return more
