"""Guards what is the aiohttp transport's own: connections used again, of one event loop each, let go of in silence; nothing sent but
what was asked, and no redirect followed. What all transports share is tested over each of them, by name, beside this file."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from awaited import made
from chat_script import chat_reply, chat_stream
from dragoman.client import AsyncModel, Model
from dragoman.errors import ApiError, TransportError, UsageError
from dragoman.testing import FakeProvider
from dragoman.transport.aiohttp import AiohttpTransport, translated
from dragoman.transport.base import Limits
from dragoman.transport.flow import Emit, Flow, Means, Pull, drive_async, drive_gathered, drive_whole
from dragoman.types import Delta, Finish
from dragoman.wire.base import Http
from origin import Answer, Origin


def test_connections_are_used_again_after_whole_answers_streams_and_refusals() -> None:
    refusal = Answer(429, {"content-type": "application/json"}, b'{"error": {"message": "no"}}')
    with Origin(chat_reply(), chat_stream("a"), refusal, chat_reply()) as origin:
        with made(f"{origin.url}/v1#chat:m", env={}, transport="aiohttp", retry=0) as model:
            assert model.chat("hi").text == "Hello"
            assert isinstance([*model.stream("hi")][-1], Finish)
            with pytest.raises(ApiError):
                model.chat("hi")
            assert model.chat("hi").text == "Hello"
        assert (len(origin.seen), origin.connections) == (4, 1)


def test_nothing_is_sent_but_what_was_asked_and_no_cookie_is_kept() -> None:
    told = Answer(200, {"content-type": "application/json", "set-cookie": "a=b"}, chat_reply().body)
    with Origin(told) as origin, made(f"{origin.url}/v1?tenant=a%2Fb#chat:m", env={}, transport="aiohttp") as model:
        model.chat("hi")
        model.chat("hi")
    for seen in origin.seen:
        assert seen.path == "/v1/chat/completions?tenant=a%2Fb"
        assert sorted(seen.headers) == sorted(
            ["host", "user-agent", "accept", "accept-encoding", "content-type", "content-length"]
        )
        assert seen.headers["accept-encoding"] == "identity"


def test_a_redirect_is_an_answer_and_not_a_way() -> None:
    with (
        Origin(chat_reply()) as elsewhere,
        Origin(Answer(307, {"location": f"{elsewhere.url}/v1"})) as origin,
        made(f"{origin.url}/v1#chat:m", env={}, transport="aiohttp", retry=0) as model,
        pytest.raises(ApiError),
    ):
        model.chat("hi")
    assert elsewhere.seen == []


def test_each_loop_has_its_own_connections_and_the_library_says_nothing_of_those_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A model that nobody closes, in loops that have ended: as quiet as with any other transport."""

    async def dropped(spec: str) -> None:
        nobody_closes = AsyncModel(spec, env={}, transport="aiohttp")
        assert (await nobody_closes.chat("b")).text == "b"
        del nobody_closes
        gc.collect()

    with FakeProvider("chat") as fake, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = AsyncModel(fake.spec, env={}, transport="aiohttp")
        assert [asyncio.run(model.chat("a")).text for _ in range(2)] == ["a", "a"]
        assert fake.connections == 2
        asyncio.run(dropped(fake.spec))
        del model
        gc.collect()
    assert [
        str(each.message) for each in told if "nclosed c" in str(each.message)
    ] == []  # its session, connector, connection
    assert caplog.text == ""


def test_a_header_longer_than_the_library_expects_is_read() -> None:
    long = Answer(200, {"content-type": "application/json", "x-long": "x" * 20_000}, chat_reply().body)
    with Origin(long) as origin, made(f"{origin.url}/v1#chat:m", env={}, transport="aiohttp") as model:
        assert model.chat("hi").text == "Hello"


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/v1", "no address", "http://"])
def test_an_address_that_is_none(address: str) -> None:
    async def go() -> None:
        transport = AiohttpTransport({})
        try:
            async with transport.open(Http(path=address, body=b"{}"), Limits()):
                pass
        finally:
            await transport.close()

    with pytest.raises(UsageError, match="is not an http or https address"):
        asyncio.run(go())


def test_a_proxy_of_another_kind_is_named() -> None:
    env = {"DRAGOMAN_API_KEY": "k", "ALL_PROXY": "socks5://127.0.0.1:9"}
    with (
        made("http://service.example/v1#chat:m", env=env, transport="aiohttp") as model,
        pytest.raises(UsageError, match="no way through a socks5 proxy: use httpx2"),
    ):
        model.chat("hi")


def test_what_is_no_http_is_told_without_the_address_that_was_asked() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-nobody\r\n")
        writer.close()

    async def go() -> str:
        server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
        async with server, AsyncModel(_at(server), env={}, transport="aiohttp", retry=0) as model:
            with pytest.raises(TransportError) as caught:
                await model.chat("hi")
            return caught.value.message

    said = asyncio.run(go())
    assert "broke: 400" in said and "secret" not in said


def test_a_service_that_leaves_in_its_head_is_told_without_what_it_had_said() -> None:
    async def leaving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 200 OK\r\nset-cookie: a=SECRET\r\n")
        writer.close()

    async def go() -> str:
        server = await asyncio.start_server(leaving, "127.0.0.1", 0)
        async with server, AsyncModel(_at(server), env={}, transport="aiohttp", retry=0) as model:
            with pytest.raises(TransportError) as caught:
                await model.chat("hi")
            return caught.value.message

    assert asyncio.run(go()).endswith("/v1/chat/completions broke: Server disconnected")


def _at(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1?key=secret#chat:m"


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(UsageError, match=r"pip install 'dragoman\[gateway\]'") as caught:
        AsyncModel("ollama/m", env={}, transport="aiohttp")
    assert caught.value.code == "missing_extra"
    with pytest.raises(UsageError, match="the aiohttp transport is for async calls"):
        Model("ollama/m", env={}, transport="aiohttp")


@pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
def test_batches_are_the_events_of_a_stream_and_one_read_is_one_batch(transport: str) -> None:
    async def go(spec: str) -> tuple[list[Any], list[list[Any]]]:
        async with AsyncModel(spec, env={}, transport=transport) as model:
            events = [event async for event in model.stream("hi")]
            return events, [batch async for batch in model.stream("hi").batches()]

    stream = b"".join(part for part in chat_stream("a", "b", "c").body if isinstance(part, bytes))
    with Origin(Answer(200, {"content-type": "text/event-stream"}, [stream])) as origin:
        events, batches = asyncio.run(go(f"{origin.url}/v1#chat:m"))
    texts = [event.text for batch in batches for event in batch if isinstance(event, Delta)]
    assert ([type(event) for batch in batches for event in batch], texts) == (
        [type(event) for event in events],
        ["a", "b", "c"],
    )
    assert max(map(len, batches)) >= 4  # what came together is told together


def test_a_stream_is_read_to_its_end_for_whoever_wants_its_reply() -> None:
    async def go(spec: str) -> tuple[Any, ...]:
        async with AsyncModel(spec, env={}, transport="aiohttp") as model:
            stream = model.stream("hi")
            return await stream.finish(), stream.reply.text, await stream.finish()

    whole = b"".join(part for part in chat_stream("a", "b", "c").body if isinstance(part, bytes))
    for sent, found in ((whole, (None, "abc", None)), (whole[: len(whole) // 2], ("incomplete", "a", None))):
        with Origin(Answer(200, {"content-type": "text/event-stream"}, [sent])) as origin:
            failure, text, again = asyncio.run(go(f"{origin.url}/v1#chat:m"))
        assert (failure and failure.code, text[:1], again) == (found[0], found[1][:1], found[2])


@pytest.mark.parametrize("batches", [True, False])
def test_so_is_one_of_which_something_was_read(batches: bool) -> None:
    async def go(spec: str) -> tuple[Any, ...]:
        async with AsyncModel(spec, env={}) as model, model.stream("hi") as stream:
            await anext(stream.batches() if batches else stream)
            return await stream.finish(), stream.reply.text

    whole = b"".join(part for part in chat_stream("a", "b", "c").body if isinstance(part, bytes))
    for sent, found in ((whole, (None, "abc")), (whole[: len(whole) // 2], ("incomplete", "a"))):
        with Origin(Answer(200, {"content-type": "text/event-stream"}, [sent])) as origin:
            failure, text = asyncio.run(go(f"{origin.url}/v1#chat:m"))
        assert (failure and failure.code, text[: len(found[1])]) == found


def test_one_that_was_closed_before_its_beginning_asks_for_nothing() -> None:
    async def go(spec: str) -> tuple[Any, ...]:
        async with AsyncModel(spec, env={}) as model:
            stream = model.stream("hi")
            await stream.close()
            return await stream.finish(), stream.reply.stop.reason

    with FakeProvider() as fake:
        assert (asyncio.run(go(fake.spec)), fake.seen) == ((None, "cancelled"), [])


def test_an_address_that_the_library_quotes_is_told_without_what_may_be_a_key() -> None:
    import aiohttp

    error = aiohttp.ClientOSError(32, "Can not write request body for https://me:sk-1@h:8/v1/chat?sig=sk-2#sk-3")
    told = translated(error, "the service", Limits()).message
    assert told == "the connection to the service broke: Can not write request body for https://h:8/v1/chat"


@pytest.mark.parametrize("drive", [drive_async, drive_gathered, drive_whole])
def test_a_task_that_is_cancelled_waits_for_the_thread_that_has_its_iterator(drive: Callable[..., Any]) -> None:
    """An iterator that runs in a thread cannot be closed: a cancel that came first would be an error of ours."""
    from threading import Event

    running, go_on, closed = Event(), Event(), Event()

    def items():
        try:
            running.set()
            go_on.wait(10)
            yield 1
            yield 2
        finally:
            closed.set()

    def flow() -> Flow[int]:
        made = items()
        try:
            while (item := (yield Pull(made))) is not None:
                yield Emit(item)
        finally:
            made.close()

    async def go() -> None:
        async def read() -> None:
            nothing: Any = None
            driven = drive(flow(), Means(nothing, Limits()))
            if drive is drive_whole:
                await driven
                return
            async for _ in driven:
                pass

        task = asyncio.create_task(read())
        await asyncio.to_thread(running.wait)
        task.cancel()
        asyncio.get_running_loop().call_later(0.02, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed.is_set()

    asyncio.run(go())
