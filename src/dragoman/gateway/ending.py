"""A task that may be ended from outside, and knows a cancel that was meant so from any other."""

from __future__ import annotations

import asyncio


class Ending:
    """Ends the task in which it is made."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._ended = False

    def end(self) -> None:
        """Cancel the task, wherever it stands."""
        self._ended = True
        if self._task is not None:
            self._task.cancel()

    def taken(self) -> bool:
        """Whether a cancel was this one's, and no other's; then it is done with."""
        return self._ended and self._task is not None and self._task.uncancel() == 0
