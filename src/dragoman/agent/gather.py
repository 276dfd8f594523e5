"""One reply of a model, gathered while its events are handed on."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Protocol, TypeAlias

from dragoman.agent.values import RunEvent
from dragoman.errors import ApiError, Cancelled, RemoteError, TransportError
from dragoman.transport.cancel import CancelToken
from dragoman.types.collect import Collector
from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Failure, Finish, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request

AgentEvent: TypeAlias = StreamEvent | RunEvent
OnEvent: TypeAlias = Callable[[AgentEvent], object]
SERVICE_ERRORS = (ApiError, TransportError, RemoteError)  # the other side's; ours and the user's are raised


class SyncModel(Protocol):
    """Anything that streams a reply (S0-02, S0-10). One whose `stream` takes `cancel` is handed the run's token."""

    def stream(self, request: Request, /) -> Iterable[StreamEvent]: ...


class AsyncModel(Protocol):
    """Its async twin."""

    def stream(self, request: Request, /) -> AsyncIterator[StreamEvent]: ...


class Gather:
    """Collects a stream, forwards it, and prefers the reply that a client's last event brings (C-30).

    `on_call` is told of each call as soon as its block is at its end: its place among the calls, and the call.
    """

    def __init__(self, emit: OnEvent, on_call: Callable[[int, ToolCall], object] | None = None) -> None:
        self._emit = emit
        self._on_call = on_call
        self._collector = Collector()
        self._calls: list[int] = []  # the indices of the blocks that are calls
        self._whole: Reply | None = None
        self.seen = False
        self.notes: tuple[Note, ...] = ()  # what conversion could not carry over, where the stream tells

    def feed(self, event: StreamEvent) -> None:
        """Take an event in."""
        self.seen = True
        self._collector.feed(event)
        if isinstance(event, Finish):
            self._whole = event.reply
        self._emit(event)
        if isinstance(event, BlockStart) and isinstance(event.block, ToolCall):
            self._calls.append(event.index)
        elif self._on_call is not None and isinstance(event, BlockEnd) and event.index in self._calls:
            place = sorted(self._calls).index(event.index)
            self._on_call(place, self._collector.reply.calls[place])

    def fail(self, error: ApiError | TransportError | RemoteError) -> None:
        """What the service did, as the last event, unless the stream brought it itself."""
        if self._collector.failure is None:
            retryable = error.retryable if isinstance(error, ApiError) else None
            self.feed(Failure(code=error.code, message=error.message, retryable=retryable))

    def end(self, stream: object) -> None:
        """The stream is over."""
        self.notes = tuple(getattr(stream, "notes", ()))

    @property
    def reply(self) -> Reply:
        """The reply so far; its stop is `cancelled` where it came to no end (C-29)."""
        return self._whole or self._collector.reply


def ask(
    model: SyncModel, request: Request, gather: Gather, cancel: CancelToken | None, late: Callable[[], bool]
) -> None:
    """Stream one reply into `gather`, until it ends, `cancel` is pulled, or it is `late`. A service's fault is an event."""
    try:
        stream: Any = model.stream(request, **_told(model, cancel))
        try:
            for event in stream:
                gather.feed(event)
                if (cancel is not None and cancel.cancelled) or late():
                    break
        finally:
            gather.end(stream)
            close = getattr(stream, "close", None)
            if close is not None:
                close()
    except Cancelled:
        pass
    except SERVICE_ERRORS as error:
        gather.fail(error)


async def aask(
    model: AsyncModel, request: Request, gather: Gather, cancel: CancelToken | None, late: Callable[[], bool]
) -> None:
    """As `ask`, for an async model."""
    try:
        stream: Any = model.stream(request, **_told(model, cancel))
        try:
            async for event in stream:
                gather.feed(event)
                if (cancel is not None and cancel.cancelled) or late():
                    break
        finally:
            gather.end(stream)
            close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
            if close is not None:
                await close()
    except Cancelled:
        pass
    except SERVICE_ERRORS as error:
        gather.fail(error)


def stream_assistant(model: SyncModel, request: Request, on_event: OnEvent | None = None) -> Reply:
    """One whole reply, its events forwarded as they come (S0-09). A service's failure is in the reply's stop."""
    gather = Gather(on_event or ignore)
    ask(model, request, gather, None, _never)
    return gather.reply


async def astream_assistant(model: AsyncModel, request: Request, on_event: OnEvent | None = None) -> Reply:
    """As `stream_assistant`, for an async model."""
    gather = Gather(on_event or ignore)
    await aask(model, request, gather, None, _never)
    return gather.reply


def ignore(_event: AgentEvent) -> None:
    """For those who do not watch."""


def _never() -> bool:
    return False


def _told(model: SyncModel | AsyncModel, cancel: CancelToken | None) -> dict[str, CancelToken]:
    takes = cancel is not None and "cancel" in inspect.signature(model.stream).parameters
    return {"cancel": cancel} if takes and cancel is not None else {}
