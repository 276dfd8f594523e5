"""Transport over the standard library alone, for sync calls: one connection a request (C-27).

HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY are heeded for http proxies, SSL_CERT_FILE for certificates; loopback
addresses are reached without a proxy. No redirects, no cookies.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dragoman import __version__
from dragoman.errors import TransportError, UsageError
from dragoman.transport.base import Headers, Limits, address, check_headers
from dragoman.transport.environ import is_here, proxy, signed, trusted
from dragoman.transport.line import Line
from dragoman.wire.base import Http

CHUNK = 65536
AGENT = ("user-agent", f"dragoman/{__version__}")


class StdlibTransport:
    """The transport without dependencies; it keeps nothing open, so it is safe to use from several threads."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env

    @contextmanager
    def open(self, http: Http, limits: Limits, line: Line) -> Generator[_Answer]:
        """Send `http`; see Transport."""
        check_headers(http)
        where = address(http.path)
        try:
            way = _way(http.path, line.timeout(limits.connect), self._env)
        except (HTTPException, ValueError):
            raise UsageError("usage", f"{where} is not an http or https address") from None
        connection = way.connection
        try:
            with _our_errors(where, limits.connect, "no connection within {:g} s to"):
                line.connect(connection.connect, lambda _: connection.close(), (OSError, HTTPException))
            waiting = _Waiting(connection.sock, line, limits)
            with _our_errors(where, limits.silence, "no answer within {:g} s from"):
                waiting.begin()
                connection.request(http.method, way.target, http.body, dict((AGENT, *http.headers, *way.headers)))
                response = connection.getresponse()
            yield _Answer(response, waiting, where)
        finally:
            line.hold(None)
            connection.close()

    def close(self) -> None:
        """There is nothing to close."""


class _Way(NamedTuple):
    """A connection, not yet open, what to ask it for, and the headers that a proxy wants."""

    connection: HTTPConnection
    target: str
    headers: Headers = ()

    def __repr__(self) -> str:
        return "_Way(…)"  # its query and its headers may hold a key


class _Waiting:
    """The socket of an answer, with its time limit set before each step that may block."""

    def __init__(self, socket: Any, line: Line, limits: Limits) -> None:
        self.line = line
        self.limits = limits
        self._socket = socket

    def begin(self) -> None:
        self.line.hold(self._socket)
        self._socket.settimeout(self.line.timeout(self.limits.silence))


class _Answer:
    """A response as an Answer."""

    def __init__(self, response: HTTPResponse, waiting: _Waiting, where: str) -> None:
        self.status = response.status
        self.headers: Headers = tuple(response.headers.items())
        self.chunks = _chunks(response, waiting, where)
        self._line = waiting.line

    def drain(self, seconds: float) -> None:
        """Nothing is used again, so nothing is read."""


def _chunks(response: HTTPResponse, waiting: _Waiting, where: str) -> Iterator[bytes]:
    while True:
        with _our_errors(where, waiting.limits.silence, "{:g} s of silence from"):
            waiting.begin()
            chunk = response.read1(CHUNK)
            if not chunk and response.length:
                raise HTTPException("the answer is shorter than it said")
        if not chunk:
            return
        yield chunk


def _way(url: str, timeout: float | None, env: Mapping[str, str]) -> _Way:
    """The way to an address. Raises ValueError for one that is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(url)
    host, port = parts.hostname, parts.port
    target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    via = None if is_here(host) else proxy(env, parts.scheme, host)
    at = (host, port) if via is None else (via.hostname or "", via.port or 80)
    if parts.scheme == "https":
        context = trusted(env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR")) or ssl.create_default_context()
        tunnel = HTTPSConnection(*at, timeout=timeout, context=context)
        if via is not None:
            tunnel.set_tunnel(host, port, dict(signed(via)))
        return _Way(tunnel, target)
    connection = HTTPConnection(*at, timeout=timeout)
    return _Way(connection, target) if via is None else _Way(connection, url, signed(via))


@contextmanager
def _our_errors(where: str, seconds: float, late: str) -> Generator[None]:
    try:
        yield
    except TimeoutError:
        raise TransportError("timeout", f"{late.format(seconds)} {where}") from None
    except ConnectionRefusedError:
        said = f"cannot connect to {where}: refused; check that the server runs and that the base address is right"
        raise TransportError("network", said) from None
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, ValueError) and not isinstance(error, OSError | HTTPException):
            raise UsageError("usage", f"the request for {where} has a header that HTTP does not allow") from None
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise TransportError("network", f"the connection to {where} broke: {why}") from None
