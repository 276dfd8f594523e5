"""Guards a stream that two read at once: the second is told so in words, the first reads on as if nothing had been."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from threading import Event, Thread
from typing import Any, cast

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.client.stream import AsyncModelStream, ModelStream
from dragoman.errors import UsageError
from dragoman.testing import FakeProvider
from dragoman.types import Finish, KeepAlive

WORDS = "one reads a stream once at a time"
TEXT = "The weather is fine."


async def events(stream: AsyncModelStream) -> None:
    async for _ in stream:
        pass


async def batches(stream: AsyncModelStream) -> None:
    async for _ in stream.batches():
        pass


async def finish(stream: AsyncModelStream) -> None:
    await stream.finish()


async def close(stream: AsyncModelStream) -> None:
    await stream.close()


Reader = Callable[[AsyncModelStream], Coroutine[Any, Any, None]]
# Who reads, and who comes to it. Batches are one object, which says so itself.
PAIRS: tuple[tuple[Reader, Reader], ...] = (
    *((events, second) for second in (events, batches, finish, close)),
    *((batches, second) for second in (events, finish, close)),
    *((finish, second) for second in (events, batches, finish, close)),
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_tasks_at_once(first: Reader, second: Reader) -> None:
    asked, go = Event(), Event()

    def pause(seconds: float) -> None:
        asked.set()
        go.wait(10)

    async def both(spec: str) -> str:
        async with AsyncModel(spec, env={}) as model:
            stream = model.stream("hi")
            reading = asyncio.create_task(first(stream))
            await asyncio.to_thread(asked.wait, 10)
            with pytest.raises(UsageError, match=WORDS):
                await second(stream)
            go.set()
            await reading
            return stream.reply.text

    with FakeProvider(quirks=["slow"], script=[TEXT], pause=pause) as fake:
        assert asyncio.run(both(fake.spec)) == TEXT


def test_one_reads_the_events_or_the_batches_whole_or_what_is_left() -> None:
    async def read(spec: str) -> None:
        async with AsyncModel(spec, env={}) as model:
            mixed = model.stream("hi")
            await anext(mixed)
            with pytest.raises(UsageError, match=WORDS):
                mixed.batches()
            assert await mixed.finish() is None
            assert (mixed.reply.text, await mixed.finish()) == (TEXT, None)
            other = model.stream("hi")
            assert await anext(other.batches())
            with pytest.raises(UsageError, match=WORDS):
                await anext(other)
            assert await other.finish() is None
            whole = model.stream("hi")
            assert await whole.finish() is None
            assert [event async for event in whole] == []
            assert (other.reply.text, whole.reply.text) == (TEXT, TEXT)

    with FakeProvider(script=[TEXT]) as fake:
        asyncio.run(read(fake.spec))


@pytest.mark.timeout(20)
def test_two_threads_at_once() -> None:
    asked, go = Event(), Event()

    def pause(seconds: float) -> None:
        asked.set()
        go.wait(10)

    with FakeProvider(quirks=["slow"], script=[TEXT], pause=pause) as fake, Model(fake.spec, env={}) as model:
        stream = model.stream("hi")
        found: list[Any] = []
        reading = Thread(target=lambda: found.extend(stream))
        reading.start()
        assert asked.wait(10)
        with pytest.raises(UsageError, match=WORDS):
            next(stream)
        with pytest.raises(UsageError, match=WORDS):
            stream.close()
        go.set()
        reading.join(10)
        assert isinstance(found[-1], Finish) and stream.reply.text == TEXT


@pytest.mark.timeout(20)
def test_two_threads_again_and_again() -> None:
    """The other thread is often through before the second has looked whether there is one."""

    def steps() -> Generator[Any, None, None]:
        while not done.is_set():
            yield KeepAlive()

    def read() -> None:
        try:
            for _ in range(100_000):
                if done.is_set():
                    return
                with suppress(UsageError):
                    next(stream, None)
        finally:
            done.set()

    done = Event()
    stream = ModelStream(cast(Any, None), steps())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        reading = Thread(target=read)
        reading.start()
        read()
        reading.join(10)
    finally:
        sys.setswitchinterval(before)


def test_a_fault_of_a_step_itself_is_told_as_it_is() -> None:
    def steps() -> Generator[Any, None, None]:
        try:
            yield KeepAlive()
            raise ValueError("a step's own")
        except GeneratorExit:
            raise ValueError("its end's own") from None

    with pytest.raises(ValueError, match="a step's own"):
        list(ModelStream(cast(Any, None), steps()))
    stream = ModelStream(cast(Any, None), steps())
    next(stream)
    with pytest.raises(ValueError, match="its end's own"):
        stream.close()
