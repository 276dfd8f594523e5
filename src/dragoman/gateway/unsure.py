"""The end of a call, held back until the answer goes on: what a break leaves behind is no call that a client may run.

Whoever reads a stream ends what is open when the stream breaks, so that what came is kept. Towards a client such an end would
say that the call is whole: coding agents run a call at its end, before the error that follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, StreamEvent


class Unsure:
    """Events in, events out: the ends of calls with the event after them, unless that is a failure."""

    def __init__(self) -> None:
        self._calls: set[int] = set()
        self._held: list[StreamEvent] = []

    def feed(self, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        """What of `events` can be told now, with what was held."""
        out: list[StreamEvent] = []
        for event in events:
            if type(event) is Delta and not self._held:  # nearly all of a stream
                out.append(event)
                continue
            if isinstance(event, BlockEnd) and (self._held or event.index in self._calls):
                self._held.append(event)
                continue
            if self._held:
                if not isinstance(event, Failure):
                    out += self._held
                self._held.clear()
            if isinstance(event, BlockStart) and isinstance(event.block, ToolCall):
                self._calls.add(event.index)
            out.append(event)
        return out
