"""Which of the time limits of a call ends a wait first."""

from __future__ import annotations

from dragoman.transport.base import Limits

SAID = {
    "first": "said nothing within {:g} s",
    "idle": "was silent for {:g} s",
    "progress": "sent nothing but signs of life for {:g} s",
    "request": "did not end its answer within {:g} s",
    "total": "did not answer within {:g} s in all",
}


class Deadlines:
    """The deadlines of one call, by the readings of a clock that are handed in."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._call = now
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
        limits = self._limits
        waits_for_first = limits.first is not None and not self._spoke
        since = {
            "first": self._request if waits_for_first else None,
            "progress": self._moved,
            "request": self._request,
            "total": self._call,
        }
        left = {
            name: start + allowed - now
            for name, start in since.items()
            if start is not None and (allowed := self._allowed(name)) is not None
        }
        if not waits_for_first:
            left["idle"] = limits.idle
        name = min(left, key=lambda each: left[each], default="idle")
        seconds = left.get(name, limits.silence)
        return (None, name) if seconds >= limits.silence else (max(seconds, 0.0), name)

    def said(self, name: str) -> str:
        """What is to be told when the limit of that name passed."""
        return f"{SAID[name].format(self._allowed(name))}; if the model needs longer, raise Limits({name}=…)"

    def _allowed(self, name: str) -> float | None:
        allowed: float | None = getattr(self._limits, name)
        return allowed
