"""One answer, written for its client: events in, bytes out, in the one order that the client's wire allows."""

from __future__ import annotations

from dragoman.carriers import Carrier, CarryStream, carry_reply
from dragoman.dialect.model import BASE
from dragoman.gateway.freetext import Freer, freed
from dragoman.gateway.readers import Reader, Wholes
from dragoman.gateway.tap import Tap
from dragoman.types.events import Failure, KeepAlive, StreamEvent
from dragoman.types.reply import Reply
from dragoman.wire.base import Exchange, Notes, Wire

BLANK = b"\n\n"


class Cut(Exception):
    """The answer broke off where its own bytes cannot say so: the connection to the client must break too."""


class Answer:
    """What a client of `wire` is sent.

    The model's own state travels in the slots that such a client sends back. With a `tap`, bytes pass as they came wherever
    nothing in them must change. `customs` are the tools that take free text, `reader` what this client cannot read. A stream
    is written in one of the two ways, from its first byte to its last.
    """

    def __init__(
        self,
        wire: Wire,
        exchange: Exchange,
        carrier: Carrier | None,
        tap: Tap | None = None,
        customs: frozenset[str] = frozenset(),
        reader: Reader = Reader(),  # noqa: B008  a frozen value
    ) -> None:
        self._customs, self._freer = customs, Freer(customs)
        self._wholes = Wholes() if reader.whole_calls else None
        self._wire, self._exchange, self._carrier, self._tap = wire, exchange, carrier, tap
        self._encoder = wire.stream_encoder(BASE, exchange)
        self._carry = None if carrier is None else CarryStream(wire.id, carrier)
        self._whole_events = True  # what was written last ended an event

    def event(self, event: StreamEvent) -> bytes:
        """The bytes for one event. Raises Cut."""
        if self._tap is not None and self._tap.pieces is not None:
            return self._passed(event)
        events: tuple[StreamEvent, ...] = self._freer.feed(event) if self._customs else (event,)
        if self._wholes is not None:
            events = tuple(each for said in events for each in self._wholes.feed(said))
        out: list[bytes] = []
        for each in events:
            carried = (each,) if self._carry is None else self._carry.feed(each)
            out += [self._encoder.encode(one) for one in carried]
        return b"".join(out)

    def alive(self) -> bytes:
        """A sign of life; nothing where it would stand in the middle of an event."""
        return self._encoder.encode(KeepAlive()) if self._whole_events else b""

    def close(self) -> bytes:
        """The last bytes of a stream."""
        if self._tap is not None and self._tap.pieces is not None:
            return self._tap.take()
        return self._encoder.close()

    def whole(self, reply: Reply) -> bytes:
        """A whole reply."""
        if self._tap is not None and self._tap.body is not None:
            return self._tap.body
        if self._customs:
            reply = freed(reply, self._customs)
        if self._carrier is not None:
            reply = carry_reply(reply, self._wire.id, self._carrier, Notes())
        return self._wire.encode_reply(reply, BASE, self._exchange).body

    def _passed(self, event: StreamEvent) -> bytes:
        tap = self._tap
        if tap is None:
            return b""
        data = tap.take()
        if data:
            self._whole_events = data.endswith(BLANK)
        if isinstance(event, Failure) and tap.cut:
            raise Cut(event.message)
        return data
