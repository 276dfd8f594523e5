"""The bytes of an answer while they are read, for a client of the very same wire: he gets them as they came."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.client.forward import facts
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import ApiError
from dragoman.types.events import Failure, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.wire.base import Decoded, Exchange, StreamDecoder, Wire


class Tap:
    """A wire that keeps what it reads. `body` is a whole reply, `pieces` what came of a stream and was not taken yet; both
    are None where the answer must be written anew, since something in it was changed. `cut`: the stream ended in a way
    that its bytes do not tell. Every attempt begins anew."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.id = wire.id
        self.body: bytes | None = None
        self.pieces: list[bytes] | None = None
        self.cut = False

    def take(self) -> bytes:
        """What came since, whole or in part."""
        pieces, self.pieces = self.pieces or [], []
        return b"".join(pieces)

    def decode_reply(self, body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
        """See Wire."""
        decoded = self._wire.decode_reply(body, dialect, exchange)
        self.body = body if _untouched(dialect, exchange) else None
        return decoded

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        """See Wire."""
        decoder = self._wire.stream_decoder(dialect, exchange)
        self.pieces, self.cut = None, False
        if not _untouched(dialect, exchange):
            return decoder
        self.pieces = []
        return _Listening(decoder, self)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError:
        """See Wire."""
        return self._wire.decode_error(status, headers, body, dialect)


class _Listening:
    """A decoder whose bytes are kept."""

    def __init__(self, decoder: StreamDecoder, tap: Tap) -> None:
        self._decoder, self._tap = decoder, tap
        self._begun = False

    @property
    def notes(self) -> list[Note]:
        return self._decoder.notes

    def feed(self, data: bytes) -> list[StreamEvent]:
        events = self._decoder.feed(data)
        if not self._begun and data.strip():
            self._begun = True
            if data.lstrip().startswith(b"{"):  # a whole reply, where a stream was asked for
                self._tap.pieces = None
        if self._tap.pieces is not None:
            self._tap.pieces.append(data)
        return events

    def close(self) -> list[StreamEvent]:
        events = self._decoder.close()
        self._tap.cut = any(isinstance(event, Failure) for event in events)
        return events


def _untouched(dialect: Dialect, exchange: Exchange) -> bool:
    """Whether an answer may go on as it came: the dialect is the wire's own, and no name or schema was changed."""
    return facts(dialect) == BASE and exchange.as_said
