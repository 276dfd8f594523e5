"""Two thin drivers of the machine: they ask the model and run the tools, in order or at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from dragoman.agent.run import Answer, Done, NeedModel, OpenCall, Outcome, Run, RunEvent, ToolStart
from dragoman.errors import ApiError, Cancelled, RemoteError, TransportError, UsageError
from dragoman.tools.base import AnyTool
from dragoman.tools.result import failed
from dragoman.types.collect import Collector
from dragoman.types.events import Failure, Finish, StreamEvent
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Usage
from dragoman.types.request import Request

AgentEvent: TypeAlias = StreamEvent | RunEvent
OnEvent: TypeAlias = Callable[[AgentEvent], object]
SERVICE_ERRORS = (ApiError, TransportError, RemoteError)  # the other side's; ours and the user's are raised


class SyncModel(Protocol):
    """Anything that streams a reply (S0-02, S0-10)."""

    def stream(self, request: Request, /) -> Iterable[StreamEvent]: ...


class AsyncModel(Protocol):
    """Its async twin."""

    def stream(self, request: Request, /) -> AsyncIterator[StreamEvent]: ...


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `text` is the last answer, `history` what was stored; `incomplete` a reply that broke off.

    `detail` says why in words where the outcome is not "done". A service that failed is an outcome, not an exception,
    because the history up to then is worth keeping.
    """

    outcome: Outcome
    text: str
    history: tuple[Message, ...]
    steps: int
    usage: Usage | None = None
    notes: tuple[Note, ...] = ()
    detail: str | None = None
    replies: tuple[Reply, ...] = ()
    incomplete: Reply | None = None


def run(machine: Run, model: SyncModel, tools: Sequence[AnyTool] = (), *, on_event: OnEvent | None = None) -> RunResult:
    """Drive `machine` to its end, one tool after the other. `on_event` sees each event of model and tools as it comes.

    Whatever is raised on the way (an interrupt, a missing key), every call in `machine.history` has its result.
    Raises UsageError where a tool of the request has nothing to run it.
    """
    table, emit = _table(machine, tools), on_event or _ignore
    try:
        while True:
            need = machine.step()
            if isinstance(need, Done):
                return result(machine, need)
            if isinstance(need, NeedModel):
                _take(machine, _ask(model, need.request, emit), emit)
                continue
            for item in need.calls:
                emit(ToolStart(call=item.call))
                output = table[item.call.name].invoke(item.arguments)
                _show(machine.give(Answer(position=item.position, output=output)), emit)
    finally:
        machine.cancel()


async def arun(
    machine: Run, model: AsyncModel, tools: Sequence[AnyTool] = (), *, on_event: OnEvent | None = None
) -> RunResult:
    """As `run`, with the calls of one reply at once: results are stored in the order of the calls all the same."""
    import asyncio

    table, emit = _table(machine, tools), on_event or _ignore

    async def answer(item: OpenCall) -> None:
        emit(ToolStart(call=item.call))
        try:
            output = await table[item.call.name].ainvoke(item.arguments)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            output = failed(f"`{item.call.name}` was cancelled from within")
        _show(machine.give(Answer(position=item.position, output=output)), emit)

    try:
        while True:
            need = machine.step()
            if isinstance(need, Done):
                return result(machine, need)
            if isinstance(need, NeedModel):
                _take(machine, await _aask(model, need.request, emit), emit)
                continue
            async with asyncio.TaskGroup() as group:
                for item in need.calls:
                    group.create_task(answer(item))
    finally:
        machine.cancel()


def stream_assistant(model: SyncModel, request: Request, on_event: OnEvent | None = None) -> Reply:
    """One whole reply, its events forwarded as they come (S0-09). A service's failure is in the reply's stop."""
    return _ask(model, request, on_event or _ignore).reply


async def astream_assistant(model: AsyncModel, request: Request, on_event: OnEvent | None = None) -> Reply:
    """As `stream_assistant`, for an async model."""
    return (await _aask(model, request, on_event or _ignore)).reply


def result(machine: Run, done: Done) -> RunResult:
    """What a machine that is done has come to."""
    last = machine.replies[-1] if machine.replies else None
    return RunResult(
        outcome=done.outcome,
        text=last.text if last else "",
        history=tuple(machine.history),
        steps=len(machine.replies),
        usage=machine.usage,
        notes=tuple(machine.notes),
        detail=done.detail,
        replies=tuple(machine.replies),
        incomplete=machine.incomplete,
    )


class _Gather:
    """Collects a stream, forwards it, and prefers the reply that a client's last event brings (C-30)."""

    def __init__(self, emit: OnEvent) -> None:
        self._emit = emit
        self._collector = Collector()
        self._whole: Reply | None = None
        self.notes: tuple[Note, ...] = ()  # what conversion could not carry over, where the stream tells

    def feed(self, event: StreamEvent) -> None:
        self._collector.feed(event)
        if isinstance(event, Finish):
            self._whole = event.reply
        self._emit(event)

    def fail(self, error: ApiError | TransportError | RemoteError) -> None:
        if self._collector.failure is None:  # a client may both send the event and raise
            retryable = error.retryable if isinstance(error, ApiError) else None
            self.feed(Failure(code=error.code, message=error.message, retryable=retryable))

    def end(self, stream: object) -> None:
        self.notes = tuple(getattr(stream, "notes", ()))

    @property
    def reply(self) -> Reply:
        return self._whole or self._collector.reply


def _ask(model: SyncModel, request: Request, emit: OnEvent) -> _Gather:
    gather = _Gather(emit)
    try:
        stream = model.stream(request)
        try:
            for event in stream:
                gather.feed(event)
        finally:
            gather.end(stream)
            close = getattr(stream, "close", None)
            if close is not None:
                close()
    except Cancelled:
        pass
    except SERVICE_ERRORS as error:
        gather.fail(error)
    return gather


async def _aask(model: AsyncModel, request: Request, emit: OnEvent) -> _Gather:
    gather = _Gather(emit)
    try:
        stream = model.stream(request)
        try:
            async for event in stream:
                gather.feed(event)
        finally:
            gather.end(stream)
            close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
            if close is not None:
                await close()
    except Cancelled:
        pass
    except SERVICE_ERRORS as error:
        gather.fail(error)
    return gather


def _take(machine: Run, gather: _Gather, emit: OnEvent) -> None:
    machine.notes.extend(note for note in dict.fromkeys(gather.notes) if note not in machine.notes)
    _show(machine.give(gather.reply), emit)


def _table(machine: Run, tools: Sequence[AnyTool]) -> dict[str, AnyTool]:
    table = {item.definition.name: item for item in tools}
    if lacking := [name for name in machine.offered if name not in table]:
        raise UsageError("usage", f"tool {lacking[0]!r} is offered to the model, and nothing was passed to run it")
    return table


def _show(events: tuple[RunEvent, ...], emit: OnEvent) -> None:
    for event in events:
        emit(event)


def _ignore(_event: AgentEvent) -> None:
    pass
