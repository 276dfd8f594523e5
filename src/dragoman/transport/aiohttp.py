"""Transport over aiohttp, for async calls: half of what httpx2 costs, where many calls pass through one process.

The library is loaded when the first request is sent. Proxies and certificates come from the variables of the environment
that is handed in, else of the process; loopback addresses are reached without a proxy. No redirects, no cookies, nothing
sent but what was asked.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import cache, lru_cache
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import finalize

from dragoman import __version__
from dragoman.errors import DragomanError, TransportError, UsageError
from dragoman.transport.base import Headers, Limits, address, check_headers
from dragoman.transport.environ import is_here, proxy, signed
from dragoman.wire.base import Http

if TYPE_CHECKING:
    import aiohttp
    import yarl

KEPT_OPEN = 30.0  # seconds that an idle connection is kept, as with httpx2
LONGEST = 65536  # bytes of a header: some services send long ones
BROKE = "what was sent is no HTTP"
GONE = "Server disconnected"  # the library quotes the head that had come until then, cookies and all
TAKEN = 64 * 1024  # bytes that are gone at once, whether anybody reads them or not
LARGE = 1024 * 1024  # bytes of a body that the library wants piece by piece
QUOTED = re.compile(r"(https?://)(?:[^\s/?#@]*@)?([^\s?#]*)\S*")  # an address within the library's words
ROADS = 64  # addresses whose way is remembered: a model asks the same ones again and again


class Road(NamedTuple):
    """The way to an address: what the library is told of it, and the headers that a proxy wants."""

    url: yarl.URL
    options: dict[str, Any]
    headers: Headers = ()

    def __repr__(self) -> str:
        return f"Road({address(str(self.url))})"  # its query and its headers may hold a key


class AiohttpTransport:
    """The async transport. Connections belong to the event loop that opened them; another loop gets its own."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._roads: dict[str, Road] = {}
        self._dropped: finalize[Any, AiohttpTransport] | None = None

    def open(self, http: Http, limits: Limits) -> AbstractAsyncContextManager[_Answer]:
        """Send `http`; see AsyncTransport."""
        return _Opening(self, http, limits)

    async def close(self) -> None:
        """Close all connections; a later `open` begins anew."""
        session, self._session = self._session, None
        if self._dropped is not None:
            self._dropped.detach()
        if session is not None:
            await session.close()

    async def send(self, http: Http, limits: Limits) -> aiohttp.ClientResponse:
        """The answer's head. Raises what AsyncTransport says."""
        check_headers(http)
        session = self._here()
        try:
            road = self._roads.get(http.path) or self._found(http.path)
            answer = session.request(
                http.method,
                road.url,
                data=_data(http.body),
                headers=(*http.headers, *road.headers),
                allow_redirects=False,
                timeout=_timeout(limits),
                **road.options,
            )
            if len(http.body) <= TAKEN:
                return await answer
            async with asyncio.timeout(limits.connect + 2 * limits.silence):  # the library itself waits without an end
                return await answer  # until a body is gone, which a service may not take
        except (*faults(), ValueError) as error:
            # `from None`: the library's own error may quote a header, and so a key.
            raise translated(error, address(http.path), limits) from None

    def _here(self) -> aiohttp.ClientSession:
        """The connections of this event loop. Raises UsageError where it is none of asyncio's."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("usage", "the aiohttp transport runs under asyncio: pass transport='httpx2'") from None
        if self._session is None or self._loop is not loop:
            if self._dropped is not None:
                self._dropped()
            self._session, self._loop = _session(), loop
            self._dropped = finalize(self, _drop, self._session)
        return self._session

    def _found(self, path: str) -> Road:
        road = _road(path, self._env)
        if len(self._roads) >= ROADS:
            self._roads.clear()
        self._roads[path] = road
        return road


class _Opening:
    """A request on its way; an answer that is left before its end takes its connection with it, so that its service hears
    at once that nobody reads any more."""

    def __init__(self, transport: AiohttpTransport, http: Http, limits: Limits) -> None:
        self._transport, self._http, self._limits = transport, http, limits

    async def __aenter__(self) -> _Answer:
        self._response = await self._transport.send(self._http, self._limits)
        connection = self._response.connection  # None where all of it came already
        self._closed = None if connection is None or connection.protocol is None else connection.protocol.closed
        if self._closed is not None:
            self._closed.remove_done_callback(_seen)  # of an earlier answer over this connection
            self._closed.add_done_callback(_seen)
            self._closed.add_done_callback(self._broke)
        return _Answer(self._response, self._http, self._limits)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._closed is not None:
            self._closed.remove_done_callback(self._broke)
        self._response.close()  # its connection has gone back already where all of it came

    def _broke(self, _: asyncio.Future[None]) -> None:
        """Wake who reads: in the middle of a body that is no HTTP the library closes the connection and tells nobody."""
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(ConnectionResetError(BROKE))


class _Answer:
    """An aiohttp response as an AsyncAnswer; its chunks are what came since the last look, however many the server wrote."""

    def __init__(self, response: aiohttp.ClientResponse, http: Http, limits: Limits) -> None:
        self.status = response.status
        self._response, self._http, self._limits = response, http, limits

    @property
    def headers(self) -> Headers:
        return tuple(self._response.headers.items())

    @property
    def chunks(self) -> _Answer:
        return self

    def __aiter__(self) -> _Answer:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except faults() as error:
            if rest := self._response.content._read_nowait(-1):  # pyright: ignore[reportPrivateUsage]
                return rest  # what came before the fault, which the library no longer gives to anybody
            raise translated(error, address(self._http.path), self._limits) from None
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def drain(self, seconds: float) -> None:
        if self._response.content.at_eof():
            return
        with suppress(TransportError, TimeoutError):
            async with asyncio.timeout(seconds):
                async for _ in self:
                    pass


def _seen(closed: asyncio.Future[None]) -> None:
    """What ended a connection is told to whoever reads, if anybody does; else it is no matter."""
    closed.exception()


def _session() -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_OPEN),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"user-agent": f"dragoman/{__version__}", "accept-encoding": "identity"},
        max_line_size=LONGEST,
        max_field_size=LONGEST,
    )


def _drop(session: aiohttp.ClientSession) -> None:
    """Let go of connections that nobody closed, without waiting: their loop, or the process, may have ended."""
    connector = session.connector
    session.detach()
    if connector is not None:
        connector._close()  # pyright: ignore[reportPrivateUsage]  its public `close` must be awaited, in that loop


@lru_cache(maxsize=64)
def _timeout(limits: Limits) -> aiohttp.ClientTimeout:
    import aiohttp

    return aiohttp.ClientTimeout(total=None, connect=limits.connect, sock_read=limits.silence)


def _data(body: bytes) -> bytes | BytesIO | None:
    return BytesIO(body) if len(body) > LARGE else body or None


def _road(path: str, env: Mapping[str, str]) -> Road:
    """The way to an address. Raises ValueError for one that is none."""
    import yarl

    url = yarl.URL(path, encoded=path.isascii() and path.isprintable() and " " not in path)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("no address")
    options: dict[str, Any] = {}
    if url.scheme == "https":
        from dragoman.transport.httpx2 import certificates

        options["ssl"] = certificates(env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR"))
    via = None if is_here(url.host) else proxy(env, url.scheme, url.host)
    if via is None:
        return Road(url, options)
    if via.scheme not in ("http", "https"):
        raise UsageError("usage", f"the aiohttp transport has no way through a {via.scheme} proxy: use httpx2")
    options["proxy"] = via._replace(netloc=via.netloc.rpartition("@")[2]).geturl()
    shown = signed(via)
    if url.scheme == "https":
        return Road(url, {**options, "proxy_headers": dict(shown)})
    return Road(url, options, shown)


@cache
def faults() -> tuple[type[Exception], ...]:
    """What the library raises."""
    import aiohttp

    return aiohttp.ClientError, OSError


def translated(error: Exception, where: str, limits: Limits) -> DragomanError:
    """What a fault of the library is called here."""
    import aiohttp

    match error:
        case aiohttp.ConnectionTimeoutError():
            said = f"no connection to {where} within {limits.connect:g} s; check the address, the network and any proxy"
            return TransportError("timeout", said)
        case TimeoutError():
            said = f"{where} was silent for {limits.silence:g} s; if the model needs longer, raise Limits(idle=…)"
            return TransportError("timeout", said)
        case aiohttp.ClientHttpProxyError() | aiohttp.ClientProxyConnectionError():
            said = f"the proxy on the way to {where} refused: {_why(error)}; check HTTPS_PROXY"
            return TransportError("network", said)
        case aiohttp.ClientConnectorError():
            said = f"cannot connect to {where}: {_why(error)}; check that the server runs and that the base address is right"
            return TransportError("network", said)
        case aiohttp.NonHttpUrlClientError() | ValueError():  # behind those of certificates, which are of this kind too
            return UsageError("usage", f"{where} is not an http or https address")
        case _:
            return TransportError("network", f"the connection to {where} broke: {_why(error)}")


def _why(error: Exception) -> str:
    """The reason in words. An error that quotes its request, address and all, has a message of its own, and of an address in
    one only that is told which `address` tells."""
    import aiohttp

    if isinstance(error, aiohttp.ClientResponseError):
        said = f"{error.status} {error.message}"
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        said = GONE
    else:
        inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
        said = getattr(inner, "strerror", None) or str(inner)
    return QUOTED.sub(r"\1\2", " ".join(said.split()))[:200] or type(error).__name__
