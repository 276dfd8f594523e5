"""A reply while it arrives, for sync and for async callers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Any

from dragoman.client.attempts import Attempt
from dragoman.client.call import Call
from dragoman.types.events import Failure, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply


class _Telling:
    """What a stream tells at any time."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def reply(self) -> Reply:
        """The reply so far: stop `cancelled` while it is not at its end, `error` after a Failure (C-29)."""
        return self._call.reply

    @property
    def value(self) -> Any:
        """The value that was asked for with `output`; None before the end, and where none was asked for."""
        return self._call.reply.parsed

    @property
    def notes(self) -> tuple[Note, ...]:
        """What conversion could not carry over: of the request at once, of the answer as it comes."""
        return self._call.notes

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The requests sent so far, each with what came of it (S0-75)."""
        return self._call.attempts


class ModelStream(_Telling):
    """Iterate to get events; the request is sent with the first. The last is Finish, with the reply, or Failure.

    Raises ApiError when the service refuses, TransportError when no answer begins; an answer that breaks off ends with
    a Failure. Leaving the `with`, `close`, or dropping the stream closes the connection at once; then the iteration
    just ends, and `reply` holds what arrived (S0-78).
    """

    def __init__(self, call: Call, events: Generator[StreamEvent, None, None]) -> None:
        super().__init__(call)
        self._events = events

    def __iter__(self) -> ModelStream:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)

    def close(self) -> None:
        """End the stream and let go of its connection."""
        self._events.close()

    def __enter__(self) -> ModelStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncModelStream(_Telling):
    """The same for `async for` and `async with`; cancelling the task closes the connection and goes on as ever."""

    def __init__(
        self,
        call: Call,
        events: AsyncGenerator[StreamEvent, None],
        batches: AsyncGenerator[list[StreamEvent], None],
        rest: Callable[[], Awaitable[StreamEvent | None]],
    ) -> None:
        super().__init__(call)
        self._events = events
        self._batches = batches
        self._rest = rest
        self._begun: AsyncGenerator[StreamEvent | list[StreamEvent], None] | None = None  # what is read of it

    def __aiter__(self) -> AsyncModelStream:
        return self

    async def __anext__(self) -> StreamEvent:
        self._begun = self._events
        return await anext(self._events)

    def batches(self) -> AsyncGenerator[list[StreamEvent], None]:
        """The same events, in lists of what came at one time: for whoever hands them on. One reads these or the events."""
        self._begun = self._batches
        return self._batches

    async def finish(self) -> Failure | None:
        """Read it, or what is left of it, to its end, for whoever wants the `reply` alone; the Failure that it then comes
        to, if it does."""
        last: StreamEvent | list[StreamEvent] | None = None
        if self._begun is None:
            last = await self._rest()
        else:
            async for read in self._begun:
                last = read
        last = last[-1] if isinstance(last, list) else last
        return last if isinstance(last, Failure) else None

    async def close(self) -> None:
        """End the stream and let go of its connection."""
        self._begun = self._events  # nothing begins after this
        await self._batches.aclose()
        await self._events.aclose()

    async def __aenter__(self) -> AsyncModelStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
