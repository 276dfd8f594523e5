"""Guards retries over real sockets: what is tried again, after which waits, and what the caller sees of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from dragoman.client import AsyncModel, Attempt, Model
from dragoman.errors import ApiError, DragomanError, TransportError
from dragoman.testing import FakeClock, FakeProvider
from dragoman.transport.base import Limits
from dragoman.transport.clock import SYSTEM
from dragoman.transport.retry import RetryPolicy
from dragoman.types import Delta, Failure, Finish, Raw, Request, Start, Stop, StreamEvent

WIRES = ("chat", "messages", "responses")
SHORT = Limits(idle=0.25)

REAL: dict[str, Any] = {
    "clock": SYSTEM,
    "retry": 0,
}  # limits that pass while bytes come are read off a clock that moves
each_wire = pytest.mark.parametrize("wire", WIRES)


class Call:
    """What one call came to: events or text, error, waits, requests."""

    def __init__(self, wire: str, quirks: Any, stream: bool, options: dict[str, Any], awaited: str | None) -> None:
        clock = FakeClock()
        options = {"retry": RetryPolicy(jitter=0.0), "clock": clock, "env": {}, "rng": Random(1), **options}
        self.text, self.error = "", None
        self.events: list[StreamEvent] = []
        with FakeProvider(wire, quirks=quirks, pause=_short) as fake:
            try:
                if awaited is None:
                    self.text = self._call(fake, stream, options)
                else:
                    self.text = asyncio.run(self._await(fake, stream, {**options, "transport": awaited}))
            except DragomanError as error:
                self.error: DragomanError | None = error
        self.code = None if self.error is None else self.error.code
        self.waits, self.requests = clock.waits, len(fake.seen)

    def _call(self, fake: FakeProvider, stream: bool, options: dict[str, Any]) -> str:
        with Model(fake.spec, **options) as model:
            if not stream:
                outcome = model.outcome("Hello there")
                self.attempts, self.notes = outcome.attempts, outcome.notes
                return outcome.reply.text
            reading = model.stream("Hello there")
            self.events = list(reading)
            self.attempts, self.notes = reading.attempts, reading.notes
            return reading.reply.text

    async def _await(self, fake: FakeProvider, stream: bool, options: dict[str, Any]) -> str:
        async with AsyncModel(fake.spec, **options) as model:
            if not stream:
                return (await model.outcome("Hello there")).reply.text
            reading = model.stream("Hello there")
            self.events = [event async for event in reading]
            return reading.reply.text


def patience(quirk: str) -> Limits:
    """Little where silence is the matter, and else enough for a busy machine."""
    return SHORT if quirk.startswith("silence") else Limits()


def called(wire: str, *quirks: str, stream: bool = False, **options: Any) -> Call:
    """A call by callers that wait and by those that await, over either transport; all must see the same."""
    with ThreadPoolExecutor() as pool:
        calls = [*pool.map(lambda by: Call(wire, quirks, stream, options, by), ("httpx2", "aiohttp", None))]
    told = [(call.text, call.code, call.waits, call.requests) for call in calls]
    assert told[0] == told[1] == told[2]
    return calls[2]


def _short(_seconds: float) -> None:
    """A pause of the fake provider, cut short."""
    import time

    time.sleep(0.005)


@pytest.mark.req("S0-66")
@each_wire
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("quirk", "waits"),
    [
        ("error-503", [1.0, 2.0]),
        ("rate-limit-seconds", [2.0, 2.0]),
        ("rate-limit-ms", [0.25, 0.25]),
        ("rate-limit-date", [2.0, 2.0]),
        ("rate-limit-invalid", [1.0, 2.0]),
        ("overloaded-seconds", [2.0, 2.0]),
        ("html", [1.0, 2.0]),
        ("no-answer", [1.0, 2.0]),
        ("error-in-200", [1.0, 2.0]),
        ("should-retry", [1.0, 2.0]),
        ("empty", [1.0, 2.0]),
    ],
)
def test_a_fault_that_passes_costs_waits_and_nothing_else(wire: str, stream: bool, quirk: str, waits: Any) -> None:
    seen = called(wire, f"{quirk}:2", stream=stream)
    assert (seen.text, seen.code, seen.waits, seen.requests) == ("Hello there", None, waits, 3)


@pytest.mark.req("S0-66")
@pytest.mark.case("RET-003")
@pytest.mark.case("RET-007")
@each_wire
@pytest.mark.parametrize(
    ("quirk", "code"),
    [
        ("bad-request", "invalid_request"),
        ("bad-request-text", "invalid_request"),
        ("bad-request-in-200", "invalid_request"),
        ("bad-request-wrapped", None),
        ("quota", "quota"),
        ("quota-402", "quota"),
        ("overflow", "context_overflow"),
        ("auth", "auth"),
        ("not-found", "not_found"),
        ("redirect", None),
        ("should-not-retry", "overloaded"),
    ],
)
def test_a_fault_that_stays_costs_one_request(wire: str, quirk: str, code: str | None) -> None:
    seen = called(wire, quirk)
    assert (seen.waits, seen.requests) == ([], 1)
    assert code in (None, seen.code)


@pytest.mark.case("RET-002")
@each_wire
def test_a_wait_of_a_day_fails_at_once_and_says_so(wire: str) -> None:
    seen = called(wire, "rate-limit-day")
    assert (seen.code, seen.waits, seen.requests) == ("rate_limit", [], 1)
    assert isinstance(seen.error, ApiError) and seen.error.detail.retry_after == 86400
    assert "the service asks to wait 86400 s, longer than the 60 s allowed: not tried again" in seen.error.message


@pytest.mark.req("S0-74")
@pytest.mark.req("S0-75")
def test_attempts_are_told_in_the_outcome_the_notes_and_the_error() -> None:
    seen = called("chat", "error-503:2")
    assert [(each.number, each.status, each.code, each.seconds, each.waited) for each in seen.attempts] == [
        (1, 503, "overloaded", 0.0, 1.0),
        (2, 503, "overloaded", 0.0, 2.0),
        (3, 200, None, 0.0, 0.0),
    ]
    assert seen.attempts[0].why.startswith("127.0.0.1") and "API error 503: " in seen.attempts[0].why
    assert [(note.path, note.loss) for note in seen.notes] == [(("attempts", 1), False), (("attempts", 2), False)]
    assert "API error 503" in seen.notes[0].reason and seen.notes[1].reason.endswith("tried again after 2 s")
    failed = called("chat", "error-503")
    assert (failed.code, failed.waits, failed.requests) == ("overloaded", [1.0, 2.0, 4.0], 4)
    assert failed.error is not None and failed.error.message.endswith(" (after 4 attempts)")


@pytest.mark.req("S0-75")
@each_wire
def test_attempts_of_calls_that_failed_are_told_too(wire: str) -> None:
    dropped = called(wire, "no-answer:1", "cut-in-stream", stream=True)
    assert [(each.number, each.status, each.code, each.waited) for each in dropped.attempts] == [
        (1, None, "network", 1.0),
        (2, 200, "network", 0.0),
    ]
    with FakeProvider(wire, quirks=["silence-in-stream"]) as fake, Model(fake.spec, env={}) as model:
        stream = model.stream("Hello there")
        next(stream)
        assert [(each.number, each.status, each.code) for each in stream.attempts] == [(1, 200, None)]
        stream.close()
        assert [(each.number, each.status, each.code) for each in stream.attempts] == [(1, 200, "cancelled")]


@pytest.mark.req("S0-75")
def test_a_model_in_this_process_makes_one_attempt() -> None:
    class Says:
        def stream(self, request: Request) -> Iterator[StreamEvent]:
            yield Start()
            yield Finish(stop=Stop(reason="end"))

    assert Model(Says(), clock=FakeClock()).outcome("hi").attempts == (Attempt(number=1),)


@pytest.mark.req("S0-73")
def test_ink_tries_twice_more() -> None:
    seen = called("chat", "no-answer", retry="ink")
    assert (seen.code, seen.waits, seen.requests) == ("network", [0.6, 1.5], 3)


@pytest.mark.req("S4-36")
def test_plain_waits_one_two_four() -> None:
    assert called("messages", "overloaded", retry="plain").waits == [1.0, 2.0, 4.0]


def test_no_retry_is_no_retry() -> None:
    seen = called("chat", "error-503", retry=0)
    assert (seen.code, seen.waits, seen.requests) == ("overloaded", [], 1)


@pytest.mark.req("S0-74")
def test_the_total_limit_ends_the_retries() -> None:
    seen = called("chat", "error-503", limits=Limits(total=3.5))
    assert (seen.waits, seen.requests) == ([1.0, 2.0], 3)
    assert seen.error is not None and "no time is left to try again within 3.5 s in all" in seen.error.message


@pytest.mark.case("RET-006")
@each_wire
@pytest.mark.parametrize("quirk", ["cut-at-start", "error-at-start", "silence-at-start"])
def test_a_stream_that_fails_before_its_content_has_one_beginning(wire: str, quirk: str) -> None:
    seen = called(wire, f"{quirk}:1", stream=True, limits=patience(quirk))
    assert (seen.text, seen.waits, seen.requests) == ("Hello there", [1.0], 2)
    assert sum(isinstance(event, Start) for event in seen.events) == 1
    assert isinstance(seen.events[-1], Finish)


@pytest.mark.case("RET-005")
@pytest.mark.req("S0-76")
@pytest.mark.req("I-02")
@each_wire
@pytest.mark.parametrize("quirk", ["cut-in-stream", "error-in-stream", "silence-in-stream"])
def test_a_stream_that_fails_after_its_content_is_not_asked_for_again(wire: str, quirk: str) -> None:
    seen = called(wire, quirk, stream=True, limits=patience(quirk))
    assert (seen.waits, seen.requests) == ([], 1)
    assert seen.text and "Hello there".startswith(seen.text)
    assert isinstance(seen.events[-1], Failure)
    assert [type(event) for event in seen.events].count(Failure) == 1


@pytest.mark.case("RET-005")
@pytest.mark.req("I-02", "C-10")
@each_wire
def test_restart_on_drop_says_restart_and_gives_the_text_once(wire: str) -> None:
    seen = called(wire, "cut-in-stream:1", stream=True, restart_on_drop=True)
    assert (seen.text, seen.waits, seen.requests) == ("Hello there", [1.0], 2)
    at = next(place for place, event in enumerate(seen.events) if isinstance(event, Raw) and event.name == "restart")
    assert seen.events[at] == Raw(wire="client", name="restart", payload={"attempt": 2})
    assert "".join(event.text for event in seen.events[at:] if isinstance(event, Delta)) == "Hello there"
    finish = seen.events[-1]
    assert isinstance(finish, Finish) and finish.reply is not None and finish.reply.text == "Hello there"


@pytest.mark.req("C-10")
def test_restart_on_drop_asks_whether_a_tool_ran() -> None:
    assert called("chat", "cut-in-stream", stream=True, restart_on_drop=lambda: False).requests == 1
    assert called("chat", "cut-in-stream", stream=True, restart_on_drop=lambda: True).requests == 4


@pytest.mark.req("C-10")
def test_a_stream_that_had_a_whole_call_is_not_restarted() -> None:
    script = [{"calls": [{"name": "ls", "arguments": {}}]}]
    fake = FakeProvider("messages", quirks=["no-end"], script=script)
    with fake, Model(fake.spec, env={}, clock=FakeClock(), restart_on_drop=True) as model:
        assert isinstance([*model.stream("go")][-1], Failure)
    assert len(fake.seen) == 1


@pytest.mark.case("TMO-001")
@each_wire
def test_silence_after_content_is_a_timeout_with_what_came(wire: str) -> None:
    with FakeProvider(wire, quirks=["silence-in-stream"]) as fake, Model(fake.spec, env={}, limits=SHORT) as model:
        stream = model.stream("Hello there")
        *_, failure = stream
        assert fake.left.wait(10)
    assert isinstance(failure, Failure)
    assert (failure.code, stream.reply.text != "", stream.reply.stop.reason) == ("timeout", True, "error")
    assert "was silent for 0.25 s" in failure.message and "Limits(idle=…)" in failure.message


@pytest.mark.case("TMO-003")
@each_wire
def test_the_first_word_has_a_time_of_its_own(wire: str) -> None:
    limits = Limits(idle=0.5, first=30.0, connect=1.0)
    seen = called(wire, "slow", stream=True, limits=limits)
    assert (seen.text, seen.requests) == ("Hello there", 1)
    late = called(wire, "pings", stream=True, limits=Limits(idle=5.0, first=0.1), **REAL)
    assert isinstance(late.events[-1], Failure)
    assert "said nothing within 0.1 s; if the model needs longer, raise Limits(first=…)" in late.events[-1].message


@pytest.mark.case("TMO-003")
def test_the_first_word_may_take_longer_than_a_gap() -> None:
    """No byte for longer than `idle`: a wait for the first word is not a gap."""
    limits = Limits(idle=0.2, first=20.0)
    fake = FakeProvider("chat", quirks=["slow"], pause=_pauses(0.4, 0.0))
    with fake, Model(fake.spec, env={}, limits=limits, retry=0) as model:
        assert isinstance([*model.stream("Hello there")][-1], Finish)


def _pauses(first: float, rest: float) -> Any:
    import time

    waits = iter([first])
    return lambda _seconds: time.sleep(next(waits, rest))


@pytest.mark.case("TMO-004")
@each_wire
@pytest.mark.parametrize("stream", [False, True])
def test_signs_of_life_alone_are_no_progress(wire: str, stream: bool) -> None:
    seen = called(wire, "pings", stream=stream, limits=Limits(idle=5.0, progress=0.2), **REAL)
    said = seen.events[-1].message if isinstance(seen.events[-1] if seen.events else None, Failure) else seen.error
    assert "sent nothing but signs of life for 0.2 s" in str(said)


@pytest.mark.req("S0-74")
@pytest.mark.parametrize(("name", "limits"), [("request", Limits(request=0.1)), ("total", Limits(total=0.1))])
def test_limits_of_one_request_and_of_all(name: str, limits: Limits) -> None:
    with FakeProvider("chat", quirks=["silence"]) as fake, Model(fake.spec, env={}, limits=limits, retry=0) as model:
        with pytest.raises(TransportError, match=rf"Limits\({name}=…\)") as caught:
            model.chat("hi")
        assert fake.left.wait(10)
    assert caught.value.code == "timeout"
