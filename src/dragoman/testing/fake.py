"""The fake provider: a server on loopback that speaks a wire, by script, and misbehaves as it is told to."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Self

import msgspec

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, RemoteError, UsageError
from dragoman.passed import hold, hold_function, hold_several, wrong
from dragoman.testing.log import Received, redacted
from dragoman.testing.plan import Act, Plan, answer
from dragoman.testing.quirks import PING, apply, chosen
from dragoman.testing.script import Line, Turn, echo, turns
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http

PORT = "a number up to 65535, 0 for any that is free"
HOST = "127.0.0.1"
PAUSE = 0.05  # seconds: between signs of life, and before each event of a slow stream
COUNTS = ("/count_tokens", "/input_tokens")  # where a service says how long a request would be, roughly here
MODELS = b'{"object":"list","data":[{"id":"fake","object":"model","created":1,"owned_by":"dragoman"}]}'


class FakeProvider:
    """`with FakeProvider("chat", quirks=["rate-limit:2"]) as fake:` and ask `fake.spec`.

    `script` is what it says, a line a request, the last one ever after, or a function that makes the reply to a request or
    raises the ApiError that refuses it; without it, what it was told. A quirk is a name of QUIRKS, or `NAME:N` for the
    first N requests. `pause` is called where an answer takes its time. `seen` is what came, keys redacted, and `log` is
    given each of them; `connections` counts, `left` is set when a client went away before the end of its answer. Raises
    UsageError for a wire, quirk or script that cannot be.
    """

    def __init__(
        self,
        wire: str = "chat",
        *,
        quirks: Sequence[str] = (),
        script: Iterable[Line] | Callable[[Request], Reply] = (),
        port: int = 0,
        pause: Callable[[float], object] = time.sleep,
        log: Callable[[Received], object] | None = None,
    ) -> None:
        hold("wire", wire, str, "the name of one, as chat")
        hold_several("quirks", quirks, 'a list of names, as ["rate-limit:2"]')
        if not callable(script):
            hold_several("script", script, "a list of lines, or a function of a Request")
        hold("port", port, int, PORT)
        if not 0 <= port < 1 << 16:
            raise wrong("port", port, PORT)
        if not callable(pause):
            raise wrong("pause", pause, "a function of seconds")
        hold_function("log", log)
        self.wire = find(wire)
        self.quirks = [chosen(said, wire) for said in quirks]
        self._said, lines = (script, ()) if callable(script) else (echo, script)
        self.turns = turns(lines) or [Turn()]
        for turn in self.turns:
            for said in turn.quirks:
                chosen(said, wire)
        self.seen: list[Received] = []
        self.connections = 0
        self.left = Event()
        self.pause = pause
        self._log = log
        self._lock = Lock()
        try:
            self._server = _Server(self, port)
        except OSError as error:
            raise UsageError("usage", f"cannot listen on {HOST}:{port}: {error.strerror}") from None
        self.url = f"http://{HOST}:{self._server.server_address[1]}"
        self.spec = f"{self.url}/v1#{wire}:fake"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def plan(self, http: Http) -> Plan:
        """Take a request in, and decide what to answer."""
        with self._lock:
            number = len(self.seen) + 1
            turn = self.turns[min(number, len(self.turns)) - 1]
            quirks = [each.name for each in self.quirks if each.at(number)]
            quirks += [said.partition(":")[0] for said in turn.quirks]
            made = self._answered(http, turn)
            for quirk in quirks:
                apply(quirk, made)
            received = redacted(http, number, tuple(quirks), made.status)
            self.seen.append(received)
            if self._log is not None:
                self._log(received)
        return made

    def _answered(self, http: Http, turn: Turn) -> Plan:
        now = time.time()
        made = Plan(
            wire=self.wire, exchange=Exchange(seed="fake", now=int(now)), stream=False, asked=http.body, date=now
        )
        if http.method == "GET":
            made.headers, made.parts = {"content-type": "application/json"}, [MODELS]
            return made
        if http.path.partition("?")[0].endswith(COUNTS):
            count = {"object": "response.input_tokens", "input_tokens": len(http.body) // 4}
            made.headers, made.parts = {"content-type": "application/json"}, [msgspec.json.encode(count)]
            return made
        try:
            incoming = self.wire.decode_request(http, BASE, made.exchange)
            reply = turn.reply or self._said(incoming.request)
        except (RemoteError, ApiError) as error:
            refusal = error if isinstance(error, ApiError) else ApiError("invalid_request", error.message)
            made.status, headers, body = self.wire.encode_error(refusal, BASE)
            made.headers, made.parts = dict(headers), [body]
            return made
        made.exchange, made.stream = incoming.exchange, bool(incoming.request.stream)
        return answer(msgspec.structs.replace(reply, created=reply.created or int(now)), made)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, fake: FakeProvider, port: int) -> None:
        self.fake = fake
        self.open: set[socket.socket] = set()
        super().__init__((HOST, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.fake.connections += 1
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Wake the threads that wait for a client."""
        for connection in list(self.open):
            with suppress(OSError):  # it has gone already
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours."""
        self.fake.left.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_any(self) -> None:
        """One request."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        http = Http(method=self.command, path=self.path, headers=tuple(self.headers.items()), body=body)
        plan = self.server.fake.plan(http)
        if plan.drop or plan.mute:
            if plan.mute:
                self._wait_until_gone()
            self.close_connection = True
            return
        self.send_response_only(plan.status)
        for name, value in plan.headers.items():
            self.send_header(name, value)
        sizes = [len(part) for part in plan.parts if isinstance(part, bytes)]
        chunked = plan.stream or len(sizes) < len(plan.parts) or len(sizes) > 2
        self.send_header(*(("transfer-encoding", "chunked") if chunked else ("content-length", str(sum(sizes)))))
        self.end_headers()
        for part in plan.parts:
            if isinstance(part, bytes):
                self._write(part, chunked=chunked)
            elif not self._act(part):
                self.close_connection = True
                return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = handle_any

    def _write(self, part: bytes, *, chunked: bool) -> None:
        if part:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n" if chunked else part)

    def _act(self, act: Act | float) -> bool:
        """Do it; whether the body goes on."""
        if act is Act.PAUSE or isinstance(act, float):
            self.server.fake.pause(act if isinstance(act, float) else PAUSE)
            return True
        if act is Act.HOLD:
            self._wait_until_gone()
        while act is Act.PING:  # the write that fails ends it
            self._write(PING, chunked=True)
            self.server.fake.pause(PAUSE)
        return False

    def _wait_until_gone(self) -> None:
        with suppress(ConnectionError):
            self.connection.recv(1)
        self.server.fake.left.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
