"""What a transport is, and the limits every answer is held to."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from dragoman.errors import UsageError
from dragoman.transport.line import Line
from dragoman.wire.base import Http

Headers = tuple[tuple[str, str], ...]
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
VALUE = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds, and how much to take, in bytes of body. None: no limit.

    `connect` is the time for a connection. `idle` is the longest silence between two chunks: any byte ends it, signs of
    life too. `first` is the time from sending to the first word, where that may take longer than `idle` (a model may
    think for minutes). `progress` is the longest time in which nothing but signs of life came. `request` is all of one
    request, `total` all of a call, its retries and their waits included. `body` is the size of one whole answer. Raises
    UsageError for a limit that cannot be.
    """

    connect: float = 10.0
    idle: float = 600.0
    first: float | None = None
    progress: float | None = 1800.0
    request: float | None = None
    total: float | None = None
    body: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in ("connect", "idle", "first", "progress", "request", "total", "body"):
            allowed: float | None = getattr(self, name)
            if allowed is not None and (type(allowed) not in (int, float) or allowed != allowed):
                raise UsageError("usage", f"Limits({name}={allowed!r}): pass a number, or None for no limit")
            least = allowed is None or (allowed > 0 if name in ("connect", "idle") else allowed >= 0)
            if not least or (allowed is None and name in ("connect", "idle", "body")):
                raise UsageError("usage", f"Limits({name}={allowed}): seconds, or bytes of body, of more than nothing")

    @property
    def silence(self) -> float:
        """The longest that a read may take: what a transport itself is held to."""
        return max(self.idle, self.first or 0.0)


class Answer(Protocol):
    """An answer that has begun: its head, and its body as it arrives."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def chunks(self) -> Iterator[bytes]: ...
    def drain(self, seconds: float) -> None:
        """Read and forget the rest, for at most so long, so that the connection can be used again."""
        ...


class AsyncAnswer(Protocol):
    """The same, awaited."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def chunks(self) -> AsyncIterator[bytes]: ...
    async def drain(self, seconds: float) -> None: ...


class Transport(Protocol):
    """Sends one request. `http.path` is an absolute address; leaving the context lets go of the connection.

    Opening and reading raise TransportError, `network` or `timeout`, with the address and what to do; draining never does.
    An address that is none is a UsageError. Redirects are not followed: a key must not travel to an address nobody named.
    """

    def open(self, http: Http, limits: Limits, line: Line) -> AbstractContextManager[Answer]:
        """What waits on a socket asks `line` how long, and lets it hold that socket meanwhile."""
        ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same, awaited; whoever awaits ends a wait by cancelling it."""

    def open(self, http: Http, limits: Limits) -> AbstractAsyncContextManager[AsyncAnswer]: ...
    async def close(self) -> None: ...


def address(url: str) -> str:
    """An address as errors name it: without user, password and query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_headers(http: Http) -> None:
    """Raises UsageError for a header that HTTP cannot hold. Libraries would quote it, in errors and logs, key and all."""
    for name, value in http.headers:
        plain = value.isascii() and value.isprintable() and value.strip() == value  # nearly all, and quickly told
        if not (plain or VALUE.fullmatch(value)) or not _is_name(name):
            del value  # crash reporters show the variables of each function, and this may be a key
            raise UsageError("usage", f"the request for {address(http.path)} has a header that HTTP does not allow")


@lru_cache(maxsize=256)  # the same few again and again
def _is_name(said: str) -> bool:
    return TOKEN.fullmatch(said) is not None
