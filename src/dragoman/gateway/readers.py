"""Clients that cannot read all of their own wire: who one is, and calls in one piece for those to whom a piece is a call."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dragoman.dialect import readers
from dragoman.dialect.readers import Reader as Reader
from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, StreamEvent

NAME = 64  # letters of what a client says that he is, which are looked at


def reader(headers: Mapping[str, str]) -> Reader:
    """Who reads the answer."""
    return readers.reader(headers.get("user-agent", "")[:NAME])


class Wholes:
    """Calls in one piece: each is told when it has ended and the answer goes on. One on which the answer broke off is not."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[BlockStart, list[str]]] = {}
        self._ended: list[StreamEvent] = []

    def feed(self, event: StreamEvent) -> tuple[StreamEvent, ...]:
        """What the client shall see of one event."""
        match event:
            case BlockStart(block=ToolCall() as call):
                self._open[event.index] = (event, [call.arguments])
            case Delta(index=index, field="arguments") if index in self._open:
                self._open[index][1].append(event.text)
            case BlockEnd(index=index) if index in self._open:
                start, pieces = self._open.pop(index)
                self._ended += (replace(start, block=replace(start.block, arguments="".join(pieces))), event)
            case Failure():
                self._ended.clear()
                return (event,)
            case _:
                told = (*self._ended, event)
                self._ended.clear()
                return told
        return ()
