"""Guards the seam that ledgers and traces sit on: each call is told once, however it ends, with its bytes and times."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from dragoman.client import AsyncModel, Attempt, Exchanged, Model
from dragoman.errors import ApiError, Cancelled, TransportError
from dragoman.testing.clock import FakeClock
from dragoman.testing.fake import FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    Note,
    Reasoning,
    Reply,
    Request,
    Start,
    Stop,
    StreamEvent,
    Text,
    Timing,
    ToolCall,
    assistant,
    user,
)

STARTED = datetime.fromtimestamp(1_800_000_000, UTC)
WIRES = ("chat", "responses", "messages")


def watched(seen: list[Exchanged], **more: Any) -> dict[str, Any]:
    return {"env": {}, "observers": [seen.append], "clock": FakeClock(), "retry": "plain", **more}


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_is_told_with_the_bytes_that_were_sent(wire: str) -> None:
    seen: list[Exchanged] = []
    with FakeProvider(wire, script=["你好"]) as fake, Model(fake.spec, **watched(seen)) as model:
        outcome = model.outcome("hi")
    assert seen == [
        Exchanged(
            request=Request(messages=(user("hi"),)),
            target=model.target,
            http_body=msgspec.json.encode(fake.seen[0].body),
            reply=outcome.reply,
            error=None,
            notes=outcome.notes,
            attempts=(Attempt(number=1, status=200),),
            timing=Timing(first_event=0.0, first_text=0.0, total=0.0),
            started=STARTED,
        )
    ]
    assert outcome.reply.timing == seen[0].timing


@pytest.mark.parametrize("wire", WIRES)
def test_streams_are_told_at_their_end_sync_and_async_alike(wire: str) -> None:
    seen: list[Exchanged] = []

    async def awaited() -> None:
        async with AsyncModel(fake.spec, **watched(seen)) as model, model.stream("hi") as stream:
            async for _ in stream:
                assert len(seen) == 1

    said = Reply(message=assistant(Text(text="a")), stop=Stop(reason="end"), id="r1", model="m", created=1_800_000_000)
    with FakeProvider(wire, script=[said]) as fake:
        with Model(fake.spec, **watched(seen)) as model:
            list(model.stream("hi"))
        asyncio.run(awaited())
    first, second = seen
    assert first == second
    assert (first.error, first.reply and first.reply.text) == (None, "a")


def test_what_a_failed_call_took_is_told() -> None:
    seen: list[Exchanged] = []
    with (
        FakeProvider("chat", quirks=["overloaded"]) as fake,
        Model(fake.spec, **watched(seen)) as model,
        pytest.raises(ApiError) as caught,
    ):
        model.chat("hi")
    (told,) = seen
    assert told.error is caught.value
    assert (told.reply, len(told.attempts), told.timing) == (None, 4, Timing(total=7.0))


def test_a_stream_that_broke_is_told_with_what_came() -> None:
    seen: list[Exchanged] = []
    said = FakeProvider("chat", quirks=["cut-in-stream"], script=["Hello there"])
    with said as fake, Model(fake.spec, **watched(seen)) as model:
        list(model.stream("hi"))
    (told,) = seen
    assert isinstance(told.error, ApiError)
    assert told.reply is not None
    assert told.reply.stop.reason == "error"


def test_an_unreachable_service_is_told() -> None:
    seen: list[Exchanged] = []
    with FakeProvider("chat") as gone:
        pass
    with Model(gone.spec, **watched(seen, retry=0)) as model, pytest.raises(TransportError) as caught:
        model.chat("hi")
    assert [told.error for told in seen] == [caught.value]


def leave(model: Model) -> None:
    with model.stream("hi") as stream:
        next(stream)


def pull(model: Model) -> None:
    token = CancelToken()
    for _ in model.stream("hi", cancel=token):
        token.cancel()


@pytest.mark.parametrize("end", [leave, pull])
def test_a_cancelled_call_is_told(end: Any) -> None:
    seen: list[Exchanged] = []
    with FakeProvider("chat", script=["Hello there"]) as fake, Model(fake.spec, **watched(seen)) as model:
        end(model)
    (told,) = seen
    assert isinstance(told.error, Cancelled)
    assert told.reply is not None
    assert told.reply.stop == Stop(reason="cancelled")


def test_a_stream_nobody_read_is_no_call() -> None:
    seen: list[Exchanged] = []
    with FakeProvider("chat") as fake, Model(fake.spec, **watched(seen)) as model:
        model.stream("hi").close()
    assert (seen, fake.seen) == ([], [])


def broken(_seen: Exchanged) -> None:
    raise ValueError("the disk is full")


SAID = "the observer broken failed: ValueError: the disk is full"


def test_an_observer_that_fails_breaks_nothing() -> None:
    seen: list[Exchanged] = []
    told = watched([], observers=[broken, seen.append])
    with FakeProvider("chat", quirks=["overloaded:4"]) as fake, Model(fake.spec, **told) as model:
        with pytest.raises(ApiError) as caught:
            model.chat("hi")
        assert caught.value.__notes__ == [SAID]
        notes = model.outcome("hi").notes
    assert notes == (Note(path=(), action="dropped", reason=SAID, loss=False),)
    assert len(seen) == 2


class Slow:
    """A model in this process whose clock moves by itself."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        said: list[tuple[float, StreamEvent]] = [
            (0.1259, Start(model="slow")),
            (0.1, BlockStart(index=0, block=Reasoning(text=""))),
            (0.1, Delta(index=0, text="Hm.")),
            (0.1, BlockEnd(index=0)),
            (0.1, BlockStart(index=1, block=Text(text=""))),
            (6.1051, Delta(index=1, text="I look.")),
            (0.167, BlockStart(index=2, block=ToolCall(id="c", name="read", arguments=""))),
            (0.2, Delta(index=2, field="arguments", text="{}")),
            (0.0, Finish(stop=Stop(reason="tool_calls"))),
        ]
        for seconds, event in said:
            self._clock.advance(seconds)
            yield event


@pytest.mark.req("S3-37")
def test_the_times_of_an_answer_are_taken_as_it_comes() -> None:
    """Synthetic times that add up to the documents' 125.9, 6,631 and 6,798 ms."""
    clock, seen = FakeClock(), list[Exchanged]()
    timing = Model(Slow(clock), clock=clock, observers=[seen.append]).chat("hi").timing
    assert timing is not None
    taken = (timing.first_event, timing.first_text, timing.first_call, timing.total)
    assert [round((time or 0) * 1000, 1) for time in taken] == [125.9, 6631.0, 6798.0, 6998.0]
    assert (seen[0].timing, seen[0].target, seen[0].http_body) == (timing, None, None)


def test_times_begin_anew_when_the_stream_does() -> None:
    clock = FakeClock()
    with (
        FakeProvider("chat", quirks=["cut-at-start:1"], script=["Hi"]) as fake,
        Model(fake.spec, env={}, clock=clock, retry="plain") as model,
    ):
        *_, last = model.stream("hi")
    assert isinstance(last, Finish)
    assert last.reply is not None
    assert last.reply.timing == Timing(first_event=1.0, first_text=1.0, total=1.0)
