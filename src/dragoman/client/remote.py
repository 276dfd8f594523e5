"""One call over a wire: sent, tried again while nothing of its answer reached the caller, read as what it is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec

from dragoman.client.adapt import Adapter, Written
from dragoman.client.call import Call
from dragoman.client.observe import Observer
from dragoman.client.refusal import Sent, added, empty, failed, inside, meant, page, refused, told, unreadable
from dragoman.client.shown import Shown
from dragoman.client.suspect import cut
from dragoman.errors import ApiError, DragomanError, LossyError, RemoteError, TransportError
from dragoman.transport.base import Limits, address
from dragoman.transport.clock import Clock
from dragoman.transport.deadlines import Deadlines
from dragoman.transport.flow import Drain, Emit, Flow, Head, Late, Meter, Read, Send, Sleep, Step
from dragoman.transport.retry import RetryPolicy, Stop, Try, Wait, decide
from dragoman.types.collect import Collector
from dragoman.types.events import Delta, Failure, KeepAlive, Raw, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.wire.base import StreamDecoder, Wire

Part = Generator[Step[StreamEvent], Any, Any]
Failed = TypeVar("Failed", bound=DragomanError)

ERROR_BODY = 64 * 1024  # bytes read of a refusal
DRAIN = 0.25  # seconds given to the end of a body after the wire's own last signal, to use the connection again
ERROR_WAIT = 10.0  # seconds that the body of a refusal may take, as all of it is of use at once or not at all
AT_ONCE = Wait(0.0)
NOTED = 200  # characters of an error in the note of a try


class Manner(NamedTuple):
    """How the calls of a model go: limits, when they are tried again, what they know of time and chance, who is told."""

    limits: Limits
    retry: RetryPolicy
    restart: bool | Callable[[], bool]
    clock: Clock
    rng: Random
    observers: Sequence[Observer] = ()
    adapt: bool = True  # a request is written again by what its refusal taught


class RemoteCall(Call):
    """A call over a wire. `written` is the request as it is sent, its key included; `adapter` writes it again."""

    _deadlines: Deadlines  # once it is under way
    _limit: str  # the deadline of the step that is under way

    def __init__(self, written: Written, wire: Wire, manner: Manner, adapter: Adapter | None = None) -> None:
        super().__init__(written.target, manner.clock)
        self._written = written
        self._wire = wire
        self._manner = manner
        self._adapter = adapter
        self._repairs = 0
        self._head: Head | None = None
        self._shown = Shown()
        self._held: list[StreamEvent] = []
        self._begun = False  # the caller saw events of this answer, signs of life apart
        self._tries: list[Note] = []
        self._read_notes: tuple[Note, ...] | list[Note] = ()
        self._whole: Reply | None = None

    @property
    def reply(self) -> Reply:
        """The reply so far; all of it at once when it did not stream."""
        whole = self._whole
        return super().reply if whole is None else self._read(whole)

    @property
    def sent(self) -> bytes | None:
        """See Call."""
        return self._written.http.body

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of the request, of tries that failed, then those of the answer so far."""
        return (*self._written.outgoing.notes, *self._tries, *self._read_notes, *self.told)

    def steps(self) -> Flow[StreamEvent]:
        """Try, and again while the policy says so."""
        clock = self._manner.clock
        self.stopwatch.begin()
        self._deadlines = Deadlines(self._manner.limits, clock.now())
        while True:
            self.tried.begin()
            if self.tried.number > 1:
                self._deadlines.begin(clock.now())
                self._head, self._held, self._shown, self._collector = None, [], Shown(), Collector()
                self._begun = False
            try:
                wait: Wait | None = yield from self._attempt()
            except (ApiError, TransportError) as error:
                cause = self._named(error)
                said = self._judged(cause)
                if isinstance(said, Stop):
                    raise added(cause, said.why, self.tried.number) from None
                wait = said
            except RemoteError as error:
                self.tried.end(error.code, error.message)
                raise
            finally:
                self._over()
            if wait is None:
                self._suspect()
                return
            if wait is not AT_ONCE:
                yield Sleep(wait.seconds)

    def _attempt(self) -> Part:
        """One request and its answer, read as what it is: some services stream though they were not asked to.

        Returns a Wait where a stream failed and is to be tried again.
        """
        head: Head = yield Send(self._written.http, self._seconds())
        self._head, self.tried.status = head, head.status
        if not 200 <= head.status < 300:
            body: bytes = yield from self._refusal()
            raise refused(self._as_sent, self._wire, head, body)
        if self._written.outgoing.exchange.stream or head.headers.get("content-type", "").startswith(
            "text/event-stream"
        ):
            return (yield from self._streamed())
        body = yield from self._body()
        if not body:
            raise empty(self._written.target, head)
        try:
            decoded = self._wire.decode_reply(body, self._written.target.dialect, self._written.outgoing.exchange)
        except ApiError as error:
            raise inside(self._as_sent, error) from None
        except RemoteError as error:
            raise unreadable(self._as_sent, head, body, error) from None
        whole = decoded.value if self.reading is None else self.reading.whole(decoded.value)
        self._whole, self._read_notes, self._ended = whole, decoded.notes, True
        self._taken()
        self.stopwatch.whole(whole)
        return None

    def _streamed(self) -> Part:
        """Events as they come, up to the one that ends the stream: a connection that breaks ends it with a Failure."""
        decoder = self._wire.stream_decoder(self._written.target.dialect, self._written.outgoing.exchange)
        self._read_notes = decoder.notes
        meter = Meter(self._manner.limits.body)
        more = True
        while more:
            try:
                chunk: bytes | None = yield Read(self._seconds())
                more = chunk is not None
                meter.count(chunk or b"")
                events = decoder.close() if chunk is None else decoder.feed(chunk)
            except (TransportError, RemoteError) as error:
                more, events = False, _broken(decoder, self._named(error))
            flows, moved = self._flows, False
            for event in events:
                if flows and type(event) is Delta:  # nearly all of a stream; no more is to be learned of it
                    moved = moved or event.text != ""
                    self._collector.feed(event)
                    yield Emit(event)
                    continue
                if isinstance(event, Failure):
                    said = self._failed(event)
                    if isinstance(said, Wait):
                        if self._shown.anything:
                            yield Emit(Raw(wire="client", name="restart", payload={"attempt": self.tried.number + 1}))
                        return said
                    event = said
                released = self._released(self._gathered(event))
                if self._ended and more:
                    more = False
                    yield Drain(DRAIN)
                for each in released:
                    yield Emit(each)
                flows = self._flows
            if moved:
                self._deadlines.moved(self._manner.clock.now())
        return None

    @property
    def _flows(self) -> bool:
        """Whether pieces are handed on as they are: content was shown, when the first came is known, nobody reads along."""
        timing = self.stopwatch.timing
        told = self._begun and self._shown.anything and not self._held
        return told and self.reading is None and timing is not None and timing.first_text is not None

    def _released(self, event: StreamEvent) -> list[StreamEvent]:
        """What the caller gets now. All that comes before the first content is held back: should the stream fail there,
        another takes its place, and the caller sees one beginning (RET-006). Signs of life pass.
        """
        if self._shown.see(event):
            self._taken()
            self._deadlines.moved(self._manner.clock.now())
        if isinstance(event, KeepAlive):
            return [event]
        self._held.append(event)
        if self._may_try_again and not self._shown.anything and not self._ended:
            return []
        released, self._held = self._held, []
        self._begun = True
        return released

    def _failed(self, failure: Failure) -> Wait | Failure:
        """Whether to try again after a stream that failed; else its last event."""
        said_instead = page(self._written.target, self._head) if self._head and failure.code == "incomplete" else None
        failure = msgspec.structs.replace(failure, message=said_instead or self._as_sent.hidden(failure.message))
        why = ""
        if not self._shown.anything or self._may_restart():
            said = self._judged(failed(self.target, failure))
            if isinstance(said, Wait):
                return said
            why = said.why
        message = meant(self._as_sent, failure) + told(why, self.tried.number)
        return msgspec.structs.replace(failure, message=message)

    @property
    def _may_try_again(self) -> bool:
        return self.tried.number - self._repairs <= self._manner.retry.retries

    def _may_restart(self) -> bool:
        """Whether a stream may begin anew although some of it was shown: opt-in, and only before a tool ran (C-10)."""
        restart = self._manner.restart
        return restart() if callable(restart) else restart and not self._shown.may_have_run

    def _judged(self, error: ApiError | TransportError) -> Wait | Stop:
        """Whether to try again after this; a try that is given up for another is told in the notes (S0-75)."""
        repaired = self._repaired(error)
        if repaired is not None:
            return repaired
        manner = self._manner
        elapsed = self._deadlines.elapsed(manner.clock.now())
        headers = {} if self._head is None else self._head.headers
        number = self.tried.number - self._repairs
        tried = Try(number=number, error=error, elapsed=elapsed, date=manner.clock.date(), headers=headers)
        said = decide(manner.retry, tried, manner.rng)
        total = manner.limits.total
        if isinstance(said, Wait) and total is not None and elapsed + said.seconds >= total:
            said = Stop(f"no time is left to try again within {total:g} s in all")
        why = error.message[:NOTED]
        self.tried.end(error.code, why, said.seconds if isinstance(said, Wait) else 0.0)
        if isinstance(said, Wait):
            reason = f"{why}: tried again after {said.seconds:g} s"
            self._tries.append(Note(path=("attempts", self.tried.number), action="dropped", reason=reason, loss=False))
        return said

    def _repaired(self, error: ApiError | TransportError) -> Wait | Stop | None:
        """The next request, where the refusal of this one taught what to write otherwise; None when it did not."""
        if self._adapter is None or not isinstance(error, ApiError) or error.code != "invalid_request":
            return None
        if self.reading is not None and self.reading.refused(error):  # how a value is asked for is not ours to change
            return None
        if self._begun:  # the caller saw a beginning
            return None
        why = error.message[:NOTED]
        try:
            found = self._adapter.repaired(error, self._written)
        except LossyError as lossy:
            self.tried.end(error.code, why)
            return Stop(f"strict mode does not send it in another form: {lossy.message}")
        if found is None:
            return None
        self._written, learned = found
        self.target = self._written.target
        self._repairs += 1
        self.tried.end(error.code, why)
        reason = f"{why}: sent again at once, as this server refuses {learned.quoted!r}"
        self._tries.append(Note(path=("attempts", self.tried.number), action="substituted", reason=reason, loss=False))
        return AT_ONCE

    def _suspect(self) -> None:
        """Tell what the answer gives away of how it was made."""
        if not self._ended or self._collector.failure is not None:
            return
        usage = self._collector.usage if self._whole is None else self._whole.usage
        note = cut(self._written.http.body, usage)
        self._read_notes = (*self._read_notes, *((note,) if note else ()))

    def _taken(self) -> None:
        """The server took the request: what its refusals taught is so."""
        if self._repairs and self._adapter is not None:
            self._adapter.taken()

    @property
    def _as_sent(self) -> Sent:
        return Sent(self._written.target, self._written.asked, self._written.http)

    def _seconds(self) -> float | None:
        """How long the next step may take: up to the nearest deadline. Raises Late where that has passed: a read that need
        not wait would not notice."""
        seconds, self._limit = self._deadlines.next(self._manner.clock.now())
        if seconds == 0:
            raise Late
        return seconds

    def _named(self, error: Failed) -> Failed | TransportError:
        """An error of a step; of one that came too late, which deadline it missed."""
        if not isinstance(error, Late):
            return error
        return TransportError("timeout", f"{address(self._written.http.path)} {self._deadlines.said(self._limit)}")

    def _body(self) -> Part:
        """A whole body. Raises RemoteError too_large beyond the limit."""
        meter = Meter(self._manner.limits.body)
        parts: list[bytes] = []
        while (chunk := (yield Read(self._seconds()))) is not None:
            if chunk.strip() and not chunk.startswith(b":"):  # blanks and comments are signs of life alone
                self._deadlines.moved(self._manner.clock.now())
            meter.count(chunk)
            parts.append(chunk)
        return b"".join(parts)

    def _refusal(self) -> Part:
        """The body of a refusal, as much as is of use; one that cannot be read counts as empty (S0-67)."""
        body, clock = b"", self._manner.clock
        until = clock.now() + ERROR_WAIT
        try:
            while len(body) < ERROR_BODY and (left := until - clock.now()) > 0:
                chunk: bytes | None = yield Read(left)
                if chunk is None:
                    return body
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
    usage, opaque = (None, None) if last is None else (last.usage, last.opaque)
    return [*events, Failure(code=error.code, message=error.message, usage=usage, opaque=opaque)]
