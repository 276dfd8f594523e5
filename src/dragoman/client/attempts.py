"""The requests that one call sent, each with what came of it."""

from __future__ import annotations

import msgspec

from dragoman.transport.clock import Clock
from dragoman.types.codes import ErrorCode


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a call: no answer does not mean that it was not processed, or not charged (S0-75).

    `number` counts from 1. `status` is that of the answer, None when none came; `code` what went wrong, None when nothing
    did, `why` that in words. `seconds` is how long it took, `waited` how long was waited after it for the next.
    """

    number: int
    status: int | None = None
    code: ErrorCode | None = None
    seconds: float = 0.0
    waited: float = 0.0
    why: str = ""


class Attempts:
    """Writes them down as they go."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._done: list[Attempt] = []
        self._began: float | None = None
        self.status: int | None = None  # of the answer to the one that is under way

    @property
    def all(self) -> tuple[Attempt, ...]:
        """Every one, the one that is under way included."""
        return tuple(self._done) if self._began is None else (*self._done, self._made())

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._done) + (self._began is not None)

    def begin(self) -> None:
        """A request is sent."""
        self._began, self.status = self._clock.now(), None

    def end(self, code: ErrorCode | None = None, why: str = "", waited: float = 0.0) -> None:
        """It came to its end; without a request under way nothing happens."""
        if self._began is not None:
            self._done.append(self._made(code, why, waited))
            self._began = None

    def _made(self, code: ErrorCode | None = None, why: str = "", waited: float = 0.0) -> Attempt:
        seconds = 0.0 if self._began is None else self._clock.now() - self._began
        return Attempt(
            number=len(self._done) + 1, status=self.status, code=code, seconds=seconds, waited=waited, why=why
        )
