"""One call of a model as a flow: what is sent, what is made of the answer, and what is known of it at any time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from dragoman.catalog.target import Target
from dragoman.client.attempts import Attempt, Attempts
from dragoman.client.refusal import failed
from dragoman.client.timing import Stopwatch
from dragoman.errors import ApiError, Cancelled, DragomanError, LossyError
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.flow import Emit, Flow, Pull, Step
from dragoman.types.collect import Collector
from dragoman.types.events import Failure, Finish, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request


class Producer(Protocol):
    """Anything that answers a Request with events: a local model, a script, another Model."""

    def stream(self, request: Request) -> Iterator[StreamEvent]: ...


@runtime_checkable
class Here(Producer, Protocol):
    """A model in this process that reads prompts: it can say what it would be asked, and how long that is."""

    def turn(self, request: Request) -> Any: ...
    def count(self, request: Request) -> int: ...


class Reading(Protocol):
    """What is made of an answer on its way to the caller, where more is wanted than its text."""

    @property
    def value(self) -> Any: ...
    def refused(self, error: ApiError) -> bool: ...
    def event(self, event: StreamEvent) -> StreamEvent: ...
    def whole(self, reply: Reply) -> Reply: ...
    def read(self, reply: Reply) -> None: ...


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A reply and how it came: what conversion could not carry over, and the requests that were sent for it (S0-75)."""

    reply: Reply
    notes: tuple[Note, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @property
    def value(self) -> Any:
        """The value that was asked for with `output`; None where none was."""
        return self.reply.parsed

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return len(self.attempts)


class Call:
    """The part that all calls share: events are gathered as they pass, and the last one gets the reply (C-30)."""

    def __init__(self, target: Target | None = None, clock: Clock = SYSTEM) -> None:
        self.tried = Attempts(clock)
        self.target = target
        self.stopwatch = Stopwatch(clock)
        self.reading: Reading | None = None
        self.told: list[Note] = []  # of those who watch the call, after its end
        self._collector = Collector()
        self._ended = False

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The requests sent so far, each with what came of it."""
        return self.tried.all

    @property
    def ended(self) -> bool:
        """Whether the call came to its end: it was not cancelled before."""
        return self._ended

    @property
    def reply(self) -> Reply:
        """The reply so far."""
        return self._read(self._collector.reply)

    @property
    def error(self) -> ApiError | None:
        """What a reply that failed was ended by."""
        failure = self._collector.failure
        return None if failure is None else failed(self.target, failure)

    @property
    def sent(self) -> bytes | None:
        """The body that was sent last; None for a model in this process."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What conversion could not carry over so far."""
        return tuple(self.told)

    def steps(self) -> Flow[StreamEvent]:
        """How the call goes."""
        raise NotImplementedError

    def outcome(self) -> Outcome:
        """The end of a call that has run. Raises ApiError with the code of the Failure if it failed, Cancelled if it has
        no end.
        """
        if not self._ended:
            raise Cancelled
        if self.error is not None:
            raise self.error
        return Outcome(reply=self.reply, notes=self.notes, attempts=self.attempts)

    def _over(self) -> None:
        """The request that was under way has ended, by its reply, its Failure, or because nobody wanted more of it."""
        failure = self._collector.failure
        if failure is not None:
            self.tried.end(failure.code, failure.message)
        else:
            self.tried.end(None if self._ended else "cancelled")

    def _read(self, reply: Reply) -> Reply:
        parsed = None if self.reading is None else self.reading.value
        return msgspec.structs.replace(reply, timing=self.stopwatch.timing, parsed=parsed)

    def _gathered(self, event: StreamEvent) -> StreamEvent:
        if self.reading is not None:
            event = self.reading.event(event)
        self._collector.feed(event)
        self.stopwatch.see(event)
        self._ended = isinstance(event, (Finish, Failure))
        if not isinstance(event, Finish):
            return event
        if self.reading is not None:
            self.reading.read(self._collector.reply)
        return msgspec.structs.replace(event, reply=self.reply)


class LocalCall(Call):
    """A call of a Producer in this process. `told` is what was changed of its request before; `strict` refuses what the
    producer would not carry over."""

    def __init__(
        self,
        producer: Producer,
        request: Request,
        clock: Clock = SYSTEM,
        *,
        told: tuple[Note, ...] = (),
        strict: bool = False,
    ) -> None:
        super().__init__(clock=clock)
        self._producer = producer
        self._request = request
        self._before = told
        self._strict = strict
        self._events: Iterator[StreamEvent] = iter(())

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was changed before, and what the producer tells of its own conversion, if it converts."""
        return (*self._before, *getattr(self._events, "notes", ()), *self.told)

    def steps(self) -> Flow[StreamEvent]:
        """Events as the producer gives them; one that stops without a last event has failed. Raises LossyError under
        `strict` before it says anything."""
        self.tried.begin()
        self.stopwatch.begin()
        try:
            events: Iterator[StreamEvent] | None = yield from _pulled(_begun(self._producer, self._request))
            assert events is not None
            self._events = events
            if self._strict and (losses := [note for note in self.notes if note.loss]):
                raise LossyError(losses)
            heard = _heard(events)
            while not self._ended and (event := (yield from _pulled(heard))) is not None:
                yield Emit(self._gathered(event))
            if not self._ended:
                failure = Failure(code="incomplete", message="the model stopped without a last event")
                yield Emit(self._gathered(failure))
        except DragomanError as error:
            self.tried.end(error.code, error.message)
            raise
        finally:
            self._over()
            close = getattr(self._events, "close", None)
            if close is not None:
                close()


T = TypeVar("T")


def _begun(producer: Producer, request: Request) -> Iterator[Iterator[StreamEvent] | DragomanError]:
    """The stream of a producer, as the one item of an iterator: making it may take as long as reading it."""
    try:
        yield producer.stream(request)
    except DragomanError as error:
        yield error


def _heard(events: Iterator[StreamEvent]) -> Iterator[StreamEvent | DragomanError]:
    """The events; an error that they raise is the last of them, so that whoever watches the call sees it."""
    try:
        yield from events
    except DragomanError as error:
        yield error


def _pulled(items: Iterator[T | DragomanError]) -> Generator[Step[StreamEvent], Any, T | None]:
    item = yield Pull(items)
    if isinstance(item, DragomanError):
        raise item
    return item
