"""The body of a request, as much and for as long as a client may take for it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from dragoman.errors import ApiDetail, ApiError
from dragoman.gateway.ending import Ending
from dragoman.gateway.serving import Bounds, Message, Receive

PLAIN = ("", "identity")


class Gone(Exception):
    """The client left before it had said all."""


async def read_body(headers: dict[str, str], receive: Receive, bounds: Bounds) -> bytes:
    """A request's body. Raises ApiError for one that is too large, does not go on, or is written in a way we cannot read, and
    Gone."""
    if headers.get("content-encoding", "").lower() not in PLAIN:
        said = f"send the body as it is, without content-encoding {headers['content-encoding']!r}"
        raise ApiError("invalid_request", said, ApiDetail(status=415))
    size = headers.get("content-length", "")
    if size.isdecimal() and int(size) > bounds.body:
        raise _too_large(bounds.body)
    parts: list[bytes] = []
    length, more = 0, True
    while more:
        message = await _Heard(receive, bounds.pause)
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        length, more = length + len(parts[-1]), message.get("more_body", False)
        if length > bounds.body:
            raise _too_large(bounds.body)
    return b"".join(parts)


class _Heard:
    """The next that a client says. Nearly every request is here at once, and then no time is kept; where one must wait, for
    so many seconds at most."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive, self._seconds = receive, seconds

    def __await__(self) -> Generator[Any, Any, Message]:
        hearing = self._receive().__await__()
        try:
            waits_for = next(hearing)
        except StopIteration as here:
            return here.value
        silence = Ending()
        timer = asyncio.get_running_loop().call_later(self._seconds, silence.end)
        try:
            return (yield from _Resumed(hearing, waits_for))
        except asyncio.CancelledError:
            if not silence.taken():
                raise
            said = f"nothing of the request came for {self._seconds:g} s, and it is not whole"
            raise ApiError("timeout", said, ApiDetail(status=408)) from None
        finally:
            timer.cancel()


class _Resumed:
    """A coroutine whose first step was taken already, for `yield from`."""

    def __init__(self, steps: Generator[Any, Any, Message], step: Any) -> None:
        self._steps, self._taken = steps, [step]
        self.throw, self.close = steps.throw, steps.close

    def __iter__(self) -> _Resumed:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """The step that was taken, then the others."""
        return self._taken.pop() if self._taken else self._steps.send(value)


def _too_large(limit: int) -> ApiError:
    return ApiError("too_large", f"a request has at most {limit} bytes here", ApiDetail(status=413))
