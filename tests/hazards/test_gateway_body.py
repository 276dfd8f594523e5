"""Guards how a request's body is heard (GWY): at once without a timer, in pieces, ended from outside, or left unfinished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dragoman.client import AsyncModel
from dragoman.errors import ApiError
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.app import App
from dragoman.gateway.body import Gone, read_body
from dragoman.gateway.seats import Seats
from dragoman.gateway.serving import Bounds


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


GONE = {"type": "http.disconnect"}


def said(*messages: dict[str, Any], waits: int = 0) -> Callable[[], Awaitable[Any]]:
    """A client who says these, each after so many steps of the event loop."""
    left = iter(messages)

    async def receive() -> Any:
        for _ in range(waits):
            await asyncio.sleep(0)
        return next(left)

    return receive


def heard(receive: Callable[[], Awaitable[Any]], bounds: Bounds = Bounds()) -> bytes:  # noqa: B008  a frozen value
    return asyncio.run(read_body({}, receive, bounds))


@pytest.mark.parametrize("waits", [0, 1, 3])
def test_a_body_is_heard_whole_whenever_its_pieces_come(waits: int) -> None:
    assert heard(said(piece("你".encode()), waits=waits)) == "你".encode()
    assert heard(said(piece(b"a", more=True), piece(b"", more=True), piece(b"b"), waits=waits)) == b"ab"


@pytest.mark.parametrize("waits", [0, 2])
def test_a_client_who_leaves_in_the_middle_of_it_has_asked_nothing(waits: int) -> None:
    with pytest.raises(Gone):
        heard(said(piece(b"a", more=True), GONE, waits=waits))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/show", "/api/pull"])
def test_a_client_who_leaves_is_no_fault_of_this_server_at_any_door(path: str) -> None:
    told: list[str] = []
    model = AsyncModel("http://127.0.0.1:9/v1#chat:m", env={})
    app = App(Seats({"m": model}, any_name=True), alarm=Alarm(told.append))
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "root_path": "", "query_string": b"", "headers": headers}

    async def send(message: Any) -> None:
        """To nobody."""

    asyncio.run(app(scope, said(piece(b"{", more=True), GONE), send))
    assert told == []


@pytest.mark.parametrize("waits", [0, 2])
def test_a_body_is_refused_as_soon_as_it_is_too_large(waits: int) -> None:
    with pytest.raises(ApiError) as told:
        heard(said(piece(b"ab", more=True), piece(b"c", more=True), waits=waits), Bounds(body=2))
    assert (told.value.code, told.value.status) == ("too_large", 413)


def test_what_is_here_at_once_needs_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> bytes:
        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", None)
        return await read_body({}, said(piece(b"a", more=True), piece(b"b")), Bounds())

    assert asyncio.run(read()) == b"ab"


def test_a_wait_that_is_ended_from_outside_ends_what_waits_within() -> None:
    """A server that stops cancels the task, and whoever listens for the client must hear of it: to let go of what he holds."""
    seen: list[str] = []

    async def receive() -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def go() -> None:
        task = asyncio.create_task(read_body({}, receive, Bounds()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert seen == ["cancelled"]


def test_a_client_who_stops_in_the_middle_is_told_so_and_nobody_waits_for_him() -> None:
    async def receive() -> Any:
        await asyncio.get_running_loop().create_future()

    async def go() -> None:
        with pytest.raises(ApiError) as told:
            await read_body({}, receive, Bounds(pause=0.001))
        assert (told.value.code, told.value.status) == ("timeout", 408)
        await asyncio.sleep(0)  # the task itself was not cancelled

    asyncio.run(go())
