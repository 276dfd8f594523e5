"""Transport over httpx2, sync and async; the library is loaded when the first request is sent.

Proxies and certificates come from the usual variables (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE …) of the environment that is
handed in, else of the process; loopback addresses are reached without a proxy. No redirects, no cookies, nothing sent but
what was asked.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import finalize

from dragoman import __version__
from dragoman.errors import DragomanError, TransportError, UsageError
from dragoman.transport.base import Headers, Limits, address, check_headers
from dragoman.transport.environ import mounts, trusted
from dragoman.transport.line import Line
from dragoman.transport.sockets import held_by, watch
from dragoman.wire.base import Http

if TYPE_CHECKING:
    import ssl

    import httpx2

KEPT_OPEN = 30.0  # seconds that an idle connection is kept: an agent's tools often run longer than the usual five
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


class Httpx2Transport:
    """The sync transport; safe to use from several threads. Connections are closed by `close` or with the object.

    With `http2`, where the server speaks it too, a connection has one call at a time and goes with a call that was left
    before its end: the library tells a server nothing of a stream that nobody reads any more, so it would go on writing,
    and a cancel by another thread shuts the socket, and with it whatever else were on it.
    """

    def __init__(self, env: Mapping[str, str] | None = None, *, http2: bool = False) -> None:
        self._env = env
        self._http2 = http2
        self._clients: list[httpx2.Client] = []  # one for all calls; with http2 those that have no call now
        self._lock = Lock()

    @contextmanager
    def open(self, http: Http, limits: Limits, line: Line) -> Generator[_Answer]:
        """Send `http`; see Transport."""
        client, answer = self._take(), None
        try:
            with _our_errors(http, limits), held_by(line):
                response = client.send(_request(client, http, limits), stream=True)
            answer = _Answer(response, http, limits, line)
            try:
                yield answer
            finally:
                line.hold(None)
                response.close()
        finally:
            self._give(client, whole=answer is not None and answer.whole)

    def close(self) -> None:
        """Close all connections; a later `open` begins anew."""
        with self._lock:
            clients, self._clients = self._clients, []
        for client in clients:
            client.close()

    def _take(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._clients:
                return self._clients.pop() if self._http2 else self._clients[0]
            client = httpx2.Client(**_options(self._env, httpx2.HTTPTransport, http2=self._http2))
            watch(client)
            finalize(self, client.close)
            if not self._http2:
                self._clients.append(client)
            return client

    def _give(self, client: httpx2.Client, *, whole: bool) -> None:
        if self._http2 and whole:
            with self._lock:
                self._clients.append(client)
        elif self._http2:
            client.close()


class AsyncHttpx2Transport:
    """The async transport. Connections belong to the event loop that opened them; another loop gets its own.

    `http2` is as in Httpx2Transport.
    """

    def __init__(self, env: Mapping[str, str] | None = None, *, http2: bool = False) -> None:
        self._env = env
        self._http2 = http2
        self._clients: list[httpx2.AsyncClient] = []
        self._loop: Any = None

    @asynccontextmanager
    async def open(self, http: Http, limits: Limits) -> AsyncGenerator[_AsyncAnswer]:
        """Send `http`; see AsyncTransport."""
        client, answer = self._take(), None
        try:
            with _our_errors(http, limits):
                response = await client.send(_request(client, http, limits), stream=True)
            answer = _AsyncAnswer(response, http, limits)
            try:
                async with aclosing(answer.chunks):
                    yield answer
            finally:
                await response.aclose()
        finally:
            await self._give(client, whole=answer is not None and answer.whole)

    async def close(self) -> None:
        """Close all connections; a later `open` begins anew."""
        clients, self._clients = self._clients, []
        for client in clients:
            await client.aclose()

    def _take(self) -> httpx2.AsyncClient:
        import httpx2
        from anyio.lowlevel import current_token

        loop = current_token()
        if self._loop != loop:
            self._clients, self._loop = [], loop
        if self._clients:
            return self._clients.pop() if self._http2 else self._clients[0]
        client = httpx2.AsyncClient(**_options(self._env, httpx2.AsyncHTTPTransport, http2=self._http2))
        if not self._http2:
            self._clients.append(client)
        return client

    async def _give(self, client: httpx2.AsyncClient, *, whole: bool) -> None:
        if self._http2 and whole:
            self._clients.append(client)
        elif self._http2:
            from anyio import CancelScope

            with CancelScope(shield=True):
                await client.aclose()


class _Answer:
    """A httpx2 response as an Answer; `whole` once all of it was read."""

    def __init__(self, response: httpx2.Response, http: Http, limits: Limits, line: Line) -> None:
        self.status = response.status_code
        self.headers: Headers = tuple(response.headers.multi_items())
        self.chunks = self._chunks(response, http, limits, line)
        self.whole = False
        self._line = line

    def drain(self, seconds: float) -> None:
        self._line.within(seconds)
        with suppress(TransportError):
            for _ in self.chunks:
                pass

    def _chunks(self, response: httpx2.Response, http: Http, limits: Limits, line: Line) -> Iterator[bytes]:
        chunks = response.iter_bytes()
        while True:
            with _our_errors(http, limits), held_by(line):
                chunk = next(chunks, None)
            if chunk is None:
                self.whole = True
                return
            yield chunk


class _AsyncAnswer:
    """The same, awaited."""

    def __init__(self, response: httpx2.Response, http: Http, limits: Limits) -> None:
        self.status = response.status_code
        self.headers: Headers = tuple(response.headers.multi_items())
        self.chunks = self._chunks(response, http, limits)
        self.whole = False

    async def drain(self, seconds: float) -> None:
        from anyio import move_on_after

        with move_on_after(seconds), suppress(TransportError):
            async for _ in self.chunks:
                pass

    async def _chunks(self, response: httpx2.Response, http: Http, limits: Limits) -> AsyncGenerator[bytes]:
        with _our_errors(http, limits):
            async for chunk in response.aiter_bytes():
                yield chunk
        self.whole = True


def _options(env: Mapping[str, str] | None, kind: Callable[..., Any], *, http2: bool) -> dict[str, Any]:
    """How a client is made; `kind` makes its way through a proxy, for an environment that was handed in."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    where = os.environ if env is None else env
    verify = certificates(where.get("SSL_CERT_FILE"), where.get("SSL_CERT_DIR"), http2)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEPT_OPEN)
    roads = {
        pattern: None if url is None else kind(proxy=url, verify=verify, limits=limits, trust_env=False, http2=http2)
        for pattern, url in ({} if env is None else mounts(env)).items()
    }
    return {
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        "follow_redirects": False,
        "http2": http2,
        "headers": {"user-agent": f"dragoman/{__version__}", "accept-encoding": "identity"},
        "limits": limits,
        "mounts": roads | dict.fromkeys(LOOPBACK),
        "trust_env": env is None,
        "verify": verify,
    }


@cache
def certificates(file: str | None, folder: str | None, http2: bool = False) -> ssl.SSLContext:
    """Whom to trust, read once a process and place: reading all certificates costs more than a whole short call.

    Not shared between HTTP/1.1 and 2: the library writes into it which of them it offers.
    """
    import httpx2

    return trusted(file, folder) or httpx2.create_ssl_context(trust_env=False)


def _request(client: httpx2.Client | httpx2.AsyncClient, http: Http, limits: Limits) -> httpx2.Request:
    import httpx2

    check_headers(http)
    timeout = httpx2.Timeout(limits.silence, connect=limits.connect)
    url, target = _address(http.path)
    extensions = {"target": target} if target else None
    return client.build_request(
        http.method, url, headers=list(http.headers), content=http.body, timeout=timeout, extensions=extensions
    )


@lru_cache(maxsize=64)  # a model asks the same address again and again
def _address(path: str) -> tuple[httpx2.URL, bytes | None]:
    """An address and, where it has a query, its target apart: the library logs every address whole, keys in it too."""
    import httpx2

    url, query, _ = path.partition("?")
    return httpx2.URL(url), httpx2.URL(path).raw_path if query else None


@contextmanager
def _our_errors(http: Http, limits: Limits) -> Generator[None]:
    import httpx2

    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        # `from None`: the library's own error may quote a header, and so a key.
        raise _translated(error, address(http.path), limits) from None


def _translated(error: Exception, where: str, limits: Limits) -> DragomanError:
    import httpx2

    why = " ".join(str(error).split())[:200] or type(error).__name__
    match error:
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            return UsageError("usage", f"{where} is not an http or https address")
        case httpx2.LocalProtocolError():
            return UsageError("usage", f"the request for {where} has a header that HTTP does not allow")
        case httpx2.ConnectTimeout():
            said = f"no connection to {where} within {limits.connect:g} s; check the address, the network and any proxy"
            return TransportError("timeout", said)
        case httpx2.TimeoutException():
            said = f"{where} was silent for {limits.silence:g} s; if the model needs longer, raise Limits(idle=…)"
            return TransportError("timeout", said)
        case httpx2.ProxyError():
            return TransportError("network", f"the proxy on the way to {where} refused: {why}; check HTTPS_PROXY")
        case httpx2.ConnectError():
            said = f"cannot connect to {where}: {why}; check that the server runs and that the base address is right"
            return TransportError("network", said)
        case _:
            return TransportError("network", f"the connection to {where} broke: {why}")
