"""A line in the middle that changes no byte: what a client really said to `dragoman serve`, and with what head it was answered."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httptools
from msgspec import Struct


class Exchanged(Struct, kw_only=True):
    """One request, its body as JSON, and the status and headers of the answer (0: none came)."""

    method: str
    path: str
    body: Any
    status: int = 0
    headers: dict[str, str] = {}


@contextmanager
def tee(url: str) -> Generator[tuple[str, list[Exchanged]]]:
    """An address that stands for `url` as long as the block lasts, and what goes through it."""
    seen: list[Exchanged] = []
    to = urlsplit(url)
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept() -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = listening.accept()
                server = socket.create_connection((to.hostname or "", to.port or 80))
                asked, answered = _Requests(seen), _Answers()
                asked.told = answered.waiting
                for source, sink, feed in ((client, server, asked.feed), (server, client, answered.feed)):
                    Thread(target=_pump, args=(source, sink, feed), daemon=True).start()

    thread = Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _pump(source: socket.socket, sink: socket.socket, feed: Callable[[bytes], None]) -> None:
    try:
        while data := source.recv(65536):
            with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
                feed(data)
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Requests:
    """What a client says on one connection."""

    def __init__(self, seen: list[Exchanged]) -> None:
        self._seen = seen
        self._parser = httptools.HttpRequestParser(self)
        self._path, self._body = b"", b""
        self.told: list[Exchanged] = []

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        try:
            body = json.loads(self._body)
        except ValueError:
            body = None
        method = self._parser.get_method().decode()
        exchanged = Exchanged(method=method, path=self._path.decode("latin-1"), body=body)
        self._path, self._body = b"", b""
        self._seen.append(exchanged)
        self.told.append(exchanged)


class _Answers:
    """What it is answered there; `waiting` are the requests without an answer, the oldest first."""

    def __init__(self) -> None:
        self.waiting: list[Exchanged] = []
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self.waiting:
            exchanged = self.waiting.pop(0)
            exchanged.status, exchanged.headers = self._parser.get_status_code(), self._headers
        self._headers = {}
