"""One call of a model as a flow: what is sent, what is made of the answer, and what is known of it at any time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Protocol

import msgspec

from dragoman.catalog.target import Target
from dragoman.client.refusal import empty, failed, refused
from dragoman.errors import RemoteError, TransportError
from dragoman.transport.base import Limits
from dragoman.transport.flow import Drain, Emit, Flow, Head, Meter, Pull, Read, Send, Step, whole
from dragoman.types.collect import Collector
from dragoman.types.events import Failure, Finish, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire.base import Http, Outgoing, StreamDecoder, Wire

Part = Generator[Step[StreamEvent], Any, Any]

ERROR_BODY = 64 * 1024  # bytes read of a refusal
DRAIN = 0.25  # seconds given to the end of a body after the wire's own last signal, to use the connection again


class Producer(Protocol):
    """Anything that answers a Request with events: a local model, a script, another Model."""

    def stream(self, request: Request) -> Iterator[StreamEvent]: ...


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A reply and how it came: what conversion could not carry over, and the requests that were sent for it (S0-75)."""

    reply: Reply
    notes: tuple[Note, ...] = ()
    attempts: int = 1


class Call:
    """The part that all calls share: events are gathered as they pass, and the last one gets the reply (C-30)."""

    def __init__(self, target: Target | None = None) -> None:
        self.attempts = 0
        self._from = target
        self._collector = Collector()
        self._ended = False

    @property
    def reply(self) -> Reply:
        """The reply so far."""
        return self._collector.reply

    @property
    def notes(self) -> tuple[Note, ...]:
        """What conversion could not carry over so far."""
        return ()

    def steps(self) -> Flow[StreamEvent]:
        """How the call goes."""
        raise NotImplementedError

    def outcome(self) -> Outcome:
        """The end of a call that has run. Raises ApiError with the code of the Failure, if it failed."""
        if self._collector.failure is not None:
            raise failed(self._from, self._collector.failure)
        return Outcome(reply=self.reply, notes=self.notes, attempts=self.attempts)

    def _take(self, event: StreamEvent) -> Emit[StreamEvent]:
        if isinstance(event, Failure) and self._from is not None:
            event = msgspec.structs.replace(event, message=self._from.hidden(event.message))
        self._collector.feed(event)
        self._ended = isinstance(event, (Finish, Failure))
        return Emit(msgspec.structs.replace(event, reply=self.reply) if isinstance(event, Finish) else event)


class LocalCall(Call):
    """A call of a Producer in this process."""

    def __init__(self, producer: Producer, request: Request) -> None:
        super().__init__()
        self._producer = producer
        self._request = request

    def steps(self) -> Flow[StreamEvent]:
        """Events as the producer gives them; one that stops without a last event has failed."""
        self.attempts = 1
        events = self._producer.stream(self._request)
        try:
            while not self._ended and (event := (yield Pull(events))) is not None:
                yield self._take(event)
            if not self._ended:
                yield self._take(Failure(code="incomplete", message="the model stopped without a last event"))
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()


class RemoteCall(Call):
    """A call over a wire. `http` is the request as it is sent, its key included."""

    def __init__(self, target: Target, wire: Wire, outgoing: Outgoing, http: Http, limits: Limits) -> None:
        super().__init__(target)
        self._target = target
        self._wire = wire
        self._exchange = outgoing.exchange
        self._http = http
        self._limits = limits
        self._sent_notes = outgoing.notes
        self._read_notes: tuple[Note, ...] | list[Note] = ()
        self._whole: Reply | None = None

    @property
    def reply(self) -> Reply:
        """The reply so far; all of it at once when it did not stream."""
        return self._whole or super().reply

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of the request, then those of the answer so far."""
        return (*self._sent_notes, *self._read_notes)

    def steps(self) -> Flow[StreamEvent]:
        """Send, then read the answer as what it is: some services stream though they were not asked to."""
        head = yield from self._begin()
        if self._exchange.stream or head.headers.get("content-type", "").startswith("text/event-stream"):
            yield from self._streamed()
            return
        body: bytes = yield from whole(self._limits.body)
        if not body:
            raise empty(self._target, head)
        decoded = self._wire.decode_reply(body, self._target.dialect, self._exchange)
        self._whole, self._read_notes = decoded.value, decoded.notes

    def _begin(self) -> Part:
        """The head of an answer that is a reply. Retries will stand here: before anything reached the caller (S0-76)."""
        self.attempts += 1
        head: Head = yield Send(self._http)
        if 200 <= head.status < 300:
            return head
        body: bytes = yield from _refusal()
        raise refused(self._target, self._wire, head, body)

    def _streamed(self) -> Part:
        """Events as they come, up to the one that ends the stream: a connection that breaks ends it with a Failure."""
        decoder = self._wire.stream_decoder(self._target.dialect, self._exchange)
        self._read_notes = decoder.notes
        meter = Meter(self._limits.body)
        more = True
        while more:
            try:
                chunk: bytes | None = yield Read()
                more = chunk is not None
                meter.count(chunk or b"")
                events = decoder.close() if chunk is None else decoder.feed(chunk)
            except (TransportError, RemoteError) as error:
                more, events = False, _broken(decoder, error)
            for event in events:
                taken = self._take(event)
                if self._ended and more:
                    more = False
                    yield Drain(DRAIN)
                yield taken


def _refusal() -> Generator[Read, bytes | None, bytes]:
    """The body of a refusal, as much as is of use; one that cannot be read counts as empty (S0-67)."""
    body = b""
    try:
        while len(body) < ERROR_BODY and (chunk := (yield Read())) is not None:
            body += chunk
    except TransportError:
        return b""
    return body


def _broken(decoder: StreamDecoder, error: TransportError | RemoteError) -> list[StreamEvent]:
    """What the decoder still makes of a stream that broke; if that is a Failure, it tells what broke it."""
    try:
        events = decoder.close()
    except RemoteError:
        events = []
    last = events.pop() if events else None
    if last is not None and not isinstance(last, Failure):
        return [*events, last]
    usage = None if last is None else last.usage
    return [*events, Failure(code=error.code, message=error.message, usage=usage)]
