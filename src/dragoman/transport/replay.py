"""A transport that answers from a recording, offline: each request gets what was answered to it when it was recorded.

A request is found by what it says (`match.py`), whatever its address and key. Requests that say the same get their answers
in the recorded order, so a refusal that was tried again is tried again. Faults are replayed too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from threading import Lock

from dragoman.errors import DragomanError, TransportError, UsageError
from dragoman.transport.base import Headers, Limits
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.line import Line
from dragoman.transport.match import Difference, difference
from dragoman.transport.recording import Recorded, read
from dragoman.transport.redact import Redaction
from dragoman.wire.base import Http

Source = Path | str | Sequence[Recorded]


class Player:
    """Which exchange of a recording answers a request. Each answers once; with `again`, the last that fits does ever after.

    Raises UsageError for a folder without a recording. Safe to use from several threads.
    """

    def __init__(self, source: Source, *, again: bool = False) -> None:
        self.recorded = read(source) if isinstance(source, Path | str) else list(source)
        self._where = str(source) if isinstance(source, Path | str) else "the recording"
        self._again = again
        self._used: set[int] = set()
        self._lock = Lock()

    def take(self, http: Http) -> Recorded:
        """The answer to this request. Raises UsageError where there is none: what is nearest, and where that differs."""
        asked = Redaction(http).request()
        with self._lock:
            fits: list[int] = []
            nearest: tuple[Difference, int] | None = None
            for place, each in enumerate(self.recorded):
                found = difference(each.request, asked)
                if found is None:
                    if place not in self._used:
                        self._used.add(place)
                        return each
                    fits.append(place)
                elif nearest is None or _nearness(found) > _nearness(nearest[0]):
                    nearest = found, each.number
            if fits and self._again:
                return self.recorded[fits[-1]]
        if fits:
            said = f"it was recorded {len(fits)} time{'s' * (len(fits) > 1)} and asked once more"
        elif nearest is not None:
            said = f"the nearest is {nearest[1]:06}, where {nearest[0]}"
        else:
            said = "it is empty"
        raise UsageError("usage", f"{self._where} holds no answer to this {http.method} request: {said}")


class Replay:
    """`Model(spec, transport=Replay(folder))` asks nobody. With `timing` each piece comes when it came, by `clock`."""

    def __init__(self, source: Source, *, timing: bool = False, again: bool = False, clock: Clock = SYSTEM) -> None:
        self._player = Player(source, again=again)
        self._timing = timing
        self._clock = clock

    @contextmanager
    def open(self, http: Http, limits: Limits, line: Line) -> Generator[_Answer]:
        """Answer `http`; see Transport."""
        pace = _Pace(self._player.take(http), limits, self._clock if self._timing else None)
        answer = _Answer(pace, line)
        answer.wait(pace.recorded.began)
        yield answer

    def close(self) -> None:
        """There is nothing to close."""


class AsyncReplay:
    """The same for `AsyncModel`."""

    def __init__(self, source: Source, *, timing: bool = False, again: bool = False, clock: Clock = SYSTEM) -> None:
        self._player = Player(source, again=again)
        self._timing = timing
        self._clock = clock

    @asynccontextmanager
    async def open(self, http: Http, limits: Limits) -> AsyncGenerator[_AsyncAnswer]:
        """Answer `http`; see AsyncTransport."""
        pace = _Pace(self._player.take(http), limits, self._clock if self._timing else None)
        answer = _AsyncAnswer(pace)
        await answer.wait(pace.recorded.began)
        async with aclosing(answer.chunks):
            yield answer

    async def close(self) -> None:
        """There is nothing to close."""


class _Pace:
    """One answer being played: what comes when, and how long that is from now."""

    def __init__(self, recorded: Recorded, limits: Limits, clock: Clock | None) -> None:
        self.recorded = recorded
        self.limits = limits
        self.clock = clock
        self._sent = clock.now() if clock else 0.0

    def until(self, at: float) -> float:
        """Seconds from now until `at`; 0 where times are not asked for."""
        return max(self._sent + at - self.clock.now(), 0.0) if self.clock else 0.0

    def parts(self) -> Iterator[tuple[float, bytes | DragomanError]]:
        """Each piece and its time; last the error that ended it, if one did."""
        for piece in self.recorded.pieces:
            yield piece.at, piece.data
        if (error := self.error()) is not None:
            yield self.recorded.end.at, error

    def error(self) -> DragomanError | None:
        """What ended it before its end."""
        end = self.recorded.end
        if end.how == "failed":
            return TransportError(end.code or "network", end.message)
        if end.how == "left":
            said = f"exchange {self.recorded.number:06} goes no further: whoever recorded it left the answer here"
            return UsageError("usage", said)
        return None

    def late(self, allowed: float) -> TransportError:
        """What is told when a piece would come too late."""
        return TransportError("timeout", f"exchange {self.recorded.number:06} is silent for more than {allowed:g} s")


class _Answer:
    """A recorded answer as an Answer."""

    def __init__(self, pace: _Pace, line: Line) -> None:
        self.status = pace.recorded.status
        self.headers: Headers = pace.recorded.headers
        self.chunks = self._chunks()
        self._pace, self._line = pace, line

    def wait(self, began: float | None) -> None:
        """Until the answer begins; raises what came instead."""
        self._sleep(self._pace.recorded.end.at if began is None else began)
        if began is None and (error := self._pace.error()) is not None:
            raise error

    def drain(self, seconds: float) -> None:
        """There is no connection to use again."""

    def _chunks(self) -> Iterator[bytes]:
        for at, part in self._pace.parts():
            self._sleep(at)
            if isinstance(part, DragomanError):
                raise part
            yield part

    def _sleep(self, at: float) -> None:
        seconds = self._pace.until(at)
        allowed = self._line.timeout(self._pace.limits.silence)
        if self._pace.clock is not None and seconds:
            self._pace.clock.sleep(min(seconds, allowed or seconds), self._line.token)
        if allowed is not None and seconds > allowed:
            raise self._pace.late(allowed)


class _AsyncAnswer:
    """The same, awaited."""

    def __init__(self, pace: _Pace) -> None:
        self.status = pace.recorded.status
        self.headers: Headers = pace.recorded.headers
        self.chunks = self._chunks()
        self._pace = pace

    async def wait(self, began: float | None) -> None:
        """Until the answer begins; raises what came instead."""
        await self._sleep(self._pace.recorded.end.at if began is None else began)
        if began is None and (error := self._pace.error()) is not None:
            raise error

    async def drain(self, seconds: float) -> None:
        """There is no connection to use again."""

    async def _chunks(self) -> AsyncGenerator[bytes]:
        for at, part in self._pace.parts():
            await self._sleep(at)
            if isinstance(part, DragomanError):
                raise part
            yield part

    async def _sleep(self, at: float) -> None:
        seconds = self._pace.until(at)
        allowed = self._pace.limits.silence
        if self._pace.clock is not None and seconds:
            await self._pace.clock.asleep(min(seconds, allowed))
        if seconds > allowed:
            raise self._pace.late(allowed)


def _nearness(found: Difference) -> tuple[bool, int]:
    return not found.what, found.after
