"""A transport that keeps what passes through another one: both sides of every exchange, in a folder (I-11).

Every request is a file of its own, retries too. It is written when its answer ends, whichever way: until then an answer is
held in memory. Keys are taken out (`redact.py`); contents stay.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path

from dragoman.errors import TransportError
from dragoman.transport.base import Answer, AsyncAnswer, AsyncTransport, Headers, Limits, Transport
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.line import Line
from dragoman.transport.recording import End, How, Piece, Recorded, prepare, reserve, write
from dragoman.transport.redact import Redaction
from dragoman.wire.base import Http


class Recorder:
    """`Recorder(transport, folder)`: the same transport, and each exchange is kept in `folder`.

    Raises OSError where the folder cannot be made or written.
    """

    def __init__(self, transport: Transport, folder: Path | str, *, clock: Clock = SYSTEM) -> None:
        self._inner = transport
        self._files = _Files(Path(folder), clock)

    @contextmanager
    def open(self, http: Http, limits: Limits, line: Line) -> Generator[_Answer]:
        """Send `http`; see Transport."""
        with self._files.keep(http) as kept, self._inner.open(http, limits, line) as answer:
            yield _Answer(answer, kept)

    def close(self) -> None:
        """See Transport."""
        self._inner.close()


class AsyncRecorder:
    """The same for an async transport. Files are small and written in place, as a log is."""

    def __init__(self, transport: AsyncTransport, folder: Path | str, *, clock: Clock = SYSTEM) -> None:
        self._inner = transport
        self._files = _Files(Path(folder), clock)

    @asynccontextmanager
    async def open(self, http: Http, limits: Limits) -> AsyncGenerator[_AsyncAnswer]:
        """Send `http`; see AsyncTransport."""
        with self._files.keep(http) as kept:
            async with self._inner.open(http, limits) as answer:
                kept_answer = _AsyncAnswer(answer, kept)
                async with aclosing(kept_answer.chunks):
                    yield kept_answer

    async def close(self) -> None:
        """See AsyncTransport."""
        await self._inner.close()


class _Answer:
    """An answer whose pieces are kept as they pass."""

    def __init__(self, inner: Answer, kept: _Kept) -> None:
        kept.begin(inner.status, inner.headers)
        self.status = inner.status
        self.headers = inner.headers
        self.chunks = self._chunks(inner, kept)
        self._inner, self._kept = inner, kept

    def drain(self, seconds: float) -> None:
        self._kept.how = "drained"
        self._inner.drain(seconds)

    @staticmethod
    def _chunks(inner: Answer, kept: _Kept) -> Iterator[bytes]:
        with kept.failures():
            for chunk in inner.chunks:
                kept.piece(chunk)
                yield chunk
        kept.how = "done"


class _AsyncAnswer:
    """The same, awaited."""

    def __init__(self, inner: AsyncAnswer, kept: _Kept) -> None:
        kept.begin(inner.status, inner.headers)
        self.status = inner.status
        self.headers = inner.headers
        self.chunks = self._chunks(inner, kept)
        self._inner, self._kept = inner, kept

    async def drain(self, seconds: float) -> None:
        self._kept.how = "drained"
        await self._inner.drain(seconds)

    @staticmethod
    async def _chunks(inner: AsyncAnswer, kept: _Kept) -> AsyncGenerator[bytes]:
        with kept.failures():
            async for chunk in inner.chunks:
                kept.piece(chunk)
                yield chunk
        kept.how = "done"


class _Files:
    """The folder, and the next number in it."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        prepare(folder)
        self._folder = folder
        self._clock = clock
        self._last = 0

    @contextmanager
    def keep(self, http: Http) -> Generator[_Kept]:
        """Keep one exchange: what happens in this context is in its file at the end of it."""
        self._last, path = reserve(self._folder, self._last)
        kept = _Kept(http, self._last, self._clock)
        try:
            with kept.failures():
                yield kept
        finally:
            write(kept.done(), path)


class _Kept:
    """One exchange while it lasts. `how` it will have ended: the caller left, until something else is known."""

    def __init__(self, http: Http, number: int, clock: Clock) -> None:
        self.how: How = "left"
        self._error: TransportError | None = None
        self._http = http
        self._number = number
        self._clock = clock
        self._date = clock.date()
        self._sent = clock.now()
        self._began: float | None = None
        self._status = 0
        self._headers: Headers = ()
        self._came: list[tuple[float, bytes]] = []

    def begin(self, status: int, headers: Headers) -> None:
        self._began, self._status, self._headers = self._at(), status, headers

    def piece(self, data: bytes) -> None:
        self._came.append((self._at(), data))

    @contextmanager
    def failures(self) -> Generator[None]:
        """What fails in this context ended the exchange."""
        try:
            yield
        except TransportError as error:
            self.how, self._error = "failed", error
            raise

    def done(self) -> Recorded:
        """All of it, without keys."""
        clean = Redaction(self._http)
        end = End(at=self._at(), how=self.how)
        if self._error is not None:
            end = End(at=end.at, how="failed", code=self._error.code, message=clean.text(self._error.message))
        return Recorded(
            number=self._number,
            date=self._date,
            request=clean.request(),
            end=end,
            status=self._status,
            headers=clean.headers(self._headers),
            began=self._began,
            pieces=tuple(
                Piece(at=at, data=data)
                for (at, _), data in zip(self._came, clean.pieces([data for _, data in self._came]), strict=True)
            ),
        )

    def _at(self) -> float:
        return round(self._clock.now() - self._sent, 6)
