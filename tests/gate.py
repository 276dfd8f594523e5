"""`dragoman serve` on loopback within this process: the application on a real socket, its server in a thread."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from threading import Event as ThreadEvent
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, Self

import uvicorn

from dragoman import AsyncModel
from dragoman.carriers import Carrier, MemoryStore
from dragoman.client import Observer
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.app import App
from dragoman.gateway.asking import Manner
from dragoman.gateway.guard import Guard
from dragoman.gateway.run import listen, server, transport
from dragoman.gateway.seats import Seats
from dragoman.gateway.serving import Bounds

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


class _Server(uvicorn.Server):
    """One that is stopped at once, not at its next look at the clock."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._up = ThreadEvent()

    async def main_loop(self) -> None:
        self._loop, self._down = asyncio.get_running_loop(), asyncio.Event()
        self._up.set()
        await self._down.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody new, and what is open comes to its end; uvicorn looks for it ten times a second, this at every turn."""
        for each in (*self.servers, *(sockets or ())):
            each.close()
        for line in list(self.server_state.connections):
            line.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(0.001)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

    def stop(self) -> None:
        self._up.wait()
        self._loop.call_soon_threadsafe(self._down.set)


class Got(NamedTuple):
    """An answer, whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Gate:
    """`with Gate(spec) as gate:` and knock at `gate.url`. `specs` are those of --model."""

    def __init__(
        self,
        *specs: Any,
        guard: Guard = Guard(),  # noqa: B008
        bounds: Bounds = Bounds(),  # noqa: B008
        passthrough: bool = True,
        observers: Sequence[Observer] = (),
        env: Mapping[str, str] | None = None,
        alarm: Alarm | None = None,
    ) -> None:
        def make(spec: Any) -> AsyncModel:
            return AsyncModel(spec, env=env or {}, retry=0, observers=observers, transport=transport())

        if all(isinstance(spec, str) for spec in specs):
            seats = Seats.of(specs, make)
        else:
            seats = Seats({"made": make(specs[0])}, any_name=True)
        manner = Manner(carrier=Carrier(key=b"gate" * 8, store=MemoryStore()), passthrough=passthrough)
        self.app = App(seats, guard, manner, bounds, alarm)
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = _Server(server(self.app).config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()
        self._socket.close()

    def ask(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, method: str = "") -> Got:
        """One request and its answer."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as line:
            line.request(method or ("GET" if data is None else "POST"), path, data, dict(headers or {}))
            answer = line.getresponse()
            return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def say(self, wire: str, text: str = "Hello.", **fields: Any) -> Got:
        """A question of one text on a wire."""
        return self.ask(PATHS[wire], body_of(wire, text, **fields))

    def knock(self, path: str, body: Any) -> socket.socket:
        """A request that is sent, on a socket for whoever wants to leave."""
        data = json.dumps(body).encode()
        line = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
        line.sendall(head.encode() + data)
        return line


def refuses(port: int, seconds: float) -> bool:
    """Whether nobody listens there any more, in time. A connection that only takes long proves nothing: under load, one
    whose server has not even heard of its end does."""
    end = monotonic() + seconds
    while monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=seconds).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
        ThreadEvent().wait(0.005)
    return False


def body_of(wire: str, text: str = "Hello.", **fields: Any) -> dict[str, Any]:
    """The least body of a wire."""
    said = [{"role": "user", "content": text}]
    least: dict[str, Any] = {
        "chat": {"messages": said},
        "messages": {"messages": said, "max_tokens": 500},
        "responses": {"input": text},
    }[wire]
    return {"model": "m", **least, **fields}


def events(stream: bytes) -> list[Any]:
    """What the events of a stream say, as JSON; the marker of its end apart."""
    lines = stream.decode().splitlines()
    said = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(each) for each in said if each != "[DONE]"]
