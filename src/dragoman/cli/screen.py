"""A run as people watch it: the words as they come, each call and the first line of what it gave."""

from __future__ import annotations

import json

from dragoman.agent import AgentEvent, ToolEnd, ToolStart
from dragoman.cli.output import one_line, say
from dragoman.tools.result import text_of
from dragoman.types.content import Content, Refusal, Text, ToolCall, Valid
from dragoman.types.events import BlockEnd, BlockStart, Delta, Start

WIDTH = 160


class Screen:
    """Shows the events of a run on stdout."""

    def __init__(self) -> None:
        self._spoken: dict[int, bool] = {}  # the open blocks that are for people, and whether a word of each was shown
        self._mid_line = False
        self._running: list[ToolCall] = []
        self._several = False  # more than one call was at work at once

    def show(self, event: AgentEvent) -> None:
        """Show one event; thinking and bookkeeping are not shown."""
        match event:
            case Start():
                self._spoken.clear()
            case BlockStart():
                self._open(event.index, event.block)
            case Delta(field="text") if self._spoken.get(event.index) is not None:
                self._words(event.index, event.text)
            case BlockEnd(block=Text(text=text) | Refusal(text=text)) if self._spoken.get(event.index) is False:
                self._words(event.index, text)
            case ToolStart():
                self.close()
                self._several = bool(self._running)
                self._running.append(event.call)
                say(one_line(f"→ {event.call.name} {arguments(event.call)}", WIDTH), dim=True)
            case ToolEnd():
                self._result(event)
            case _:
                pass

    def close(self) -> None:
        """End the last line."""
        if self._mid_line:
            say("")
            self._mid_line = False

    def _result(self, event: ToolEnd) -> None:
        """One result under its call; where several run at once it names it."""
        self._running = [call for call in self._running if call.id != event.call.id]
        named = one_line(f"{event.call.name} {arguments(event.call)}", WIDTH // 2) + ": " if self._several else ""
        say(f"  {named}{'error: ' * event.output.is_error}{_gist(event)}", dim=True)

    def _open(self, index: int, block: Content) -> None:
        if isinstance(block, Text | Refusal):
            self.close()
            self._spoken[index] = False
            self._words(index, block.text)

    def _words(self, index: int, text: str) -> None:
        if text:
            say(text, end="")
            self._spoken[index] = True
            self._mid_line = not text.endswith("\n")


def arguments(call: ToolCall) -> str:
    """The arguments of a call as JSON for people; as the model wrote them when they are none."""
    found = call.parsed()
    return json.dumps(found.arguments, ensure_ascii=False) if isinstance(found, Valid) else call.arguments


def _gist(event: ToolEnd) -> str:
    text = event.output.display if event.output.display is not None else text_of(event.output.content)
    first, _, rest = text.strip("\n").partition("\n")
    more = rest.count("\n") + 1 if rest else 0
    return one_line(first, WIDTH) + (f" (+{more} lines)" if more else "")
