"""Which of the time limits of a call ends a wait first."""

from __future__ import annotations

from math import inf

from dragoman.transport.base import Limits

SAID = {
    "first": "said nothing within {:g} s",
    "idle": "was silent for {:g} s",
    "progress": "sent nothing but signs of life for {:g} s",
    "request": "did not end its answer within {:g} s",
    "total": "did not answer within {:g} s in all",
}


ROUNDING = 0.001  # seconds, far more than sums of clock readings are off


class Deadlines:
    """The deadlines of one call, by the readings of a clock that are handed in."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._silence = limits.silence
        self._call = now
        least = min(
            [allowed for allowed in (limits.progress, limits.request, limits.total) if allowed is not None] or [inf]
        )
        # before that moment no limit of ours can be nearer than the one that transports keep
        self._from = now + least - self._silence - ROUNDING if limits.first is None else -inf
        self.begin(now)

    def begin(self, now: float) -> None:
        """A request is sent."""
        self._request = self._moved = now
        self._spoke = False

    def moved(self, now: float) -> None:
        """Something of the answer itself came."""
        self._moved = now
        self._spoke = True

    def elapsed(self, now: float) -> float:
        """Seconds since the call began."""
        return now - self._call

    def next(self, now: float) -> tuple[float | None, str]:
        """Seconds until the next limit, and its name; None when that is the one that transports keep by themselves."""
        if now < self._from:  # asked before every read, and nearly always so
            return None, "idle"
        limits = self._limits
        seconds, name = inf, "idle"
        waits_for_first = limits.first is not None and not self._spoke
        if limits.first is not None and waits_for_first:
            seconds, name = self._request + limits.first - now, "first"
        for each, start, allowed in (
            ("progress", self._moved, limits.progress),
            ("request", self._request, limits.request),
            ("total", self._call, limits.total),
        ):
            if allowed is not None and start + allowed - now < seconds:
                seconds, name = start + allowed - now, each
        if not waits_for_first and limits.idle < seconds:
            seconds, name = limits.idle, "idle"
        return (None, name) if seconds >= self._silence else (max(seconds, 0.0), name)

    def said(self, name: str) -> str:
        """What is to be told when the limit of that name passed."""
        return f"{SAID[name].format(self._allowed(name))}; if the model needs longer, raise Limits({name}=…)"

    def _allowed(self, name: str) -> float | None:
        allowed: float | None = getattr(self._limits, name)
        return allowed
