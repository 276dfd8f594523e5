"""What a transport is, and the limits every answer is held to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

import msgspec

from dragoman.wire.base import Http

Headers = tuple[tuple[str, str], ...]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds, and how much to take, in bytes of body.

    `connect` is the time for a connection, `idle` the longest silence before or between two chunks (a model may think
    for minutes before its first token), `body` the size of one whole answer.
    """

    connect: float = 10.0
    idle: float = 600.0
    body: int = 256 * 1024 * 1024


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

    def open(self, http: Http, limits: Limits) -> AbstractContextManager[Answer]: ...
    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same, awaited."""

    def open(self, http: Http, limits: Limits) -> AbstractAsyncContextManager[AsyncAnswer]: ...
    async def close(self) -> None: ...
