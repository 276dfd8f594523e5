"""A word that stops a call from anywhere: another thread, a signal handler, a task."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, RLock


class CancelToken:
    """`cancel` stops every call that was given this token, wherever it waits: connect, backoff or stream (S0-77).

    Once cancelled it stays so; cancelling twice is cancelling once. Safe to use from any thread.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._lock = RLock()  # a signal handler may cancel while this very thread holds it
        self._watchers: dict[object, Callable[[], None]] = {}

    @property
    def cancelled(self) -> bool:
        """Whether the word was given."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Give the word."""
        with self._lock:
            self._event.set()
            watchers, self._watchers = list(self._watchers.values()), {}
        for watcher in watchers:
            watcher()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the word, for at most so long. Returns whether it was given."""
        return self._event.wait(seconds)

    @contextmanager
    def watched(self, watcher: Callable[[], None]) -> Generator[None]:
        """While in this context, `cancel` calls `watcher`, in its own thread; at once if the word was given already."""
        place = object()
        with self._lock:
            gone = self._event.is_set()
            if not gone:
                self._watchers[place] = watcher
        if gone:
            watcher()
        try:
            yield
        finally:
            with self._lock:
                self._watchers.pop(place, None)

    def __repr__(self) -> str:
        return f"CancelToken({'cancelled' if self.cancelled else 'waiting'})"


def watching(token: CancelToken | None, watcher: Callable[[], None]) -> AbstractContextManager[None]:
    """`token.watched(watcher)`, or nothing where there is no token."""
    return nullcontext() if token is None else token.watched(watcher)
