"""A reply while it arrives, for sync and for async callers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Any

from dragoman.client.attempts import Attempt
from dragoman.client.call import Call
from dragoman.errors import UsageError
from dragoman.transport.flow import Flow, Means, drive_async, drive_gathered, drive_whole
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
        try:
            return next(self._events)
        except ValueError as error:
            if _is_refusal(error):
                raise _twice() from None
            raise

    def close(self) -> None:
        """End the stream and let go of its connection. Raises UsageError while another thread reads it."""
        try:
            self._events.close()
        except ValueError as error:
            if _is_refusal(error):
                raise _twice() from None
            raise

    def __enter__(self) -> ModelStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncModelStream(_Telling):
    """The same for `async for` and `async with`; cancelling the task closes the connection and goes on as ever."""

    def __init__(self, call: Call, steps: Flow[StreamEvent], means: Means) -> None:
        super().__init__(call)
        self._steps, self._means = steps, means
        self._events: AsyncGenerator[StreamEvent, None] | None = None  # each made when it is asked for: one is read
        self._batches: AsyncGenerator[list[StreamEvent], None] | None = None
        self._finishing = False

    def __aiter__(self) -> AsyncModelStream:
        return self

    async def __anext__(self) -> StreamEvent:
        if self._events is None:
            if self._batches is not None or self._finishing:
                raise _twice()
            self._events = drive_async(self._steps, self._means)
        try:
            return await anext(self._events)
        except RuntimeError:
            if _runs(self._events):
                raise _twice() from None
            raise

    def batches(self) -> AsyncGenerator[list[StreamEvent], None]:
        """The same events, in lists of what came at one time: for whoever hands them on. One reads these or the events:
        raises UsageError where the events are read already."""
        if self._events is not None or self._finishing:
            raise _twice()
        if self._batches is None:
            self._batches = drive_gathered(self._steps, self._means)
        return self._batches

    async def finish(self) -> Failure | None:
        """Read it, or what is left of it, to its end, for whoever wants the `reply` alone; the Failure that it then comes
        to, if it does. Raises UsageError while another task reads it."""
        if self._finishing or self._is_read():
            raise _twice()
        self._finishing = True
        try:
            last = await self._rest()
        finally:
            self._finishing = False
        return last if isinstance(last, Failure) else None

    async def _rest(self) -> StreamEvent | None:
        """The last event of what nobody has read."""
        last: StreamEvent | None = None
        if self._events is not None:
            async for event in self._events:
                last = event
        elif self._batches is not None:
            async for batch in self._batches:
                last = batch[-1]
        else:
            last = await drive_whole(self._steps, self._means)
        return last

    def _is_read(self) -> bool:
        """Whether another task waits for events at this moment."""
        return _runs(self._events) or _runs(self._batches)

    async def close(self) -> None:
        """End the stream and let go of its connection. Raises UsageError while another task reads it."""
        if self._finishing or self._is_read():
            raise _twice()
        if self._batches is not None:
            await self._batches.aclose()
        if self._events is not None:
            await self._events.aclose()
        self._steps.close()  # nothing begins after this

    async def __aenter__(self) -> AsyncModelStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


def _twice() -> UsageError:
    return UsageError(
        "usage", "one reads a stream once at a time: to end one that is being read, cancel its task or token"
    )


def _is_refusal(error: ValueError) -> bool:
    """Whether a generator refused to be entered, as another thread was within: no line of it was run then. By the time one
    asks, that thread may be through."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _runs(reading: Any) -> bool:
    """Whether an async generator, if there is one, is in the midst of a step."""
    return getattr(reading, "ag_running", False)
