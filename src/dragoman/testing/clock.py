"""A clock that stands still until it is moved."""

from __future__ import annotations

from threading import Condition, Event

from dragoman.passed import hold
from dragoman.transport.cancel import CancelToken, watching


class FakeClock:
    """A Clock for tests. Every sleep is written to `waits`; by itself it ends at once and moves the clock on.

    With `held=True` a sleep lasts until `advance` has moved the clock that far, from another thread or task, or until
    the call is cancelled; `sleeping` is set while one lasts.
    """

    def __init__(self, now: float = 1000.0, *, date: float = 1_800_000_000.0, held: bool = False) -> None:
        for name, reading in (("now", now), ("date", date)):
            hold(name, reading, (int, float), "seconds as a number")
        self.waits: list[float] = []
        self.sleeping = Event()
        self._held = held
        self._now = now
        self._ahead = date - now
        self._moved = Condition()

    def now(self) -> float:
        """The reading."""
        return self._now

    def date(self) -> float:
        """The same as seconds since the epoch."""
        return self._now + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the clock, and wake those whose time has come."""
        hold("seconds", seconds, (int, float), "a number")
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def sleep(self, seconds: float, cancel: CancelToken | None) -> None:
        """See Clock."""
        until = self._begin(seconds)
        with watching(cancel, self._wake), self._moved:
            while self._now < until and not (cancel is not None and cancel.cancelled):
                self.sleeping.set()
                self._moved.wait()
        self.sleeping.clear()

    async def asleep(self, seconds: float) -> None:
        """See Clock."""
        from anyio import sleep

        until = self._begin(seconds)
        try:
            while self._now < until:
                self.sleeping.set()
                await sleep(0.001)  # another thread moves this clock: looking is the one way to know on every loop
        finally:
            self.sleeping.clear()

    def _begin(self, seconds: float) -> float:
        self.waits.append(seconds)
        until = self._now + seconds
        if not self._held:
            self.advance(seconds)
        return until

    def _wake(self) -> None:
        with self._moved:
            self._moved.notify_all()
