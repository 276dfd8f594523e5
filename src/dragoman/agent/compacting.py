"""A model whose long conversations are cut and summed up before they are sent: two thin drivers of Memory."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable
from typing import Any, TypeAlias

from dragoman.agent.gather import AsyncModel, SyncModel, astream_assistant, stream_assistant
from dragoman.agent.memory import OVERFLOW, Memory, OnCut, Summing
from dragoman.agent.toolset import narrowed
from dragoman.client.completion import text_of
from dragoman.errors import ApiError, OutputError, RemoteError, TransportError
from dragoman.history.window import WHOLE, Cut, Window
from dragoman.transport.cancel import CancelToken
from dragoman.types.collect import Collector
from dragoman.types.events import Failure, Finish, KeepAlive, Start, StreamEvent
from dragoman.types.message import user
from dragoman.types.note import Note
from dragoman.types.request import Request

Chooser: TypeAlias = Callable[[Request], Iterable[str]]
FAULTS = (ApiError, TransportError, RemoteError, OutputError)  # of the model that sums up: the run goes on without it


class _Around:
    """What both share: the memory, and which tools a request offers."""

    def __init__(
        self,
        model: Any,
        window: Window | None = None,
        *,
        cut: Cut = WHOLE,
        compact: bool = True,
        on_cut: OnCut | None = None,
        choose: Chooser | None = None,
    ) -> None:
        self.model = model
        self.memory = Memory(window or Window(), cut=cut, compact=compact, on_cut=on_cut)
        self._choose = choose

    def _asked(self, request: Request) -> tuple[Request, tuple[Note, ...]]:
        return narrowed(request, None if self._choose is None else self._choose(request))


class Compacting(_Around):
    """A model for sync callers, for `Agent` and `drive`, in front of another (S4-13 to S4-17, I-09).

    `window` says how much is sent, `cut` how a conversation that goes on was cut before; `on_cut` is told of each new
    cut. The same model writes the summaries. `choose` names the tools that a request offers (S4-26). With
    `compact` False an overflow is raised as it came. Nothing of the conversation itself is changed or lost.
    """

    model: SyncModel

    def stream(self, request: Request, *, cancel: CancelToken | None = None) -> Stream:
        """The reply as it arrives; begins with the first event asked for."""
        return Stream(self, request, cancel)

    def events(self, request: Request, cancel: CancelToken | None, told: list[Note]) -> Generator[StreamEvent]:
        """See stream."""
        request, notes = self._asked(request)
        sent = self._run(self.memory.compose(request), cancel)
        while True:
            stream: Any = None
            seen = _Seen()
            try:
                stream = self.model.stream(sent, **_told(self.model.stream, cancel))
                for event in stream:
                    yield from seen.take(event)
                    if seen.overflow is not None:
                        break
            except ApiError as error:
                seen.refused(error)
            finally:
                told[:] = (*notes, *self.memory.notes, *getattr(stream, "notes", ()))
                if (close := getattr(stream, "close", None)) is not None:
                    close()
            if seen.overflow is None:
                self.memory.answered(sent, seen.reply, tuple(getattr(stream, "notes", ())))
                return
            sent = self._run(self.memory.overflowed(request, seen.overflow), cancel)

    def _run(self, steps: Summing, cancel: CancelToken | None) -> Request:
        answer: str | Exception | None = None
        try:
            while True:
                prompt = next(steps) if answer is None else steps.send(answer)
                answer = self._summary(prompt, cancel)
        except StopIteration as end:
            return end.value

    def _summary(self, prompt: str, cancel: CancelToken | None) -> str | Exception:
        complete: Any = getattr(self.model, "complete", None)
        try:
            if complete is not None:
                return complete(prompt, **_told(complete, cancel))
            return text_of(stream_assistant(self.model, Request(messages=(user(prompt),))))
        except FAULTS as error:
            return error


class AsyncCompacting(_Around):
    """The same for async callers."""

    model: AsyncModel

    def stream(self, request: Request, *, cancel: CancelToken | None = None) -> AsyncStream:
        """See Compacting.stream."""
        return AsyncStream(self, request, cancel)

    async def events(
        self, request: Request, cancel: CancelToken | None, told: list[Note]
    ) -> AsyncGenerator[StreamEvent]:
        """See stream."""
        request, notes = self._asked(request)
        sent = await self._run(self.memory.compose(request), cancel)
        while True:
            stream: Any = None
            seen = _Seen()
            try:
                stream = self.model.stream(sent, **_told(self.model.stream, cancel))
                async for event in stream:
                    for ready in seen.take(event):
                        yield ready
                    if seen.overflow is not None:
                        break
            except ApiError as error:
                seen.refused(error)
            finally:
                told[:] = (*notes, *self.memory.notes, *getattr(stream, "notes", ()))
                if (close := getattr(stream, "aclose", None) or getattr(stream, "close", None)) is not None:
                    await close()
            if seen.overflow is None:
                self.memory.answered(sent, seen.reply, tuple(getattr(stream, "notes", ())))
                return
            sent = await self._run(self.memory.overflowed(request, seen.overflow), cancel)

    async def _run(self, steps: Summing, cancel: CancelToken | None) -> Request:
        answer: str | Exception | None = None
        try:
            while True:
                prompt = next(steps) if answer is None else steps.send(answer)
                answer = await self._summary(prompt, cancel)
        except StopIteration as end:
            return end.value

    async def _summary(self, prompt: str, cancel: CancelToken | None) -> str | Exception:
        complete: Any = getattr(self.model, "complete", None)
        try:
            if complete is not None:
                return await complete(prompt, **_told(complete, cancel))
            return text_of(await astream_assistant(self.model, Request(messages=(user(prompt),))))
        except FAULTS as error:
            return error


class Stream:
    """One reply; `notes` are those of what was sent and of the model's own stream."""

    def __init__(self, around: Compacting, request: Request, cancel: CancelToken | None) -> None:
        self._told: list[Note] = []
        self._events = around.events(request, cancel, self._told)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was changed about the request, and what conversion could not carry over."""
        return tuple(self._told)

    def __iter__(self) -> Generator[StreamEvent]:
        return self._events

    def close(self) -> None:
        """End the stream."""
        self._events.close()


class AsyncStream:
    """The same for async callers."""

    def __init__(self, around: AsyncCompacting, request: Request, cancel: CancelToken | None) -> None:
        self._told: list[Note] = []
        self._events = around.events(request, cancel, self._told)

    @property
    def notes(self) -> tuple[Note, ...]:
        """See Stream."""
        return tuple(self._told)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._events

    async def aclose(self) -> None:
        """End the stream."""
        await self._events.aclose()


class _Seen:
    """What came of one try. Its beginning is held back until something was said, so that a try that overflows is unseen."""

    def __init__(self) -> None:
        self.overflow: ApiError | None = None
        self._held: list[StreamEvent] = []
        self._said = False
        self._collector = Collector()
        self._finish: Finish | None = None

    def take(self, event: StreamEvent) -> Iterable[StreamEvent]:
        """Take an event in; the events that can be shown."""
        if self._said:
            ready: list[StreamEvent] = [event]
        elif isinstance(event, Failure) and event.code == OVERFLOW:
            self.overflow = ApiError(event.code, event.message)
            return ()
        elif isinstance(event, Start | KeepAlive):
            self._held.append(event)
            return ()
        else:
            self._said = True
            ready = [*self._held, event]
        for each in ready:
            self._collector.feed(each)
        if isinstance(event, Finish):
            self._finish = event
        return ready

    def refused(self, error: ApiError) -> None:
        """The try failed before anything came; whatever is no overflow is raised."""
        if self._said or error.code != OVERFLOW:
            raise error
        self.overflow = error

    @property
    def reply(self) -> Any:
        """What came."""
        whole = None if self._finish is None else self._finish.reply
        return whole or self._collector.reply


def _told(function: Callable[..., Any], cancel: CancelToken | None) -> dict[str, CancelToken]:
    """The cancel token, for those who take one."""
    takes = cancel is not None and "cancel" in inspect.signature(function).parameters
    return {"cancel": cancel} if takes and cancel is not None else {}
