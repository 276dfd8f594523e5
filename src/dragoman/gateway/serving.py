"""One exchange with a client over ASGI: a model's answer as it comes, its errors with their real status, a client who left.

The status line waits for the first word of the answer, so that whatever goes wrong before has the status that it has. A model
that stays silent longer than `patience` gets the line sent, and signs of life after it; from there on a fault is told in the
stream. What a slow reader does not take is not asked of the model either: every write waits for room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import anyio

from dragoman.client import AsyncModelStream
from dragoman.errors import ApiError, DragomanError
from dragoman.gateway import faults
from dragoman.gateway.answer import Cut
from dragoman.gateway.asking import Asked
from dragoman.gateway.behind import Behind
from dragoman.gateway.doors import EVENTS, Door
from dragoman.gateway.ending import Ending
from dragoman.gateway.idle import Idle
from dragoman.gateway.losses import REPLY, comment, header, of_request, places, since
from dragoman.gateway.several import Several
from dragoman.types.events import BlockStart, Failure, KeepAlive, Start, StreamEvent, UsageUpdate

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

BEFORE = (Start, BlockStart, UsageUpdate, KeepAlive)  # events that say nothing yet
QUICK = 0.05  # seconds after which it matters that a client leaves


class Bounds(NamedTuple):
    """`body`: bytes of a request; `pause`: the longest silence in the middle of one; `active`: requests answered at a time; `patience`: seconds before a stream's status line is
    sent without a word to follow; `alive`: the longest silence towards a client; `drain`: seconds that open answers have
    when the server stops."""

    body: int = 64 * 1024 * 1024
    active: int = 1000
    patience: float = 10.0
    alive: float = 10.0
    drain: float = 30.0
    pause: float = 60.0


class Reply:
    """The answer's side of one exchange: a head once, then bytes, one writer at a time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self.begun = False
        self.wrote = monotonic()

    async def begin(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """The head, if it was not sent yet."""
        async with self._lock:
            if not self.begun:
                self.begun = True
                await self._send(_head(status, headers))

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Some of the body; waits until there is room for more."""
        if data or not more:
            async with self._lock:
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
                self.wrote = monotonic()

    async def whole(self, answered: faults.Answered) -> bool:
        """All of it, if nothing was sent yet: whether it was so is known once the writer before is through."""
        status, headers, body = answered
        head = _head(status, (*headers, ("content-length", str(len(body)))))
        async with self._lock:
            if self.begun:
                return False
            self.begun = True
            await self._send(head)
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
            return True

    async def cut(self, before: bytes) -> None:
        """The last of a body that has no end, which is for the server to cut: not before its head is out."""
        async with self._lock:
            if before:
                await self._send({"type": "http.response.body", "body": before, "more_body": True})


def _head(status: int, headers: tuple[tuple[str, str], ...]) -> Message:
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": raw}


class Serving:
    """One request, answered by a model."""

    def __init__(self, asked: Asked, door: Door, reply: Reply, bounds: Bounds, behind: Behind) -> None:
        self._asked, self._door, self._reply, self._bounds, self._behind = asked, door, reply, bounds, behind
        self._stream: AsyncModelStream | Several | Idle = asked.model.forward(asked.forward)
        self._notes = self._stream.notes
        self._here = not isinstance(asked.model, Idle) and asked.model.target is None  # tells its own once it begins
        self._told: list[str] = []  # of what was lost
        self._read = False  # the model's answer came to its end

    async def run(self, receive: Receive) -> None:
        """Answer. A client who leaves ends it at once, wherever it stands, and the connection to the model with it."""
        breath = _Breath(self._breathe, self._bounds.patience) if self._asked.stream else None
        leaving = _Leaving(receive)
        try:
            await self._answer()
        except asyncio.CancelledError:
            if not leaving.taken():
                raise
        finally:
            leaving.stop()
            if breath is not None:
                breath.stop()
            if not self._read:
                with anyio.CancelScope(shield=True):
                    await self._stream.close()

    async def _answer(self) -> None:
        try:
            await (self._streamed() if self._asked.stream else self._whole())
        except DragomanError as error:
            await self._failed(self._behind.broken(error))
        except Cut as cut:  # an answer without its end: the server closes the connection
            await self._reply.cut(cut.before)
        except Exception as error:  # a library's fault in this one answer; the client gets one, the operator a line
            await self._failed(faults.bug(error))
            raise

    async def _whole(self) -> None:
        failure = await self._stream.finish()
        if failure is not None:
            raise faults.raised(failure)
        self._read = True
        body = self._asked.answer.whole(self._stream.reply)
        await self._reply.whole((200, (("content-type", "application/json"), *header(self._lost())), body))

    async def _streamed(self) -> None:
        held: list[StreamEvent] = []
        async for batch in self._stream.batches():
            said = self._said(batch, held)
            if said:
                await self._begin()
                await self._reply.write(self._asked.answer.events(said))
        self._read = True
        await self._reply.write(self._asked.answer.close() + self._late(), more=False)

    def _said(self, batch: list[StreamEvent], held: list[StreamEvent]) -> list[StreamEvent]:
        """What of a batch the client is to be told now. What says nothing yet is `held` until something else does."""
        fails = isinstance(batch[-1], Failure)
        if self._reply.begun and not held and not fails:
            return batch
        said: list[StreamEvent] = []
        for at, event in enumerate(batch):
            if isinstance(event, Failure):
                if not (said or self._reply.begun):
                    raise faults.raised(event)
                event = self._behind.spoken(event)
            elif isinstance(event, BEFORE) and not (said or self._reply.begun):
                held.append(event)
                continue
            if held:
                said += held
                held.clear()
            if not fails:
                return said + batch[at:]
            said.append(event)
        return said

    async def _begin(self) -> None:
        if not self._reply.begun:
            headers = (("content-type", self._door.media), ("cache-control", "no-cache"), ("x-accel-buffering", "no"))
            self._told = self._lost()
            await self._reply.begin(200, (*headers, *header(self._told)))

    def _lost(self) -> list[str]:
        """The places of what is known to be lost by now."""
        answer, told = self._asked.answer, self._stream.notes
        asked = of_request(told) if self._here else self._notes
        if not (asked or told or answer.notes):
            return []
        return [*places(asked), *since(asked, told, passes=answer.passes), *places(answer.notes, REPLY)]

    def _late(self) -> bytes:
        """What was lost since the head was sent, where a stream has a place for it that is none of its wire."""
        if self._door.media != EVENTS or self._asked.answer.passes:
            return b""
        before = frozenset(self._told)
        return comment([place for place in self._lost() if place not in before])

    async def _failed(self, error: ApiError) -> None:
        """A refusal, or the end of what was begun: whoever breathes may begin until the refusal has its turn to write."""
        if not self._reply.begun and await self._reply.whole(faults.written(error, self._door.wire)):
            return
        try:
            last = self._asked.answer.failed(Failure(code=error.code, message=error.message))
        except Cut as cut:
            await self._reply.cut(cut.before)
        else:
            await self._reply.write(last, more=False)

    async def _breathe(self) -> None:
        """Signs of life while nothing else is written."""
        await self._begin()
        while True:
            silent = monotonic() - self._reply.wrote
            if silent >= self._bounds.alive:
                await self._reply.write(self._asked.answer.alive())
                silent = 0.0
            await asyncio.sleep(self._bounds.alive - silent)


class _Breath:
    """Signs of life that begin after some time: an answer that is quicker costs no task."""

    def __init__(self, breathe: Callable[[], Coroutine[Any, Any, None]], patience: float) -> None:
        self._breathe = breathe
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(patience, self._start)

    def stop(self) -> None:
        """No more of them."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._breathe())


class _Leaving(Ending):
    """A client who may leave: the task that answers him is ended then, wherever it stands. An answer that is quicker than
    a client can leave costs no task for it."""

    def __init__(self, receive: Receive) -> None:
        super().__init__()
        self._receive = receive
        self._watch: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(QUICK, self._start)

    def stop(self) -> None:
        """It is no matter any more whether he leaves."""
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def _start(self) -> None:
        self._watch = asyncio.create_task(self._until_gone())

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.end()
