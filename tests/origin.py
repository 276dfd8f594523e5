"""A service on loopback that answers by script and keeps what it was asked: real sockets, no sleeping."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Hold:
    """Stands in a body for: send nothing more until the client has gone, then tell `Origin.left`."""


HOLD = Hold()


@dataclass(frozen=True)
class Answer:
    """What to answer. `body` as bytes is sent with its length, as a list in chunks, one write each.

    `cut` breaks the connection where the body would end.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | Sequence[bytes | Hold] = b""
    cut: bool = False


Script = Answer | Callable[[Seen], Answer]


class Origin:
    """`with Origin(Answer(…), …) as origin`: answers in turn, the last one ever after.

    `url` is where it listens, `seen` what came, `connections` how many were opened, `left` that a client went away
    during a HOLD.
    """

    def __init__(self, *script: Script) -> None:
        self.script = list(script) or [Answer()]
        self.seen: list[Seen] = []
        self.connections = 0
        self.left = Event()
        self._lock = Lock()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def next(self, seen: Seen) -> Answer:
        """Keep a request, give the answer to it."""
        with self._lock:
            script = self.script[min(len(self.seen), len(self.script) - 1)]
            self.seen.append(seen)
        return script if isinstance(script, Answer) else script(seen)

    def __enter__(self) -> Origin:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, origin: Origin) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origin = origin
        self.open: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self.origin.connections += 1
        self.open.append(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        """Wake the threads that wait for a kept-alive client."""
        for connection in self.open:
            with suppress(OSError):  # it has gone already
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def handle_any(self) -> None:
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, self.rfile.read(length))
        answer = self.server.origin.next(seen)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self.send_header("content-length", str(len(answer.body) + answer.cut))
            self.end_headers()
            self.wfile.write(answer.body)
        else:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in answer.body:
                self._part(part)
            if not answer.cut:
                self.wfile.write(b"0\r\n\r\n")
        self.close_connection = self.close_connection or answer.cut

    do_GET = do_POST = handle_any

    def _part(self, part: bytes | Hold) -> None:
        if isinstance(part, bytes):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
            return
        with suppress(ConnectionError):
            self.connection.recv(1)
        self.server.origin.left.set()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
