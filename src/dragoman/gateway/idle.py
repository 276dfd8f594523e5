"""The answer to a question without a turn, by which clients of the ollama wire ask that a model be loaded, or let go: only a
server of that wire does so, and any other model is there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from dragoman.client import AsyncModel, Forward
from dragoman.types.base import Origin
from dragoman.types.collect import explode
from dragoman.types.events import StreamEvent
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Stop
from dragoman.types.request import Request

WIRE = "ollama"
DONE = {"done": True}


def asks_nothing(request: Request, wire: str, model: AsyncModel) -> bool:
    """Whether a request is such a question to a model that cannot be asked it."""
    return wire == WIRE and not request.messages and (model.target is None or model.target.wire != WIRE)


class Idle:
    """A model that says nothing, and the answer of one: see AsyncModel and AsyncModelStream."""

    def __init__(self, request: Request, now: int) -> None:
        left = (request.opaque or {}).get(WIRE, {})
        word = "unload" if left.get("keep_alive") in (0, "0", "0s") else "load"
        origin = Origin(wire=WIRE, model=request.model)
        self._stream = bool(request.stream)
        self.notes: tuple[Note, ...] = ()
        self.reply = Reply(
            message=Message(role="assistant", content=(), origin=origin),
            stop=Stop(reason="other", raw=word),
            model=request.model,
            created=now,
            opaque={WIRE: DONE},
        )

    def forward(self, ask: Forward) -> Idle:
        """See AsyncModel.forward."""
        return self

    async def batches(self) -> AsyncGenerator[list[StreamEvent], None]:
        """The end at once."""
        if self._stream:
            events: list[Any] = list(explode(self.reply))
            yield events

    async def finish(self) -> None:
        """It has ended."""

    async def close(self) -> None:
        """Nothing is open."""
