"""What some clients cannot read of their own wire: facts by the name that they give themselves, as a dialect's are of a server."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, StreamEvent


class Reader(NamedTuple):
    """`whole_calls`: a streamed call must come in one piece, since each piece is read as a call of its own. `card` is what
    else a model in a list must have, `alive` what it takes for a sign of life where its wire's own is none to it."""

    whole_calls: bool = False
    alive: bytes = b""
    card: tuple[tuple[str, Any], ...] = ()


CARD = (("type", "base"), ("capabilities", {"completion_chat": True, "function_calling": True}))
# By the beginning of `user-agent`. mistralai 3.7.0: a piece without `function.name` is no valid chunk to it, and a model in a
# list is none without a type and capabilities (measured). codex 0.171.0: it leaves after 300 s of comments, with "idle timeout
# waiting for SSE" (measured), and passes over the event by which its own vendor says that it is there (openai-node #1964).
READERS = {
    "mistral-client": Reader(whole_calls=True, card=CARD),
    "codex_": Reader(alive=b'event: keepalive\ndata: {"type":"keepalive"}\n\n'),
}


def reader(headers: dict[str, str]) -> Reader:
    """Who reads the answer."""
    said = headers.get("user-agent", "")
    return next((facts for name, facts in READERS.items() if said.startswith(name)), Reader())


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
