"""Guards the two drivers of a flow: one answer held at a time, all let go of, errors thrown where the flow can act."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from dragoman.errors import RemoteError, TransportError
from dragoman.transport.base import Answer, AsyncAnswer, Headers, Limits
from dragoman.transport.flow import Drain, Emit, Flow, Head, Means, Meter, Pull, Read, Send, drive, drive_async
from dragoman.transport.line import Line
from dragoman.wire.base import Http


class Scripted:
    """A transport without a network, sync and async, that writes down what was done to it."""

    def __init__(self, *bodies: list[bytes] | TransportError) -> None:
        self.bodies = list(bodies)
        self.log: list[str] = []

    @contextmanager
    def _open(self, http: Http) -> Generator[Any]:
        body = self.bodies.pop(0)
        self.log.append(f"open {http.path}")
        if isinstance(body, TransportError):
            raise body
        try:
            yield ScriptedAnswer(body, self.log)
        finally:
            self.log.append(f"close {http.path}")


class SyncScript(Scripted):
    @contextmanager
    def open(self, http: Http, limits: Limits, line: Line) -> Generator[Answer]:
        with self._open(http) as answer:
            yield answer

    def close(self) -> None: ...


class AsyncScript(Scripted):
    @asynccontextmanager
    async def open(self, http: Http, limits: Limits) -> AsyncIterator[AsyncAnswer]:
        with self._open(http) as answer:
            yield AsyncScriptedAnswer(answer)

    async def close(self) -> None: ...


class ScriptedAnswer:
    status = 200
    headers: Headers = (("X-One", "a"), ("x-one", "b"))

    def __init__(self, body: list[bytes], log: list[str]) -> None:
        self.chunks: Iterator[bytes] = iter(body)
        self.log = log

    def drain(self, seconds: float) -> None:
        self.log.append(f"drain {seconds}")


class AsyncScriptedAnswer:
    status = 200
    headers = ScriptedAnswer.headers

    def __init__(self, answer: ScriptedAnswer) -> None:
        self.answer = answer
        self.chunks = self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        for chunk in self.answer.chunks:
            yield chunk

    async def drain(self, seconds: float) -> None:
        self.answer.drain(seconds)


def run(flow: Any, *bodies: list[bytes] | TransportError, take: int | None = None) -> tuple[list[Any], list[str]]:
    """What a flow emits and what was done for it, which both drivers must do alike; `take` stops after so many."""

    async def awaited() -> list[Any]:
        events = drive_async(flow(), Means(transport, Limits()))
        got: list[Any] = []
        async for item in events:
            got.append(item)
            if len(got) == take:
                await events.aclose()
        return got

    sync = SyncScript(*bodies)
    events = drive(flow(), sync, Limits())
    got: list[Any] = []
    for item in events:
        got.append(item)
        if len(got) == take:
            events.close()
    transport = AsyncScript(*bodies)
    assert asyncio.run(awaited()) == got
    assert transport.log == sync.log
    return got, sync.log


def whole(limit: int) -> Generator[Read, bytes | None, bytes]:
    """The part of a flow that reads a body to its end."""
    meter = Meter(limit)
    parts: list[bytes] = []
    while (chunk := (yield Read())) is not None:
        meter.count(chunk)
        parts.append(chunk)
    return b"".join(parts)


def send(path: str) -> Send:
    return Send(Http(path=path))


def test_a_second_request_lets_go_of_the_first_answer() -> None:
    def flow() -> Flow[Any]:
        head: Head = yield send("a")
        assert head == Head(status=200, headers={"x-one": "b"})
        yield send("b")
        body = yield from whole(10)
        yield Drain(0.5)
        yield Emit(body)

    assert run(flow, [b"no"], [b"y", b"es"]) == (
        [b"yes"],
        ["open a", "close a", "open b", "drain 0.5", "close b"],
    )


def test_a_flow_may_catch_a_transport_error_and_try_again() -> None:
    def flow() -> Flow[Any]:
        for path in ("a", "b"):
            try:
                yield send(path)
                yield Emit((yield Read()))
            except TransportError as error:
                yield Emit(error.code)

    assert run(flow, TransportError("network", "gone"), [b"x"]) == (["network", b"x"], ["open a", "open b", "close b"])


def test_an_error_the_flow_does_not_catch_is_the_callers() -> None:
    def flow() -> Flow[Any]:
        yield send("a")
        yield from whole(3)

    with pytest.raises(RemoteError, match="more than 3 bytes"):
        run(flow, [b"12", b"34"])


def test_closing_the_driver_lets_go_of_everything() -> None:
    ended: list[str] = []

    def flow() -> Flow[Any]:
        try:
            yield send("a")
            while True:
                yield Emit((yield Read()))
        finally:
            ended.append("flow")

    assert run(flow, [b"1", b"2", b"3"], take=2) == ([b"1", b"2"], ["open a", "close a"])
    assert ended == ["flow", "flow"]


def test_a_blocking_iterator_is_pulled() -> None:
    def flow() -> Flow[Any]:
        items = iter("ab")
        while (item := (yield Pull(items))) is not None:
            yield Emit(item)

    assert run(flow) == (["a", "b"], [])
