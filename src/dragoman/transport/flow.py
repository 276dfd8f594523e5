"""One exchange as a generator of steps, and the drivers that carry its steps out: one for sync callers, three for async ones.

A flow decides, a driver does: the flow yields a step and is sent its result, or is thrown the TransportError that came
instead. So whatever lies in a flow (retry, credentials, decoding) exists once, for sync and async callers alike.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from dragoman.errors import DragomanError, RemoteError, TransportError
from dragoman.transport.base import AsyncAnswer, AsyncTransport, Headers, Limits, Transport
from dragoman.transport.cancel import CancelToken, watching
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.line import Line
from dragoman.wire.base import Http

T = TypeVar("T")


class Send(msgspec.Struct, frozen=True):
    """Send this, letting go of any earlier answer. Gives the Head of the answer. In time, or `Late` is thrown."""

    http: Http
    seconds: float | None = None


class Read(msgspec.Struct, frozen=True):
    """Gives the next chunk of the body, or None at its end. In time, or `Late` is thrown."""

    seconds: float | None = None


class Sleep(msgspec.Struct, frozen=True):
    """Wait, with no connection held. Gives None."""

    seconds: float


class Late(TransportError):
    """A step took longer than its own `seconds`: the flow knows which limit that was."""

    def __init__(self) -> None:
        super().__init__("timeout", "a time limit passed")


class Drain(msgspec.Struct, frozen=True):
    """Nothing more of this answer is wanted: read its rest for at most so many seconds. Gives None."""

    seconds: float


class Pull(msgspec.Struct, frozen=True):
    """Gives the next item of a blocking iterator, or None at its end; the async driver asks for it in a thread."""

    items: Iterator[Any]


class Emit(msgspec.Struct, Generic[T], frozen=True):
    """Hand this to whoever asked. Gives None."""

    value: T


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer begins; header names are in lower case, the last of a name wins."""

    status: int
    headers: dict[str, str]

    @classmethod
    def of(cls, status: int, headers: Headers) -> Head:
        """The head of an answer as a server wrote it."""
        return cls(status=status, headers={name.lower(): value for name, value in headers})


Awaited: TypeAlias = Send | Read | Sleep | Drain | Pull
Step: TypeAlias = Awaited | Emit[T]
Flow: TypeAlias = Generator[Step[T], Any, None]
BOUNDED = (Send, Read)  # steps with a time of their own


def drive(
    flow: Flow[T], transport: Transport, limits: Limits, *, clock: Clock = SYSTEM, cancel: CancelToken | None = None
) -> Generator[T, None, None]:
    """Run `flow`, giving what it emits. Closing this generator closes the connection, wherever the flow stands.

    When `cancel` is cancelled, from whatever thread, the connection is closed and this generator just ends (C-29).
    """
    line = Line(cancel)
    with closing(flow), watching(cancel, line.cut), ExitStack() as held:
        answer: Any = None
        result: Any = None
        while not line.cancelled and (step := _next(flow, result)) is not None:
            try:
                match step:
                    case Emit():
                        result = yield step.value
                    case Read():
                        line.within(step.seconds)
                        result = next(answer.chunks, None)
                    case Pull():
                        result = next(step.items, None)
                    case Drain():
                        result = answer.drain(step.seconds)
                    case Sleep():
                        held.close()
                        result = clock.sleep(step.seconds, cancel)
                    case Send():
                        held.close()
                        line.within(step.seconds)
                        answer = held.enter_context(transport.open(step.http, limits, line))
                        result = Head.of(answer.status, answer.headers)
            except TransportError as error:
                result = Late() if error.code == "timeout" and line.late else error


class Means(NamedTuple):
    """What the steps of an async flow are carried out with."""

    transport: AsyncTransport
    limits: Limits
    clock: Clock = SYSTEM
    cancel: CancelToken | None = None


async def drive_async(flow: Flow[T], means: Means) -> AsyncGenerator[T, None]:
    """The same for async callers. Cancelling the task or scope closes the connection and goes on as ever."""
    with closing(flow):
        async with _Work(means) as work:
            result: Any = None
            while not work.cancelled and (step := _next(flow, result)) is not None:
                result = (yield step.value) if isinstance(step, Emit) else await work.result(step)


async def drive_gathered(flow: Flow[T], means: Means) -> AsyncGenerator[list[T], None]:
    """The same, giving together what the flow emits between two waits: what came in one read is handed on in one piece, and
    nothing is handed on later for it."""
    with closing(flow):
        async with _Work(means) as work:
            result: Any = None
            while not work.cancelled:
                gathered: list[T] = []
                try:
                    step = _next(flow, result)
                    while isinstance(step, Emit):
                        gathered.append(step.value)
                        step = next(flow, None)
                except DragomanError:
                    if gathered:
                        yield gathered
                    raise
                if gathered:
                    yield gathered
                if step is None:
                    return
                result = await work.result(step)


async def drive_whole(flow: Flow[T], means: Means) -> T | None:
    """Run `flow` to its end for whoever wants nothing on the way; gives the last thing that it emitted."""
    last: T | None = None
    with closing(flow):
        async with _Work(means) as work:
            result: Any = None
            while not work.cancelled and (step := _next(flow, result)) is not None:
                if isinstance(step, Emit):
                    last, result = step.value, None
                else:
                    result = await work.result(step)
    return last


class _Work:
    """The awaited steps of one flow. Its context lets go of the answer that is held."""

    def __init__(self, means: Means) -> None:
        self._transport, self._limits, self._clock, self._cancel = means
        self._held: AbstractAsyncContextManager[AsyncAnswer] | None = None
        self._answer: Any = None
        self._pulled: Iterator[Any] | None = None

    async def __aenter__(self) -> _Work:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._pulled is not None and (kind is not None or self.cancelled):
            await _left_in_thread(self._pulled)
        held, self._held = self._held, None
        if held is not None:
            await held.__aexit__(kind, error, at)

    @property
    def cancelled(self) -> bool:
        """Whether the word was given."""
        return self._cancel is not None and self._cancel.cancelled

    async def result(self, step: Awaited) -> Any:
        """What the flow gets for a step: its result, or the TransportError that it is to be thrown."""
        work = anext(self._answer.chunks, None) if isinstance(step, Read) else self._do(step)
        try:
            seconds = step.seconds if isinstance(step, BOUNDED) else None
            if seconds is None and self._cancel is None:
                return await work
            return await _bounded(work, seconds, self._cancel)
        except TransportError as error:
            return error

    async def _do(self, step: Send | Sleep | Drain | Pull) -> Any:
        match step:
            case Send():
                if self._held is not None:
                    await self.__aexit__(None, None, None)
                opened = self._transport.open(step.http, self._limits)
                self._answer = await opened.__aenter__()
                self._held = opened
                return Head.of(self._answer.status, self._answer.headers)
            case Pull():
                self._pulled = step.items
                return await _in_thread(step.items)
            case Drain():
                return await self._answer.drain(step.seconds)
            case Sleep():
                await self.__aexit__(None, None, None)
                return await self._clock.asleep(step.seconds)


class Meter:
    """Counts the bytes of one body."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.seen = 0

    def count(self, chunk: bytes) -> None:
        """Take note of a chunk; raises RemoteError too_large when there were too many bytes."""
        self.seen += len(chunk)
        if self.seen > self.limit:
            raise RemoteError(
                "too_large", f"the answer has more than {self.limit} bytes: raise Limits(body=…) to read it"
            )


def _next(flow: Flow[T], result: Any) -> Step[T] | None:
    try:
        return flow.throw(result) if isinstance(result, TransportError) else flow.send(result)
    except StopIteration:
        return None


async def _bounded(work: Awaitable[Any], seconds: float | None, cancel: CancelToken | None) -> Any:
    """What `work` gives; None when `cancel` was cancelled. Raises Late when it took longer than `seconds`."""
    from anyio import CancelScope, current_time
    from anyio.lowlevel import current_token

    loop: Any = current_token().native_token
    soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
    with CancelScope() as scope, watching(cancel, lambda: soon(scope.cancel)):
        if seconds is not None:
            scope.deadline = current_time() + seconds
        return await work
    if cancel is not None and cancel.cancelled:
        return None
    raise Late


async def _left_in_thread(items: Iterator[Any]) -> None:
    """End an iterator that has more: it may take as long as its next item does."""
    from anyio import CancelScope, to_thread

    close = getattr(items, "close", None)
    if close is not None:
        with CancelScope(shield=True):
            await to_thread.run_sync(close)


async def _in_thread(items: Iterator[Any]) -> Any:
    """The next item. A cancel waits until the thread has it, as an iterator cannot be closed while it runs."""
    from threading import Event, Lock

    from anyio import CancelScope, to_thread

    turn, done = Lock(), Event()  # the turn is taken once: by the thread, or by a cancel before it

    def pull() -> Any:
        if turn.acquire(blocking=False):
            try:
                return next(items, None)
            finally:
                done.set()

    try:
        return await to_thread.run_sync(pull)
    except BaseException:
        if not turn.acquire(blocking=False) and not done.is_set():
            with CancelScope(shield=True):
                await to_thread.run_sync(done.wait)
        raise
