"""From one wire to another, for requests, replies, streams and errors: any pair, one path, every loss noted."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.carriers import Carrier, CarryStream, carries, carry_reply, uncarry_request
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import LossyError
from dragoman.history.repair import Repaired, repair
from dragoman.types.events import Failure, Finish, StreamEvent
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.wire.base import Encoded, Exchange, Http, Notes, Outgoing, Wire
from dragoman.wire.freeform import respelled
from dragoman.wire.keeping import unkept


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to translate: the dialects of both ends, what the edge knows, and what may be lost.

    `source` and `target` are the dialects of the bytes that come and of those that go. `client` is the exchange with
    the one who asked, `provider` that with the one who answers: `request` gives both back. `strict` refuses losses.
    `carrier` lets reasoning state survive a client of another wire.
    """

    source: Dialect = BASE
    target: Dialect = BASE
    client: Exchange = Exchange()
    provider: Exchange = Exchange()
    strict: bool = False
    carrier: Carrier | None = None


class Translated(msgspec.Struct, frozen=True, kw_only=True):
    """A request ready to be sent, both exchanges for its answer, and what was lost."""

    http: Http
    client: Exchange
    provider: Exchange
    notes: tuple[Note, ...] = ()


DEFAULT = Options()


def request(http: Http, source: Wire, target: Wire, options: Options = DEFAULT) -> Translated:
    """A client's request for a provider of `target`. Same wire, nothing to change: the bytes pass untouched.

    A history that the target would refuse is repaired on the copy that is sent, each change noted (C-28). Raises
    RemoteError for a body that cannot be read, LossyError under strict.
    """
    incoming = source.decode_request(http, options.source, options.client)
    if passes(http, source, target, options):
        return Translated(http=http, client=incoming.exchange, provider=incoming.exchange)
    notes, value = Notes(), incoming.request
    if carries(value, source.id):
        value = uncarry_request(value, source.id, options.carrier, notes)
    if value.model is None and options.provider.model is not None:  # some services name it in the address only
        value = msgspec.structs.replace(value, model=options.provider.model)
    outgoing = onward(value, source, target, options)
    told = (*incoming.notes, *notes.done(), *outgoing.notes)
    _refuse(told, options)
    return Translated(http=outgoing.http, client=incoming.exchange, provider=outgoing.exchange, notes=told)


def onward(value: Request, source: Wire, target: Wire, options: Options = DEFAULT) -> Outgoing:
    """A client's request, read from `source` and uncarried, as a provider of `target` is to get it: `request` without the
    reading. Its copy is repaired as the target needs it, each change noted (C-28); nothing of it is kept there unasked."""
    same, notes = source.id == target.id, Notes()
    if not same:
        value = unkept(respelled(value, source.id, target.id), source.id, target.id, options.target, notes)
    repaired = _repaired(value, source, target, options)
    exchange = msgspec.structs.replace(options.provider, wire=source.id, include_usage=not same or None)
    outgoing = target.encode_request(repaired.request, options.target, exchange)
    told = (*notes.done(), *repaired.notes)
    if not told:
        return outgoing
    written = (msgspec.structs.replace(note, path=repaired.given(note.path)) for note in outgoing.notes)
    return msgspec.structs.replace(outgoing, notes=(*told, *written))


def reply(body: bytes, source: Wire, target: Wire, options: Options = DEFAULT) -> Encoded:
    """A provider's whole reply for a client of `target`. Raises ApiError for an error inside a 200."""
    decoded = source.decode_reply(body, options.source, options.provider)
    if _passes_back(source, target, options):
        return Encoded(body=body)
    notes, value = Notes(), decoded.value
    if options.carrier is not None:
        value = carry_reply(value, target.id, options.carrier, notes)
    encoded = target.encode_reply(value, options.target, options.client)
    told = (*decoded.notes, *notes.done(), *encoded.notes)
    _refuse(told, options)
    return msgspec.structs.replace(encoded, notes=told)


def error(
    status: int, headers: Mapping[str, str], body: bytes, source: Wire, target: Wire
) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """A provider's error for a client of `target`: status, headers, body."""
    return target.encode_error(source.decode_error(status, headers, body, BASE), BASE)


class StreamTranslator:
    """A provider's stream for a client of `target`: `feed` bytes, get bytes; `close` at the end.

    Same wire and dialect: the bytes pass, the decoder only listens. Under strict the first loss ends the stream as
    a Failure `lossy` in the client's own form. `notes` grows with the stream; `events` are those of the last call.
    """

    def __init__(self, source: Wire, target: Wire, options: Options = DEFAULT) -> None:
        self._decoder = source.stream_decoder(options.source, options.provider)
        self._encoder = target.stream_encoder(options.target, options.client)
        self._fallback = target.stream_encoder(options.target, options.client)
        self._same = _passes_back(source, target, options)
        self._strict = options.strict
        self._carry = CarryStream(target.id, options.carrier) if options.carrier is not None else None
        self._refused = False
        self.events: list[StreamEvent] = []

    @property
    def notes(self) -> list[Note]:
        """Everything told so far."""
        carried = self._carry.notes if self._carry is not None else []
        return [*self._decoder.notes, *carried, *self._encoder.notes]

    def feed(self, data: bytes) -> bytes:
        """Bytes for the client."""
        self.events = self._decoder.feed(data)
        return data if self._same else self._write(self.events)

    def close(self) -> bytes:
        """The last bytes for the client."""
        self.events = self._decoder.close()
        if self._same:
            return b""
        return self._write(self.events) + (b"" if self._refused else self._encoder.close())

    def _write(self, events: list[StreamEvent]) -> bytes:
        if self._carry is None and not self._strict:
            return b"".join([self._encoder.encode(event) for event in events])
        out: list[bytes] = []
        for event in events:
            for carried in self._carry.feed(event) if self._carry is not None else (event,):
                if self._refused:
                    return b"".join(out)
                out.append(self._guarded(carried))
        return b"".join(out)

    def _guarded(self, event: StreamEvent) -> bytes:
        """One event written; under strict the first loss writes a Failure in its place."""
        written = self._encoder.encode(event)
        lost = [note for note in self.notes if note.loss] if self._strict else []
        if not lost:
            return written
        self._refused = True
        failure = Failure(code="lossy", message=LossyError(lost).message)
        ended = isinstance(event, Finish | Failure)  # an encoder that has written the end says no more
        return (self._fallback if ended else self._encoder).encode(failure)


def passes(http: Http, source: Wire, target: Wire, options: Options = DEFAULT) -> bool:
    """Whether a request's bytes may go on untouched: one wire, one dialect, and no carrier of ours inside."""
    if source.id != target.id or options.source != options.target:
        return False
    return not source.peek(http, options.source).carriers


def _passes_back(source: Wire, target: Wire, options: Options) -> bool:
    """Whether an answer's bytes may go on untouched: one wire, one dialect, and nothing of ours to undo in it."""
    return source.id == target.id and options.source == options.target and options.provider.as_said


def _repaired(value: Request, source: Wire, target: Wire, options: Options) -> Repaired:
    """The copy to send (C-28). What stays on its wire is its sender's affair, unless the dialect has rules of its own."""
    dialect = options.target
    if source.id == target.id and not dialect.alternate_roles and dialect.prefill == "open":
        return Repaired(request=value)
    return repair(value, target.id, dialect)


def _refuse(notes: tuple[Note, ...], options: Options) -> None:
    lost = [note for note in notes if note.loss]
    if options.strict and lost:
        raise LossyError(lost)
