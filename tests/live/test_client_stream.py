"""Guards streams: the last event, cuts at any place, letting go of the connection, and sync and async alike."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import replace

import pytest

from chat_script import DONE, SSE, chat_reply, chat_stream, chunk, text_chunks
from dragoman.client import AsyncModel, Model
from dragoman.errors import ApiError
from dragoman.transport.base import Limits
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Reply,
    Start,
    Stop,
    StreamEvent,
    Text,
    Usage,
    assistant,
)
from dragoman.types import (
    Origin as Speaker,
)
from origin import HOLD, Answer, Origin

SPEAKER = Speaker(wire="chat", provider="test", model="m")
EMPTY = BlockStart(index=0, block=Text(text=""))
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def spec(origin: Origin) -> str:
    return f"{origin.url}/v1#chat:m"


def plain(events: list[StreamEvent]) -> list[StreamEvent]:
    """Events without the port of the origin in them."""
    seen: list[StreamEvent] = []
    for event in events:
        if isinstance(event, Start):
            event = Start(id=event.id, model=event.model, created=event.created)
        if isinstance(event, Finish) and event.reply is not None:
            event = Finish(stop=event.stop, reply=Reply(message=assistant(event.reply.text), stop=event.reply.stop))
        seen.append(event)
    return seen


HELLO: list[StreamEvent] = [
    Start(id="c1", model="m", created=1),
    EMPTY,
    Delta(index=0, text="你"),
    Delta(index=0, text="好"),
    BlockEnd(index=0),
    Finish(
        stop=Stop(reason="end", raw="stop"),
        reply=Reply(message=assistant("你好"), stop=Stop(reason="end", raw="stop")),
    ),
]


def both(answer: Answer, limits: Limits = Limits()) -> tuple[list[StreamEvent], int]:  # noqa: B008  a frozen value
    """The events of one stream, which sync and async callers must get alike, and how many requests each sent."""

    async def awaited() -> list[StreamEvent]:
        async with AsyncModel(spec(origin), env={}, limits=limits) as model, model.stream("hi") as stream:
            return [event async for event in stream]

    with Origin(answer) as origin:
        with Model(spec(origin), env={}, limits=limits) as model:
            events = list(model.stream("hi"))
        assert asyncio.run(awaited()) == events
    return plain(events), len(origin.seen) // 2


@pytest.mark.req("S0-06")
@pytest.mark.req("S0-10")
def test_the_last_event_has_the_whole_reply() -> None:
    assert both(chat_stream("你", "好")) == (HELLO, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_any_split_of_the_bytes_gives_the_same(size: int) -> None:
    whole = b"".join(part for part in chat_stream("你", "好").body if isinstance(part, bytes))
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert both(Answer(headers=SSE, body=pieces)) == (HELLO, 1)


def test_a_whole_reply_where_a_stream_was_asked_for_is_read_all_the_same() -> None:
    events, _ = both(chat_reply("你好"))
    assert events == [*HELLO[:2], Delta(index=0, text="你好"), BlockEnd(index=0, block=Text(text="你好")), HELLO[-1]]


def test_a_stream_where_a_whole_reply_was_asked_for_is_read_all_the_same() -> None:
    with Origin(chat_stream("你", "好")) as origin, Model(spec(origin), env={}) as model:
        assert model.chat("hi").text == "你好"
    assert "stream" not in origin.seen[0].json


def test_comments_pass_as_signs_of_life() -> None:
    events, _ = both(Answer(headers=SSE, body=[b": thinking\n\n", *chat_stream("你", "好").body]))
    assert events == [KeepAlive(), *HELLO]


@pytest.mark.req("S0-76")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(headers=SSE, body=text_chunks("Hel")), "the stream ended before its last signal"),
        (Answer(headers=SSE, body=text_chunks("Hel"), cut=True), "broke: peer closed connection"),
        (Answer(headers=SSE, body=[*text_chunks("Hel"), b'data: {"cho'], cut=True), "broke: peer closed connection"),
    ],
    ids=["ends", "breaks", "breaks within an event"],
)
def test_a_stream_that_is_cut_ends_with_a_failure_and_is_not_asked_for_again(answer: Answer, message: str) -> None:
    events, requests = both(answer)
    assert requests == 1
    assert events[:-1] == [*HELLO[:2], Delta(index=0, text="Hel"), BlockEnd(index=0)]
    failure = events[-1]
    assert isinstance(failure, Failure)
    assert message in failure.message
    assert failure.code == ("network" if "broke" in message else "incomplete")
    with Origin(answer) as origin, Model(spec(origin), env={}) as model:
        with pytest.raises(ApiError, match=message) as caught:
            model.chat("hi", stop="x")
        assert caught.value.code == failure.code


def test_what_came_before_a_cut_is_kept_with_its_usage() -> None:
    body = [*text_chunks("Hel"), chunk({}, usage=USAGE)]
    with Origin(Answer(headers=SSE, body=body, cut=True)) as origin, Model(spec(origin), env={}) as model:
        stream = model.stream("hi")
        *_, failure = stream
    assert isinstance(failure, Failure)
    assert failure.usage is not None and failure.usage.input == 3
    reply = stream.reply
    assert (reply.text, reply.stop.reason, reply.stop.raw) == ("Hel", "error", "network")
    assert isinstance(reply.usage, Usage) and reply.usage.output == 2


def test_an_end_that_came_is_an_end_though_the_connection_breaks_after_it() -> None:
    answer = replace(chat_stream("你", "好"), cut=True)
    assert both(answer) == (HELLO, 1)


def test_an_end_is_an_end_though_the_service_never_hangs_up() -> None:
    body = [*text_chunks("你", "好"), chunk({}, "stop"), DONE, HOLD]
    assert both(Answer(headers=SSE, body=body)) == (HELLO, 1)


def test_silence_within_a_stream_is_a_failure() -> None:
    events, _ = both(Answer(headers=SSE, body=[*text_chunks("Hel"), HOLD]), Limits(idle=0.05))
    failure = events[-1]
    assert isinstance(failure, Failure)
    assert (failure.code, "was silent for 0.05 s" in failure.message) == ("timeout", True)


def test_a_stream_beyond_the_limit_is_a_failure() -> None:
    events, _ = both(chat_stream("x" * 300, "y" * 300), Limits(body=700))
    failure = events[-1]
    assert isinstance(failure, Failure)
    assert failure.code == "too_large"


def test_an_error_inside_a_stream_is_a_failure_without_the_key() -> None:
    said = b'data: {"error": {"message": "no quota for sk-secret", "code": "insufficient_quota"}}\n\n'
    with Origin(Answer(headers=SSE, body=[*text_chunks("Hel"), said])) as origin:
        env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": origin.url}
        with Model("openai/m", env=env) as model:
            *_, failure = model.stream("hi")
            with pytest.raises(ApiError) as caught:
                model.chat("hi")
    assert isinstance(failure, Failure)
    assert (failure.code, failure.message) == ("quota", "no quota for ***")
    assert caught.value.message == "OpenAI API error: no quota for ***"


HELD = Answer(headers=SSE, body=[*text_chunks("Hel"), HOLD])


def close(model: Model) -> Reply:
    stream = model.stream("hi")
    for _ in range(3):
        next(stream)
    stream.close()
    assert list(stream) == []
    return stream.reply


def leave(model: Model) -> Reply:
    with model.stream("hi") as stream:
        for event in stream:
            if isinstance(event, Delta):
                break
    return stream.reply


def drop(model: Model) -> Reply:
    stream = model.stream("hi")
    for _ in range(3):
        next(stream)
    reply = stream.reply
    del stream
    gc.collect()
    return reply


@pytest.mark.req("S0-78")
@pytest.mark.parametrize("end", [close, leave, drop])
def test_letting_go_of_a_stream_closes_its_connection_and_keeps_what_came(end: Callable[[Model], Reply]) -> None:
    with Origin(HELD) as origin, Model(spec(origin), env={}) as model:
        reply = end(model)
        assert origin.left.wait(10)
    assert (reply.text, reply.stop) == ("Hel", Stop(reason="cancelled"))
    assert len(origin.seen) == 1


def test_leaving_an_async_stream_closes_its_connection() -> None:
    async def leave_it() -> Reply:
        async with AsyncModel(spec(origin), env={}) as model:
            async with model.stream("hi") as stream:
                async for event in stream:
                    if isinstance(event, Delta):
                        break
            assert await asyncio.to_thread(origin.left.wait, 10)
            return stream.reply

    with Origin(HELD) as origin:
        assert asyncio.run(leave_it()).text == "Hel"


@pytest.mark.req("C-29")
def test_cancelling_a_task_closes_its_connection_and_is_passed_on() -> None:
    async def cancel_it() -> Reply:
        async with AsyncModel(spec(origin), env={}) as model:
            stream, begun = model.stream("hi"), asyncio.Event()

            async def read() -> None:
                async for event in stream:
                    if isinstance(event, Delta):
                        begun.set()

            task = asyncio.create_task(read())
            await begun.wait()
            task.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(origin.left.wait, 10)
            assert (await model.chat("hi")).text == "again"
            return stream.reply

    with Origin(HELD, chat_reply("again")) as origin:
        assert asyncio.run(cancel_it()).text == "Hel"


def test_a_sync_model_works_inside_a_running_loop() -> None:
    async def inside() -> tuple[str, list[StreamEvent]]:
        with Model(spec(origin), env={}) as model:
            return model.chat("hi").text, list(model.stream("hi"))

    with Origin(chat_reply("Hello"), chat_stream("你", "好")) as origin:
        text, events = asyncio.run(inside())
    assert (text, plain(events)) == ("Hello", HELLO)


def test_an_async_model_serves_one_loop_after_another() -> None:
    async def once() -> str:
        async with model:
            return (await model.chat("hi")).text

    with Origin(chat_reply("Hello")) as origin:
        model = AsyncModel(spec(origin), env={})
        assert [asyncio.run(once()) for _ in range(2)] == ["Hello", "Hello"]


def test_a_stream_is_sent_when_it_is_first_asked() -> None:
    with Origin(chat_stream("x")) as origin, Model(spec(origin), env={}) as model:
        with model.stream("hi") as stream:
            assert (origin.seen, stream.attempts) == ([], ())
        stream = model.stream("hi")
        list(stream)
        assert (len(origin.seen), len(stream.attempts)) == (1, 1)
