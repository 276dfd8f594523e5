"""httpx2's sockets, so that each blocking step asks the line of its call how long it may take, and can be ended.

The library takes no time limit for one read and gives no socket before the head of an answer is there. Its own network
backend is wrapped, which takes the one place below that is not part of its documented interface: `watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local
from typing import Any

from dragoman.errors import UsageError
from dragoman.transport.line import Line

_here = local()


@contextmanager
def held_by(line: Line) -> Generator[None]:
    """What this thread does within waits on behalf of `line`."""
    before = getattr(_here, "line", None)
    _here.line = line
    try:
        yield
    finally:
        _here.line = before


def watch(client: Any) -> None:
    """Let the connections that `client` will open know their line. Raises UsageError for a library of other insides."""
    try:
        pools = [
            transport._pool for transport in (client._transport, *client._mounts.values()) if transport is not None
        ]
        backends = [pool._network_backend for pool in pools]
    except AttributeError as error:
        said = f"this httpx2 is built otherwise than those that dragoman knows ({error}): take httpx2 2.16"
        raise UsageError("missing_extra", f"{said}, or pass transport='stdlib'") from None
    for pool, backend in zip(pools, backends, strict=True):
        pool._network_backend = _Backend(backend)


class _Backend:
    """A network backend whose streams are watched."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.sleep = inner.sleep
        self.connect_unix_socket = inner.connect_unix_socket

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> _Stream:
        from httpcore2 import NetworkError, TimeoutException

        def connect() -> Any:
            return self._inner.connect_tcp(host, port, limit, local_address, socket_options)

        line = _line()
        limit = timeout if line is None else line.timeout(timeout)
        if line is None:
            return _Stream(connect())
        return _Stream(line.connect(connect, lambda stream: stream.close(), (NetworkError, TimeoutException)))


class _Stream:
    """A network stream that shows the line which socket is waited for, and keeps to its time."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.close: Callable[[], None] = inner.close
        self.get_extra_info: Callable[[str], Any] = inner.get_extra_info

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._inner.read(max_bytes, self._held(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._held(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._held(timeout)))

    def _held(self, timeout: float | None) -> float | None:
        line = _line()
        if line is None:
            return timeout
        line.hold(self.get_extra_info("socket"))
        return line.timeout(timeout)


def _line() -> Line | None:
    return getattr(_here, "line", None)
