"""What whoever runs the server is told of faults: a line each that says where, and never a word of what was said."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from time import monotonic
from traceback import walk_tb
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], object]

PERIOD = 60.0  # seconds
MOST = 20  # lines in a period
PACKAGE = PurePath(__file__).parent.parent


class Alarm:
    """Tells each fault on `tell`. The same line comes once in a period, and never more than MOST of them: what fails with
    every request must not fill a disk. How many were left out is told before the next line of a later period, or at the end."""

    def __init__(self, tell: Tell = lambda line: None, now: Callable[[], float] = monotonic) -> None:
        self._tell, self._now = tell, now
        self._began = now()
        self._said: set[str] = set()
        self._left = 0

    def bug(self, error: BaseException, at: str = "") -> None:
        """A fault of this library, or of one that it uses; `at` is the door. Its own words may hold what nobody should read."""
        door = f" ({at})" if at else ""
        self.say(f"a fault in this server: {where(error)}{door}; please report this line")

    def say(self, line: str) -> None:
        """One line, if it may be said now. A reader who is gone breaks nothing."""
        if self._now() - self._began >= PERIOD:
            self.close()
            self._began, self._said = self._now(), set()
        if line in self._said or len(self._said) == MOST:
            self._left += 1
            return
        self._said.add(line)
        self._write(line)

    def close(self) -> None:
        """Tell what was left out."""
        left, self._left = self._left, 0
        if left:
            self._write(f"{left} more like those")

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self._tell(line)


def where(error: BaseException) -> str:
    """`KeyError at dragoman/gateway/answer.py:77`: the last line of ours, and that of the library that it had called."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = [(PurePath(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
    ours = [at for at in frames if at[0].is_relative_to(PACKAGE)][-1:]
    last = [at for at in frames[-1:] if at not in ours]
    told = [_shown(*at) for at in (*last, *ours)]
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""  # the system's, of no client
    return " at ".join([type(error).__name__ + why, *told[:1]]) + "".join(f", called from {each}" for each in told[1:])


def _shown(path: PurePath, line: int) -> str:
    inside = path.relative_to(PACKAGE.parent) if path.is_relative_to(PACKAGE) else PurePath(*path.parts[-2:])
    return f"{inside.as_posix()}:{line}"
