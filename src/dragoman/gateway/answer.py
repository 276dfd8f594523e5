"""One answer, written for its client: events in, bytes out, in the one order that the client's wire allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from dragoman.carriers import Carrier, CarryStream, carry_reply
from dragoman.dialect.model import BASE
from dragoman.gateway.freetext import NONE, Bound, Freer, freed
from dragoman.gateway.readers import Reader, Wholes
from dragoman.gateway.tap import Tap
from dragoman.gateway.unsure import Unsure
from dragoman.types.events import Failure, KeepAlive, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.wire.base import Exchange, Notes, StreamEncoder, Wire

BLANK = b"\n\n"


class Cut(Exception):
    """The answer broke off where its own bytes cannot say so: the connection to the client must break too, after what came
    `before`."""

    before = b""


class Answer:
    """What a client of `wire` is sent.

    The model's own state travels in the slots that such a client sends back. With a `tap`, bytes pass as they came wherever
    nothing in them must change. `customs` are tools that are no functions for the client, `reader` what this client cannot read. A stream
    is written in one of the two ways, from its first byte to its last.
    """

    def __init__(
        self,
        wire: Wire,
        exchange: Exchange,
        carrier: Carrier | None,
        tap: Tap | None = None,
        customs: Bound = NONE,
        reader: Reader = Reader(),  # noqa: B008  a frozen value
    ) -> None:
        self._customs = customs
        self._wholes = Wholes() if reader.whole_calls else None
        self._alive = reader.alive
        self._wire, self._exchange, self._carrier, self._tap = wire, exchange, carrier, tap
        self._told: list[Note] = []
        self._whole_events = True  # what was written last ended an event

    @property
    def passes(self) -> bool:
        """Whether the client gets the service's own bytes."""
        return self._tap is not None and (self._tap.pieces is not None or self._tap.body is not None)

    @property
    def notes(self) -> Sequence[Note]:
        """What of the answer had no place on the client's wire, so far."""
        if "_encoder" not in self.__dict__:  # no stream is written
            return self._told
        return self._encoder.notes if self._carry is None else [*self._carry.notes, *self._encoder.notes]

    @cached_property
    def _freer(self) -> Freer:
        return Freer(self._customs)

    @cached_property
    def _unsure(self) -> Unsure:
        return Unsure()

    @cached_property
    def _encoder(self) -> StreamEncoder:
        return self._wire.stream_encoder(BASE, self._exchange)

    @cached_property
    def _encode(self) -> Callable[[StreamEvent], bytes]:
        encode, alive = self._encoder.encode, self._alive
        return (lambda event: alive if isinstance(event, KeepAlive) else encode(event)) if alive else encode

    @cached_property
    def _carry(self) -> CarryStream | None:
        return None if self._carrier is None else CarryStream(self._wire.id, self._carrier)

    def events(self, events: Sequence[StreamEvent]) -> bytes:
        """The bytes for some events. Raises Cut."""
        out: list[bytes] = []
        if self._tap is not None and self._tap.pieces is not None:
            for event in events:
                self._pass(event, out)
            return b"".join(out)
        events = self._unsure.feed(events)
        if self._customs or self._wholes is not None:
            events = self._readable(events)
        encode, carry = self._encode, self._carry
        for event in events:
            if carry is None:
                out.append(encode(event))
            else:
                out += [encode(each) for each in carry.feed(event)]
        return b"".join(out)

    def alive(self) -> bytes:
        """A sign of life; nothing where it would stand in the middle of an event."""
        return self._encode(KeepAlive()) if self._whole_events else b""

    def close(self) -> bytes:
        """The last bytes of a stream."""
        if self._tap is not None and self._tap.pieces is not None:
            return self._tap.take()
        return self._encoder.close()

    def failed(self, failure: Failure) -> bytes:
        """The last bytes of a stream that nobody but us knows to have failed. Raises Cut where its bytes pass."""
        if self._tap is not None and self._tap.pieces is not None:
            raise Cut(failure.message)
        return self.events([failure]) + self._encoder.close()

    def whole(self, reply: Reply) -> bytes:
        """A whole reply."""
        if self._tap is not None and self._tap.body is not None:
            return self._tap.body
        if self._customs:
            reply = freed(reply, self._customs)
        if self._carrier is not None:
            carried = Notes()
            reply = carry_reply(reply, self._wire.id, self._carrier, carried)
            self._told += carried.done()
        encoded = self._wire.encode_reply(reply, BASE, self._exchange)
        self._told += encoded.notes
        return encoded.body

    def _readable(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """The same for a client who gave us tools of free text, or reads calls in one piece alone."""
        found = [each for event in events for each in self._freer.feed(event)] if self._customs else list(events)
        return found if self._wholes is None else [each for event in found for each in self._wholes.feed(event)]

    def _pass(self, event: StreamEvent, out: list[bytes]) -> None:
        tap = self._tap
        if tap is None:
            return
        data = tap.take()
        if data:
            self._whole_events = data.endswith(BLANK)
        if isinstance(event, Failure) and tap.cut:
            cut = Cut(event.message)
            cut.before = b"".join(out)
            raise cut
        out.append(data)
