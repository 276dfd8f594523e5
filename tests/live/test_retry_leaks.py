"""Guards against leaks: after many cancels, of every kind, no connection, task, thread or file handle is left (S0-77, C-29)."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.errors import Cancelled
from dragoman.testing import FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.types import Delta

COUNT = 12  # calls of each kind; benchmarks/overhead.py counts after a thousand
SOON = 10.0
FILES = "/proc/self/fd"

pytestmark = pytest.mark.skipif(not os.path.isdir(FILES), reason="counts open files by /proc")


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider("chat", quirks=["silence-in-stream"]) as fake:
        yield fake


def left(fake: FakeProvider) -> dict[str, int]:
    gc.collect()
    deadline = time.monotonic() + SOON
    while (theirs := _serving()) and time.monotonic() < deadline:  # the server notices a closed connection in its time
        theirs[0].join(0.01)
    mine = threading.active_count() - len(theirs)
    return {"files": len(os.listdir(FILES)), "threads": mine, "connections": len(fake._server.open)}


def _serving() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]


async def tasks(fake: FakeProvider, count: int, transport: str) -> tuple[int, int, dict[str, int]]:
    """Calls that are cancelled: by their task before and after the first word, by token, by closing. Returns how many
    ended so, the tasks that are left, and what else is, while the model is still in use.
    """

    async def one(model: AsyncModel, number: int, started: asyncio.Event) -> None:
        token = CancelToken() if number % 4 == 1 else None
        stream = model.stream("Hello there", cancel=token)
        async for event in stream:
            if isinstance(event, Delta):
                started.set()
                if token is not None:
                    token.cancel()
                elif number % 4 == 2:
                    await stream.close()
                    return

    async with AsyncModel(fake.spec, env={}, transport=transport) as model:
        running: list[tuple[int, asyncio.Event, asyncio.Task[None]]] = []
        for number in range(count):
            started = asyncio.Event()
            running.append((number, started, asyncio.create_task(one(model, number, started))))
        for number, started, task in running:
            if number % 4:
                await started.wait()
            if number % 4 in (0, 3):
                task.cancel()
        done: list[Any] = await asyncio.gather(*(task for *_, task in running), return_exceptions=True)
        ended = sum(each is None or isinstance(each, asyncio.CancelledError) for each in done)
        return ended, len(asyncio.all_tasks()) - 1, left(fake)


def threads(fake: FakeProvider, count: int, transport: str) -> tuple[int, dict[str, int]]:
    """The same for sync calls, by token from this thread."""

    def one(model: Model, token: CancelToken, started: threading.Event) -> bool:
        try:
            for event in model.stream("Hello there", cancel=token):
                if isinstance(event, Delta):
                    started.set()
        except Cancelled:
            return True
        return token.cancelled

    with Model(fake.spec, env={}, transport=transport) as model, ThreadPoolExecutor(count) as pool:
        tokens = [(CancelToken(), threading.Event()) for _ in range(count)]
        calls = [pool.submit(one, model, token, started) for token, started in tokens]
        for number, (token, started) in enumerate(tokens):
            if number % 4:
                assert started.wait(SOON)
            token.cancel()
            token.cancel()
        ended = sum(call.result(SOON) for call in calls)
        pool.shutdown()
        return ended, left(fake)


@pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
def test_nothing_is_left_of_cancelled_tasks(fake: FakeProvider, transport: str) -> None:
    few = asyncio.run(tasks(fake, 4, transport))  # what a process opens once
    assert few[:2] == (4, 0) and few[2]["connections"] == 0
    assert asyncio.run(tasks(fake, COUNT, transport)) == (COUNT, *few[1:])


@pytest.mark.parametrize("transport", ["httpx2", "stdlib"])
def test_nothing_is_left_of_cancelled_threads(fake: FakeProvider, transport: str) -> None:
    few = threads(fake, 4, transport)
    assert few[0] == 4 and few[1]["connections"] == 0
    assert threads(fake, COUNT, transport) == (COUNT, few[1])


def test_streams_that_are_dropped_unread_leave_nothing(fake: FakeProvider) -> None:
    with Model(fake.spec, env={}) as model:
        next(model.stream("Hello there"))
        gc.collect()
        before = left(fake)
        for _ in range(COUNT):
            next(model.stream("Hello there"))
        assert left(fake) == before
