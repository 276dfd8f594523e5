"""Which transport carries the requests: by name, or the one there is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dragoman.errors import UsageError
from dragoman.transport.base import AsyncTransport, Transport
from dragoman.transport.clock import Clock

Opening = TypeVar("Opening", Transport, AsyncTransport)
NAMES = ("httpx2", "http2", "aiohttp", "stdlib")


def recording(transport: Transport, folder: Path | str | None, clock: Clock) -> Transport:
    """`transport`, and what passes through it is kept in `folder`, if one is given. Raises UsageError for a folder that
    cannot be made or written."""
    if folder is None:
        return transport
    from dragoman.transport.record import Recorder

    with _folder(folder):
        return Recorder(transport, folder, clock=clock)


def recording_async(transport: AsyncTransport, folder: Path | str | None, clock: Clock) -> AsyncTransport:
    """The same for async calls."""
    if folder is None:
        return transport
    from dragoman.transport.record import AsyncRecorder

    with _folder(folder):
        return AsyncRecorder(transport, folder, clock=clock)


def choose(said: Transport | str | None, env: Mapping[str, str] | None = None) -> Transport:
    """The transport of sync calls. Without a word it is httpx2, or the standard library's where that is missing (C-27).
    `http2` is httpx2 that speaks HTTP/2 where the server does.

    `env` has the variables of proxies and certificates; None is the process's own.

    Raises UsageError for an unknown name, and missing_extra for one that is not installed.
    """
    if said is not None and not isinstance(said, str):
        return _opens(said)
    if _named(said) == "aiohttp":
        raise UsageError("usage", "the aiohttp transport is for async calls: Model takes httpx2 or stdlib")
    if said == "stdlib" or (said is None and not _there()):
        from dragoman.transport.stdlib import StdlibTransport

        return StdlibTransport(env)
    if not _there():
        raise UsageError("missing_extra", "httpx2 is not installed: pip install httpx2, or pass transport='stdlib'")
    from dragoman.transport.httpx2 import Httpx2Transport

    return Httpx2Transport(env, http2=_http2(said))


def choose_async(said: AsyncTransport | str | None, env: Mapping[str, str] | None = None) -> AsyncTransport:
    """The transport of async calls: httpx2, http2 or aiohttp. Raises UsageError as `choose` does."""
    if said is not None and not isinstance(said, str):
        return _opens(said)
    if _named(said) == "stdlib":
        raise UsageError("usage", "the stdlib transport is for sync calls: AsyncModel needs httpx2")
    if said == "aiohttp":
        if not _there("aiohttp"):
            raise UsageError("missing_extra", "aiohttp needs the extra: pip install 'dragoman[gateway]'")
        from dragoman.transport.aiohttp import AiohttpTransport

        return AiohttpTransport(env)
    if not _there():
        raise UsageError(
            "missing_extra", "httpx2 is not installed: pip install httpx2, or use Model, which does without"
        )
    from dragoman.transport.httpx2 import AsyncHttpx2Transport

    return AsyncHttpx2Transport(env, http2=_http2(said))


@contextmanager
def _folder(said: Path | str) -> Generator[None]:
    if said == "":  # which would be the folder one stands in
        raise UsageError("usage", "record is empty: name a folder, or leave it out")
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise UsageError("usage", f"record: no folder can be made of {said!r}: {why}") from None


def _opens(said: Opening) -> Opening:
    if not callable(getattr(said, "open", None)) or not callable(getattr(said, "close", None)):
        raise UsageError("usage", f"transport is {said!r}: one of {', '.join(NAMES)}, or what has `open` and `close`")
    return said


def _named(said: str | None) -> str | None:
    if said not in (None, *NAMES):
        raise UsageError("usage", f"unknown transport {said!r}: one of {', '.join(NAMES)}")
    return said


def _http2(said: str | None) -> bool:
    if said == "http2" and not _there("h2"):
        raise UsageError("missing_extra", "HTTP/2 needs the extra: pip install 'dragoman[http2]'")
    return said == "http2"


def _there(name: str = "httpx2") -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # somebody forbids it
        return False
