"""Guards cancelling at every point of a call (C-29): while connecting, waiting, backing off and reading; by token and by task."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.errors import Cancelled
from dragoman.testing import FakeClock, FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.transport.retry import RetryPolicy
from dragoman.types import Delta, Stop

SOON = 10.0  # seconds: what takes longer was not ended by the cancel, whose waits would take minutes
TEN = RetryPolicy(waits=(10.0,), jitter=0.0)


class Point(NamedTuple):
    """A call that stands at one point until it is cancelled: `there` waits until it does."""

    spec: str
    clock: FakeClock
    there: Callable[[], object]
    fake: FakeProvider | None = None

    @property
    def options(self) -> dict[str, Any]:
        return {"env": {}, "clock": self.clock, "retry": TEN}


@contextmanager
def connecting() -> Generator[Point]:
    """A full queue of a listening socket answers no further connection."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        yield Point(f"http://127.0.0.1:{full.getsockname()[1]}/v1#chat:m", FakeClock(), lambda: None)
        for each in waiting:
            each.close()


@contextmanager
def asking(quirk: str) -> Generator[Point]:
    """A service that was asked, and stands still."""
    with FakeProvider("messages", quirks=[quirk]) as fake:
        yield Point(fake.spec, FakeClock(), lambda: _until(lambda: bool(fake.seen)), fake)


@contextmanager
def backing_off() -> Generator[Point]:
    """A wait of ten seconds on a clock that nobody moves."""
    clock = FakeClock(held=True)
    with FakeProvider("messages", quirks=["overloaded"]) as fake:
        yield Point(fake.spec, clock, lambda: clock.sleeping.wait(SOON), fake)


def _until(holds: Callable[[], bool]) -> None:
    from time import sleep

    for _ in range(1000):
        if holds():
            return
        sleep(0.01)
    raise AssertionError("the call never came there")


POINTS: dict[str, Callable[[], Any]] = {
    "connect": connecting,
    "answer": lambda: asking("silence"),
    "backoff": backing_off,
    "stream": lambda: asking("silence-in-stream"),
}
each_point = pytest.mark.parametrize("point", POINTS)
each_async = pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
each_mode = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def let_go(at: Point) -> None:
    """The service saw one request and its client go; the clock was not moved."""
    assert at.clock.now() == 1000.0
    assert at.clock.waits in ([], [10.0])
    if at.fake is not None:
        assert len(at.fake.seen) == 1
        assert at.clock.waits == [10.0] or at.fake.left.wait(SOON)


@pytest.mark.req("S0-66", "S0-77", "S0-78")
@each_point
@each_mode
def test_a_token_ends_a_sync_call_quietly(point: str, stream: bool) -> None:
    token, out = CancelToken(), []
    with POINTS[point]() as at, Model(at.spec, **at.options) as model:
        reading = model.stream("Hello there", cancel=token) if stream else None

        def call() -> None:
            try:
                out.append(list(reading) if reading is not None else model.chat("Hello there", cancel=token))
            except Cancelled as error:
                out.append(error)

        thread = Thread(target=call, daemon=True)
        thread.start()
        at.there()
        token.cancel()
        token.cancel()
        thread.join(SOON)
        assert not thread.is_alive()
        let_go(at)
        if reading is None:
            assert isinstance(out[0], Cancelled) and out[0].code == "cancelled"
        else:
            assert reading.reply.stop == Stop(reason="cancelled")
            assert [each.code for each in reading.attempts] == ["overloaded" if point == "backoff" else "cancelled"]
            assert all(isinstance(event, Delta) is False or event.text for event in out[0])


@pytest.mark.req("S0-66", "S0-77", "S0-78")
@each_point
@each_mode
@each_async
def test_a_token_ends_an_async_call_quietly(point: str, stream: bool, transport: str) -> None:
    async def go(at: Point) -> Any:
        token = CancelToken()
        async with AsyncModel(at.spec, transport=transport, **at.options) as model:
            task = asyncio.create_task(_called(model, token, stream=stream))
            await asyncio.to_thread(at.there)
            await asyncio.sleep(0)
            token.cancel()
            token.cancel()
            return await asyncio.wait_for(task, SOON)

    with POINTS[point]() as at:
        ended = asyncio.run(go(at))
        let_go(at)
    assert isinstance(ended, Cancelled) if not stream else ended == Stop(reason="cancelled")


@pytest.mark.req("S0-66", "S0-77")
@each_point
@each_mode
@each_async
def test_cancelling_the_task_cleans_up_and_raises(point: str, stream: bool, transport: str) -> None:
    async def go(at: Point) -> None:
        async with AsyncModel(at.spec, transport=transport, **at.options) as model:
            task = asyncio.create_task(_called(model, None, stream=stream))
            await asyncio.to_thread(at.there)
            await asyncio.sleep(0)
            task.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, SOON)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert others == set()

    with POINTS[point]() as at:
        asyncio.run(go(at))
        let_go(at)


async def _called(model: AsyncModel, token: CancelToken | None, *, stream: bool) -> Any:
    if not stream:
        return await _caught(model.chat("Hello there", cancel=token))
    reading = model.stream("Hello there", cancel=token)
    async with reading:
        async for _ in reading:
            pass
    return reading.reply.stop


async def _caught(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except Cancelled as error:
        return error
