"""Time, as calls see it: handed in, so that a test need not wait."""

from __future__ import annotations

import time
from typing import Protocol

from dragoman.transport.cancel import CancelToken


class Clock(Protocol):
    """What a call needs of time. `now` only ever grows; `date` is seconds since the epoch."""

    def now(self) -> float: ...
    def date(self) -> float: ...
    def sleep(self, seconds: float, cancel: CancelToken | None) -> None:
        """Return after `seconds`, or when `cancel` is."""
        ...

    async def asleep(self, seconds: float) -> None:
        """Return after `seconds`; being cancelled ends it at once."""
        ...


class SystemClock:
    """The machine's own clock; `now` is seconds since some moment."""

    now = staticmethod(time.monotonic)  # itself: a call looks at it ten times

    def date(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def sleep(self, seconds: float, cancel: CancelToken | None) -> None:
        """See Clock."""
        if cancel is None:
            time.sleep(seconds)
        else:
            cancel.wait(seconds)

    async def asleep(self, seconds: float) -> None:
        """See Clock."""
        from anyio import sleep

        await sleep(seconds)


SYSTEM = SystemClock()
