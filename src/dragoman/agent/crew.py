"""Tools at work: each in a thread or a task of its own, with a time limit, and none outlives the word to stop."""

from __future__ import annotations

import contextlib
import contextvars
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from dragoman.tools.base import AnyTool, ToolOutput
from dragoman.tools.result import failed
from dragoman.transport.cancel import CancelToken, watching

if TYPE_CHECKING:
    import asyncio

GRACE = 1.0  # seconds for a tool that was told to stop: what it still gives is a result


class _Work:
    """One tool at work."""

    def __init__(self, name: str, seconds: float | None) -> None:
        self.name = name
        self.seconds = seconds
        self.until = None if seconds is None else monotonic() + seconds
        self.token = CancelToken()

    @property
    def late(self) -> bool:
        return self.until is not None and monotonic() >= self.until

    @property
    def timed_out(self) -> ToolOutput:
        return failed(f"`{self.name}` was stopped: it took longer than {self.seconds:g} seconds")


class _Shift:
    """The tools at work, by the place of their calls."""

    def __init__(self, cancel: CancelToken | None) -> None:
        self.cancel = cancel
        self.working: dict[int, _Work] = {}
        self.ready: dict[int, ToolOutput] = {}

    @property
    def stopped(self) -> bool:
        return self.cancel is not None and self.cancel.cancelled

    def overdue(self) -> None:
        """Whoever is late is told to stop, and waited for no more."""
        for position, work in list(self.working.items()):
            if work.late:
                work.token.cancel()
                self.ready[position] = work.timed_out
                del self.working[position]

    def patience(self) -> float | None:
        """How long to wait at most before somebody is late."""
        untils = [work.until for work in self.working.values() if work.until is not None]
        return max(min(untils) - monotonic(), 0.0) if untils else None


class Crew(_Shift):
    """Tools in threads. The threads are daemons: one that never ends keeps nobody from leaving."""

    def __init__(self, cancel: CancelToken | None = None) -> None:
        super().__init__(cancel)
        self._news: SimpleQueue[tuple[int, _Work, ToolOutput | BaseException] | None] = SimpleQueue()

    def start(self, position: int, tool: AnyTool, arguments: dict[str, Any], seconds: float | None) -> None:
        """Set a tool to work."""
        work = self.working[position] = _Work(tool.definition.name, seconds)

        def run() -> None:
            try:
                self._news.put((position, work, tool.invoke(arguments, cancel=work.token)))
            except BaseException as error:  # noqa: BLE001 - carried to whoever waits, an interrupt included
                self._news.put((position, work, error))

        Thread(target=contextvars.copy_context().run, args=(run,), daemon=True, name=f"tool {work.name}").start()

    def wait(self) -> None:
        """Wait until somebody is ready, late, or all are to stop. Raises what a tool raised: an interrupt."""
        with watching(self.cancel, lambda: self._news.put(None)):
            while self.working and not self.ready and not self.stopped:
                self._take(self.patience())
                self.overdue()

    def look(self) -> None:
        """Take in who is ready by now."""
        while self._take(0.0):
            pass

    def stop(self) -> None:
        """Tell everybody to stop; those who still give something within the grace are ready."""
        for work in self.working.values():
            work.token.cancel()
        until = monotonic() + GRACE
        while self.working and monotonic() < until:
            try:
                self._take(until - monotonic())
            except (KeyboardInterrupt, SystemExit):
                continue  # one interrupt is on its way already
        self.working.clear()

    def _take(self, seconds: float | None) -> bool:
        try:
            news = self._news.get(timeout=seconds) if seconds != 0.0 else self._news.get_nowait()
        except Empty:
            return False
        if news is None:
            return True
        position, work, given = news
        if self.working.get(position) is not work:
            return True  # it came too late
        del self.working[position]
        if isinstance(given, BaseException):
            raise given
        self.ready[position] = given
        return True


class AsyncCrew(_Shift):
    """Tools in tasks of the running event loop; the sync ones among them in threads."""

    def __init__(self, cancel: CancelToken | None = None) -> None:
        import asyncio

        super().__init__(cancel)
        self._tasks: dict[int, asyncio.Task[ToolOutput]] = {}
        self._news = asyncio.Event()
        self._raised: BaseException | None = None

    def start(self, position: int, tool: AnyTool, arguments: dict[str, Any], seconds: float | None) -> None:
        """See Crew."""
        import asyncio

        work = self.working[position] = _Work(tool.definition.name, seconds)
        task = self._tasks[position] = asyncio.create_task(_invoked(tool, arguments, work.token))
        task.add_done_callback(lambda done: self._take(position, work, done))

    async def wait(self) -> None:
        """See Crew."""
        import asyncio

        loop = asyncio.get_running_loop()

        def ring() -> None:
            loop.call_soon_threadsafe(self._news.set)

        with watching(self.cancel, ring):
            while self.working and not self.ready and not self.stopped:
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), self.patience())
                self.overdue()
        if self._raised is not None:
            raise self._raised

    def look(self) -> None:
        """See Crew: a task that is done has said so by itself."""

    def overdue(self) -> None:
        """See Crew; a task that is late is cancelled as well."""
        late = [position for position, work in self.working.items() if work.late]
        super().overdue()
        for position in late:
            self._tasks[position].cancel()

    async def stop(self) -> None:
        """See Crew."""
        import asyncio

        running = [self._tasks[position] for position in self.working]
        for work in self.working.values():
            work.token.cancel()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=GRACE)
            await asyncio.sleep(0)  # what is done has yet to say so
        self.working.clear()

    def _take(self, position: int, work: _Work, task: asyncio.Task[ToolOutput]) -> None:
        self._news.set()
        if task.cancelled():
            return
        error = task.exception()
        if self.working.get(position) is not work:
            return  # it came too late
        del self.working[position]
        if error is None:
            self.ready[position] = task.result()
        else:
            self._raised = error


async def _invoked(tool: AnyTool, arguments: dict[str, Any], token: CancelToken) -> ToolOutput:
    import asyncio

    try:
        return await tool.ainvoke(arguments, cancel=token)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return failed(_inner(tool.definition.name))


def _inner(name: str) -> str:
    return f"`{name}` was cancelled from within"
