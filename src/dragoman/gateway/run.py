"""The application on a socket: listen, serve until a signal, let what is open come to its end."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn

from dragoman.errors import UsageError
from dragoman.gateway.app import App

BACKLOG = 2048
COLLECT = (10_000, 20, 20)  # a request makes a thousand values that go with it: fewer looks for those that do not
KEPT_OPEN = 75  # seconds that an idle connection of a client is kept: longer than clients keep theirs


def transport() -> str | None:
    """What carries the requests of a server's models, by name: aiohttp where it is there, else what others take too. A
    process through which all go has less of its time to spend on each. It is loaded here, not with the first request."""
    if find_spec("aiohttp") is None:
        return None
    import aiohttp

    return aiohttp.__name__


def listen(host: str, port: int) -> socket.socket:
    """A socket at which clients can knock from now on. Raises UsageError where none can be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family = found[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError("usage", f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def server(app: App) -> _Server:
    """The HTTP server around `app`: quiet, with nothing in its headers that tells who it is."""
    loop = "uvloop" if find_spec("uvloop") is not None else "asyncio"
    http: Any = "h11"
    if find_spec("httptools") is not None:
        from dragoman.gateway.joined import Joining as http
    config = uvicorn.Config(
        app.entry,
        loop=loop,
        http=http,
        interface="asgi3",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEPT_OPEN,
        timeout_graceful_shutdown=app.bounds.drain,  # pyright: ignore[reportArgumentType]  it takes parts of a second too
    )
    return _Server(config)


class _Server(uvicorn.Server):
    """One that a second signal of either kind ends at once, and that knows whether somebody interrupted it."""

    interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.interrupted = self.interrupted or sig == signal.SIGINT
        self.force_exit = self.force_exit or self.should_exit
        super().handle_exit(sig, frame)

    def hung_up(self, sig: int, frame: FrameType | None) -> None:
        """Its terminal closed. The system says so and the shell does: once is enough, and neither is a second signal."""
        signal.signal(sig, signal.SIG_IGN)
        if not self.should_exit:
            self.handle_exit(signal.SIGTERM, frame)


def serve(app: App, at: socket.socket) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP. Then no more comes in, and what is being answered has `drain` seconds to its
    end; a second SIGINT or SIGTERM ends it at once. SIGTERM is how services are stopped, and SIGHUP is taken for one: this
    returns. SIGINT raises KeyboardInterrupt."""
    gc.collect()
    gc.freeze()  # what is there now stays: not to be looked through again and again
    gc.set_threshold(*COLLECT)
    running = server(app)
    with ended_by_signals(running):
        running.run(sockets=[at])
    if running.interrupted:  # the signal raised again may have been taken by what was ending just then
        raise KeyboardInterrupt


@contextmanager
def ended_by_signals(running: _Server) -> Generator[None]:
    """Signals that end the server from now on: it listens for SIGTERM itself once it runs, and raises it again when it is
    done, where it is no news. Whoever was told to live through the end of its terminal (nohup) does."""
    handlers: dict[int, Any] = {signal.SIGTERM: running.handle_exit}
    hang_up = getattr(signal, "SIGHUP", None)  # not on every system
    if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_DFL:
        handlers[hang_up] = running.hung_up
    before = {each: signal.signal(each, handler) for each, handler in handlers.items()}
    try:
        yield
    finally:
        for each, handler in before.items():
            if signal.getsignal(each) is not signal.SIG_IGN:  # else it hung up, and has not ended yet
                signal.signal(each, handler)
