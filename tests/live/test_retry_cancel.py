"""Guards the cancel token: it ends a call in connect, backoff and stream, quietly, and lets go of the connection."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.errors import Cancelled
from dragoman.testing import FakeClock, FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.types import Delta, Finish, Stop

each_transport = pytest.mark.parametrize("transport", ["httpx2", "stdlib"])
WIRES = ("chat", "messages", "responses")
SOON = 10.0  # seconds: what takes longer was not ended by the token, whose waits would take minutes


def in_thread(call: Callable[[], Any]) -> tuple[Thread, list[Any]]:
    """`call` in a thread of its own, and what came of it."""
    out: list[Any] = []

    def work() -> None:
        try:
            out.append(call())
        except Cancelled as error:
            out.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread, out


@pytest.mark.req("S0-77")
@pytest.mark.req("S0-66")
@pytest.mark.parametrize("stream", [False, True])
def test_a_backoff_ends_before_the_clock_is_moved(stream: bool) -> None:
    clock, token = FakeClock(held=True), CancelToken()
    with FakeProvider("chat", quirks=["rate-limit-seconds"]) as fake, Model(fake.spec, env={}, clock=clock) as model:
        if stream:
            thread, out = in_thread(lambda: list(model.stream("hi", cancel=token)))
        else:
            thread, out = in_thread(lambda: model.chat("hi", cancel=token))
        assert clock.sleeping.wait(SOON)
        token.cancel()
        token.cancel()
        thread.join(SOON)
        assert not thread.is_alive()
        assert (clock.now(), clock.waits, len(fake.seen)) == (1000.0, [2.0], 1)
        assert out == [[]] if stream else isinstance(out[0], Cancelled)


@pytest.mark.req("S0-77")
def test_an_async_backoff_ends_before_the_clock_is_moved() -> None:
    async def go(model_spec: str) -> None:
        clock, token = FakeClock(held=True), CancelToken()
        async with AsyncModel(model_spec, env={}, clock=clock) as model:
            task = asyncio.create_task(model.chat("hi", cancel=token))
            assert await asyncio.to_thread(clock.sleeping.wait, SOON)
            await asyncio.to_thread(token.cancel)
            token.cancel()
            with pytest.raises(Cancelled):
                await task
            other = asyncio.create_task(model.chat("hi"))
            assert await asyncio.to_thread(clock.sleeping.wait, SOON)
            other.cancel()
            with pytest.raises(asyncio.CancelledError):
                await other
            assert clock.now() == 1000.0

    with FakeProvider("chat", quirks=["rate-limit-seconds"]) as fake:
        asyncio.run(go(fake.spec))
    assert len(fake.seen) == 2


@pytest.mark.req("S0-78", "C-29")
@each_transport
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_ends_quietly_with_what_came(wire: str, transport: str) -> None:
    token = CancelToken()
    with FakeProvider(wire, quirks=["silence-in-stream"]) as fake:
        model = Model(fake.spec, env={}, transport=transport)
        stream = model.stream("Hello there", cancel=token)
        for event in stream:
            if isinstance(event, Delta):
                break
        thread, out = in_thread(lambda: list(stream))
        token.cancel()
        token.cancel()
        thread.join(SOON)
        assert fake.left.wait(SOON)
        assert out == [[]]
        assert (stream.reply.text != "", stream.reply.stop) == (True, Stop(reason="cancelled"))
        assert len(fake.seen) == 1


@each_transport
@pytest.mark.parametrize("quirk", ["silence", "silence-at-start"])
def test_a_wait_for_the_answer_ends(quirk: str, transport: str) -> None:
    token = CancelToken()
    with FakeProvider("chat", quirks=[quirk]) as fake, Model(fake.spec, env={}, transport=transport) as model:
        thread, out = in_thread(lambda: model.chat("hi", cancel=token))
        while not fake.seen:
            thread.join(0.01)
        token.cancel()
        thread.join(SOON)
        assert fake.left.wait(SOON)
        assert isinstance(out[0], Cancelled)


def test_a_wait_on_a_connection_that_was_used_before_ends_too() -> None:
    token = CancelToken()
    with FakeProvider("chat", script=["a", {"quirks": ["silence"]}]) as fake, Model(fake.spec, env={}) as model:
        assert model.chat("hi").text == "a"
        thread, out = in_thread(lambda: model.chat("hi", cancel=token))
        while len(fake.seen) < 2:
            thread.join(0.01)
        token.cancel()
        thread.join(SOON)
        assert fake.left.wait(SOON)
        assert (isinstance(out[0], Cancelled), fake.connections) == (True, 1)


def test_a_suspended_stream_lets_go_at_once() -> None:
    token = CancelToken()
    with FakeProvider("chat", quirks=["silence-in-stream"]) as fake, Model(fake.spec, env={}) as model:
        stream = model.stream("Hello there", cancel=token)
        next(stream)
        token.cancel()
        assert fake.left.wait(SOON)  # nobody reads
        assert list(stream) == []


@each_transport
def test_connecting_ends(transport: str) -> None:
    """A full queue of a listening socket answers no further connection: it hangs until somebody gives up."""
    token = CancelToken()
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        model = Model(f"http://127.0.0.1:{address[1]}/v1#chat:m", env={}, transport=transport)
        thread, out = in_thread(lambda: model.chat("hi", cancel=token))
        thread.join(0.1)
        assert thread.is_alive()
        token.cancel()
        thread.join(5.0)
        assert isinstance(out[0], Cancelled)
        for each in waiting:
            each.close()


@pytest.mark.req("S0-66")
def test_a_token_that_was_cancelled_before_sends_nothing() -> None:
    token = CancelToken()
    token.cancel()
    with FakeProvider("chat") as fake, Model(fake.spec, env={}) as model:
        assert list(model.stream("hi", cancel=token)) == []
        with pytest.raises(Cancelled):
            model.chat("hi", cancel=token)
        assert model.chat("hi").text == "hi"
    assert len(fake.seen) == 1


def test_an_async_stream_ends_quietly_from_another_thread() -> None:
    async def go(fake: FakeProvider) -> None:
        token = CancelToken()
        async with AsyncModel(fake.spec, env={}) as model:
            stream = model.stream("Hello there", cancel=token)
            async for event in stream:
                if isinstance(event, Delta):
                    await asyncio.to_thread(token.cancel)
            assert stream.reply.stop == Stop(reason="cancelled")
            assert await asyncio.to_thread(fake.left.wait, SOON)

    with FakeProvider("chat", quirks=["silence-in-stream"]) as fake:
        asyncio.run(go(fake))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files by /proc")
def test_a_hundred_cancels_leave_nothing_open() -> None:
    with FakeProvider("chat", quirks=["silence-in-stream:100"]) as fake, Model(fake.spec, env={}) as model:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(100):
            token = CancelToken()
            stream = model.stream("Hello there", cancel=token)
            next(stream)
            token.cancel()
            assert list(stream) == []
        assert isinstance([*model.stream("Hello there")][-1], Finish)
        assert len(fake.seen) == 101
    assert len(os.listdir("/proc/self/fd")) <= before
