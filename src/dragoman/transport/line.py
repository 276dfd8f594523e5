"""The wait of one call as other threads see it: how long it may take, and the socket that ends it when shut."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TypeVar

from dragoman.errors import TransportError
from dragoman.transport.cancel import CancelToken

T = TypeVar("T")
SHORTEST = 0.001  # seconds: a socket takes 0 for "do not wait"


class Line:
    """A blocking read cannot be told to stop, so whoever cancels shuts the socket it waits for."""

    def __init__(self, cancel: CancelToken | None = None) -> None:
        self._cancel = cancel
        self._until: float | None = None
        self._socket: socket.socket | None = None
        self._lock = Lock()

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._cancel is not None and self._cancel.cancelled

    @property
    def token(self) -> CancelToken | None:
        """What the call is cancelled by: a wait that needs no socket watches it itself."""
        return self._cancel

    @property
    def late(self) -> bool:
        """Whether the time given by `within` is up."""
        return self._until is not None and time.monotonic() >= self._until - SHORTEST

    def within(self, seconds: float | None) -> None:
        """What is waited for now must come within so long; None: the usual time limits are enough."""
        self._until = None if seconds is None else time.monotonic() + seconds

    def timeout(self, usual: float | None) -> float | None:
        """The time limit of one blocking step whose usual limit is `usual`."""
        if self._until is None:
            return usual
        left = max(self._until - time.monotonic(), SHORTEST)
        return left if usual is None else min(left, usual)

    def hold(self, waited_for: socket.socket | None) -> None:
        """From now on the call waits for this socket; None: for none, it may serve another call."""
        with self._lock:
            self._socket = waited_for
        if waited_for is not None and self.cancelled:
            self.cut()

    def cut(self) -> None:
        """Shut the socket that is waited for, if any."""
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):  # it was shut already
                    self._socket.shutdown(socket.SHUT_RDWR)

    def connect(self, make: Callable[[], T], drop: Callable[[T], object], errors: tuple[type[Exception], ...]) -> T:
        """What `make` gives, or raises of `errors`. There is no socket to shut yet, so a call that can be cancelled
        connects in a thread and leaves it to end by itself; `drop` then lets go of what it made.
        """
        if self._cancel is None:
            return make()
        done, lock = Event(), Lock()
        made: list[T] = []
        failed: list[Exception] = []
        left: list[bool] = []

        def work() -> None:
            try:
                value = make()
            except errors as error:
                failed.append(error)
            else:
                with lock:
                    (drop if left else made.append)(value)
            finally:
                done.set()

        Thread(target=work, name="dragoman-connect", daemon=True).start()
        with self._cancel.watched(done.set):
            done.wait()
        with lock:
            left.append(True)
            if made and not self.cancelled:
                return made[0]
        for value in made:
            drop(value)
        raise failed[0] if failed else TransportError("network", "cancelled before there was a connection")
