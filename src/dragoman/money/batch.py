"""A ledger for whoever makes many calls a second: what ended within a moment is written in one go, by a thread."""

from __future__ import annotations

from threading import Lock, Timer

from dragoman.client.observe import Exchanged
from dragoman.errors import UsageError
from dragoman.money.entry import Entry
from dragoman.money.ledger import Ledger

MOMENT = 0.25  # seconds: what a process that is killed may take with it


class Batch:
    """An observer that writes calls to `ledger`. Where that could not be done, the call after it is told (see Observer)."""

    def __init__(self, ledger: Ledger, moment: float = MOMENT) -> None:
        self._ledger, self._moment = ledger, moment
        self._lock = Lock()
        self._rows: list[Entry] = []
        self._timer: Timer | None = None
        self._failed: UsageError | None = None

    def __call__(self, seen: Exchanged) -> None:
        """Keep a call that has ended. Raises UsageError where those before it could not be written."""
        row = self._ledger.row(seen)
        with self._lock:
            self._rows.append(row)
            if self._timer is None:
                self._timer = Timer(self._moment, self._write)
                self._timer.daemon = True
                self._timer.start()
            failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Write what is left. Raises UsageError where that, or what was before, could not be written."""
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
        self._write()
        if self._failed is not None:
            raise self._failed

    def _write(self) -> None:
        with self._lock:
            rows, self._rows, self._timer = self._rows, [], None
        try:
            self._ledger.add(*rows)
        except UsageError as error:
            self._failed = error
