"""Guards answers that break off in the middle over the transports for async calls: what came before is handed on, then the break
is told, at once and in our words, and nothing is left behind in the library's log."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import socket
import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from dragoman.errors import TransportError
from dragoman.transport.aiohttp import AiohttpTransport
from dragoman.transport.base import AsyncTransport, Limits
from dragoman.transport.httpx2 import AsyncHttpx2Transport
from dragoman.wire.base import Http
from origin import Answer, Origin

TRANSPORTS = {"httpx2": AsyncHttpx2Transport, "aiohttp": AiohttpTransport}
PATIENT = Limits(idle=600)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
RESET = struct.pack("ii", 1, 0)  # closing tells the other side that the connection broke


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Server:
    """Answers one request with `first`, and with `rest` once it is told to go on; then the connection is closed."""

    def __init__(self, first: bytes, rest: Sequence[bytes], *, reset: bool) -> None:
        self._first, self._rest, self._reset = first, rest, reset
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.told = Event()
        self.thread = Thread(target=self._run, daemon=True)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def go_on(self) -> None:
        self.told.set()
        self.thread.join()

    def _run(self) -> None:
        with self._listening, self._listening.accept()[0] as line:
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += line.recv(65536)
            line.sendall(self._first)
            self.told.wait(10)
            for piece in self._rest:
                line.sendall(piece)
            if self._reset:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


@contextmanager
def server(first: bytes, *rest: bytes, reset: bool = False) -> Generator[Server]:
    made = Server(first, rest, reset=reset)
    made.thread.start()
    yield made
    made.go_on()


async def read(transport: AsyncTransport, at: Server) -> tuple[bytes, str]:
    """What came, and the code of what was told of its end. All of the answer has come before its second part is read."""
    came, code = b"", ""
    try:
        async with asyncio.timeout(10), transport.open(Http(method="POST", path=at.url), PATIENT) as answer:
            async for data in answer.chunks:
                came += data
                await asyncio.to_thread(at.go_on)
                for _ in range(9):
                    await asyncio.sleep(0)  # lets the loop read what has come
    except TransportError as error:
        code = error.code
    await transport.close()
    return came, code


BREAKS = {
    "a chunk without a length": (CHUNKED + chunk(b"one"), (b"zz\r\nfoo\r\n",), b"one"),
    "a chunk that is cut": (CHUNKED + chunk(b"one"), (chunk(b"two"), b"10\r\nthr"), b"onetwothr"),
    "no last chunk": (CHUNKED + chunk(b"one"), (chunk(b"two"), chunk(b"three")), b"onetwothree"),
    "shorter than it said": (OK + b"content-length: 9\r\n\r\none", (b"two",), b"onetwo"),
    "no gzip": (OK + b"content-encoding: gzip\r\ncontent-length: 7\r\n\r\n", (b"no gzip",), b""),
    "gzip that ends in none": (
        OK + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(gzip.compress(b"one")[:-8]),
        (chunk(b"nothing"),),
        b"one",
    ),
}


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_came_before_a_break_is_handed_on_and_then_the_break_told(
    transport: str, name: str, reset: bool, caplog: pytest.LogCaptureFixture
) -> None:
    first, rest, whole = BREAKS[name]
    with caplog.at_level(logging.WARNING), server(first, *rest, reset=reset) as at:
        if not whole:
            at.told.set()
        came, code = asyncio.run(read(TRANSPORTS[transport](env={}), at))
        gc.collect()
    assert code == "network"
    assert came == whole or (reset and whole.startswith(came))  # a reset takes with it what nobody has read yet
    assert caplog.records == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_connection_that_breaks_while_nobody_uses_it_is_no_matter(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(at: Server) -> list[bytes]:
        carrier = TRANSPORTS[transport](env={})
        async with carrier.open(Http(method="POST", path=at.url), PATIENT) as answer:
            came = [data async for data in answer.chunks]
        await asyncio.to_thread(at.go_on)
        for _ in range(9):
            await asyncio.sleep(0)
        await carrier.close()
        return came

    with caplog.at_level(logging.WARNING), server(CHUNKED + chunk(b"one") + b"0\r\n\r\n", reset=True) as at:
        assert asyncio.run(ask(at)) == [b"one"]
        gc.collect()
    assert caplog.records == []


@pytest.mark.parametrize("size", [10, 30_000_000])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_service_that_takes_nothing_of_a_body_is_silent_too(transport: str, size: int) -> None:
    async def ask() -> str:
        carrier, limits = TRANSPORTS[transport](env={}), Limits(connect=0.1, idle=0.1)
        with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(TransportError) as told:
            http = Http(path=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1", body=b" " * size)
            async with asyncio.timeout(10), carrier.open(http, limits):
                pass
        await carrier.close()
        for _ in range(9):
            await asyncio.sleep(0)  # lets the loop hear that the service is gone, with what it never took
        return told.value.code

    assert asyncio.run(ask()) == "timeout"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_body_of_any_size_arrives_whole(transport: str) -> None:
    sizes = [0, 1, 65_536, 65_537, 1_048_577, 3_000_000]

    async def ask(path: str) -> None:
        carrier = TRANSPORTS[transport](env={})
        for size in sizes:
            async with carrier.open(Http(path=path, body=b"x" * size), PATIENT) as answer:
                async for _ in answer.chunks:
                    pass
        await carrier.close()

    with Origin(Answer()) as origin:
        asyncio.run(ask(f"{origin.url}/v1"))
        seen = [(len(each.body), each.headers.get("content-length")) for each in origin.seen]
    assert seen == [(size, str(size)) for size in sizes]
    assert origin.connections == 1
