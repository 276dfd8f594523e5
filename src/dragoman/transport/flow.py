"""One exchange as a generator of steps, and the two drivers that carry its steps out.

A flow decides, a driver does: the flow yields a step and is sent its result, or is thrown the TransportError that came
instead. So whatever lies in a flow (retry, credentials, decoding) exists once, for sync and async callers alike.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from dragoman.errors import RemoteError, TransportError
from dragoman.transport.base import AsyncTransport, Headers, Limits, Transport
from dragoman.wire.base import Http

T = TypeVar("T")


class Send(msgspec.Struct, frozen=True):
    """Send this, letting go of any earlier answer. Gives the Head of the answer."""

    http: Http


class Read(msgspec.Struct, frozen=True):
    """Gives the next chunk of the body, or None at its end."""


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


Step: TypeAlias = Send | Read | Drain | Pull | Emit[T]
Flow: TypeAlias = Generator[Step[T], Any, None]


def drive(flow: Flow[T], transport: Transport, limits: Limits) -> Generator[T, None, None]:
    """Run `flow`, giving what it emits. Closing this generator closes the connection, wherever the flow stands."""
    with closing(flow), ExitStack() as held:
        answer: Any = None
        result: Any = None
        while (step := _next(flow, result)) is not None:
            try:
                match step:
                    case Emit():
                        result = yield step.value
                    case Read():
                        result = next(answer.chunks, None)
                    case Pull():
                        result = next(step.items, None)
                    case Drain():
                        result = answer.drain(step.seconds)
                    case Send():
                        held.close()
                        answer = held.enter_context(transport.open(step.http, limits))
                        result = Head.of(answer.status, answer.headers)
            except TransportError as error:
                result = error


async def drive_async(flow: Flow[T], transport: AsyncTransport, limits: Limits) -> AsyncGenerator[T, None]:
    """The same for async callers."""
    async with AsyncExitStack() as held:
        held.enter_context(closing(flow))
        answers = await held.enter_async_context(AsyncExitStack())
        answer: Any = None
        result: Any = None
        while (step := _next(flow, result)) is not None:
            try:
                match step:
                    case Emit():
                        result = yield step.value
                    case Read():
                        result = await anext(answer.chunks, None)
                    case Pull():
                        result = await _in_thread(step.items)
                    case Drain():
                        result = await answer.drain(step.seconds)
                    case Send():
                        await answers.aclose()
                        answer = await answers.enter_async_context(transport.open(step.http, limits))
                        result = Head.of(answer.status, answer.headers)
            except TransportError as error:
                result = error


def whole(limit: int) -> Generator[Read, bytes | None, bytes]:
    """The part of a flow that reads a body to its end. Raises RemoteError too_large beyond `limit` bytes."""
    meter = Meter(limit)
    parts: list[bytes] = []
    while (chunk := (yield Read())) is not None:
        meter.count(chunk)
        parts.append(chunk)
    return b"".join(parts)


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


async def _in_thread(items: Iterator[Any]) -> Any:
    from anyio import to_thread

    return await to_thread.run_sync(next, items, None)
