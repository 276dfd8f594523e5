"""Guards the end that comes from outside: cancelled, interrupted or late, a run ends soon, with what came, and with every call answered."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest

from dragoman.agent import Agent, Limits, Manner, Policy, Run, RunResult, ToolEnd, crew, drive
from dragoman.tools import tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import BlockEnd, BlockStart, Delta, Finish, Request, Start, Stop, Text, ToolCall, user
from hazards.test_agent_calls import results, sound, words
from unit.agent.scripted import AsyncScript, Script, call, calls, says

SOON = 30.0  # seconds: what takes longer was not ended by the word, whose tool would take minutes


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second of grace for tools that will never hear."""
    monkeypatch.setattr(crew, "GRACE", 0.1)


def by_both(agent_of: Callable[[Any], Agent], token: CancelToken) -> list[RunResult]:
    return [
        agent_of(Script).run("Go.", cancel=token),
        asyncio.run(agent_of(AsyncScript).arun("Go.", cancel=token)),
    ]


@pytest.mark.case("CAN-001")
@pytest.mark.req("S0-48", "I-08")
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_cancel_between_two_tools_keeps_the_one_result_and_answers_the_other_call(driver: str) -> None:
    token, never = CancelToken(), Event()

    @tool
    def sleep() -> str:
        """Sleep."""
        never.wait(60)
        return "woke"

    @tool
    def ls() -> str:
        """List."""
        return "files"

    def watch(event: Any) -> None:
        if isinstance(event, ToolEnd) and event.call.id == "t2":
            token.cancel()

    made = calls(call("t1", "sleep"), call("t2", "ls"))
    begun = time.monotonic()
    if driver == "sync":
        result = Agent(Script(made), [sleep, ls]).run("Go.", on_event=watch, cancel=token)
    else:
        result = asyncio.run(Agent(AsyncScript(made), [sleep, ls]).arun("Go.", on_event=watch, cancel=token))
    never.set()
    assert time.monotonic() - begun < SOON
    assert (result.outcome, result.detail) == ("cancelled", "cancelled by user")
    first, second = results(result.history)
    assert (first.call_id, words(first), first.is_error) == ("t1", "cancelled by user: no result", True)
    assert (second.call_id, words(second), second.is_error) == ("t2", "files", None)
    assert sound(result.history, sleep, ls)
    model = Script(says("Going on."))
    again = Agent(model, [sleep, ls]).run("continue", history=result.history)
    assert model.requests[0].messages[-2:] == (result.history[-1], user("continue"))
    assert again.outcome == "done"


@pytest.mark.case("CAN-004")
def test_a_tool_that_hangs_and_will_not_hear_is_left_behind() -> None:
    held = Event()

    @tool
    async def deaf() -> str:
        """Hang."""
        for _ in range(2):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                held.set()
        return "never"

    @tool
    def hang() -> str:
        """Hang."""
        held.wait(60)
        return "never"

    token = CancelToken()
    Thread(target=lambda: (time.sleep(0.05), token.cancel()), daemon=True).start()
    begun = time.monotonic()
    result = asyncio.run(
        Agent(AsyncScript(calls(call("t1", "hang"), call("t2", "deaf"))), [deaf, hang]).arun("Go.", cancel=token)
    )
    held.set()
    assert time.monotonic() - begun < SOON
    assert result.outcome == "cancelled"
    assert [words(item) for item in results(result.history)] == ["cancelled by user: no result"] * 2
    assert sound(result.history, deaf, hang)


@pytest.mark.case("CAN-005")
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_one_that_raises_takes_no_other_with_it_and_leaves_no_task(driver: str) -> None:
    @tool
    async def act(how: str) -> str:
        """Act."""
        if how == "raise":
            raise ValueError("no luck")
        await asyncio.sleep(0.01)
        return how

    made = calls(*(call(how, "act", f'{{"how":"{how}"}}') for how in ("raise", "slow", "ok")))

    async def go() -> tuple[RunResult, int]:
        result = await Agent(AsyncScript(made, says("Done.")), [act]).arun("Go.")
        return result, len(asyncio.all_tasks())

    if driver == "sync":
        result = Agent(Script(made, says("Done.")), [act]).run("Go.")
    else:
        result, tasks = asyncio.run(go())
        assert tasks == 1
    gc.collect()
    assert [words(item) for item in results(result.history)] == ["ValueError: no luck", "slow", "ok"]


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_tool_that_takes_too_long_is_stopped_and_told_to(driver: str) -> None:
    told = Event()

    @tool(access="read")
    def slow(stop: CancelToken) -> str:
        """Be slow."""
        if stop.wait(60):
            told.set()
        return "late"

    made = calls(call("t1", "slow"), call("t2", "slow"))
    manner = Manner(tool_timeout=0.05)
    kind: Any = Script if driver == "sync" else AsyncScript
    agent = Agent(kind(made, says("Well.")), [slow], manner=manner)
    result = agent.run("Go.") if driver == "sync" else asyncio.run(agent.arun("Go."))
    assert result.outcome == "done"
    assert told.wait(SOON)
    said = "`slow` was stopped: it took longer than 0.05 seconds"
    assert [(words(item), item.is_error) for item in results(result.history)] == [(said, True)] * 2


def test_a_token_that_was_pulled_before_sends_nothing() -> None:
    token = CancelToken()
    token.cancel()
    for result in by_both(lambda kind: Agent(kind(), []), token):
        assert (result.outcome, result.history, result.steps) == ("cancelled", (user("Go."),), 0)


@pytest.mark.req("S0-78")
def test_a_cancel_in_mid_stream_keeps_what_arrived_apart() -> None:
    token = CancelToken()
    stream = [
        Start(),
        BlockStart(index=0, block=Text(text="")),
        Delta(index=0, text="Half"),
        Delta(index=0, text="more"),
    ]

    def watch(event: Any) -> None:
        if isinstance(event, Delta):
            token.cancel()

    result = Agent(Script(stream)).run("Go.", on_event=watch, cancel=token)
    assert (result.outcome, result.history) == ("cancelled", (user("Go."),))
    assert result.incomplete is not None
    assert result.incomplete.text == "Half"


def test_an_interrupt_in_mid_stream_keeps_what_arrived_too() -> None:
    stream = [Start(), BlockStart(index=0, block=Text(text="")), Delta(index=0, text="Half")]

    def interrupt(event: Any) -> None:
        if isinstance(event, Delta):
            raise KeyboardInterrupt

    agent = Agent(Script(stream))
    machine = agent.start("Go.")
    with pytest.raises(KeyboardInterrupt):
        agent.drive(machine, on_event=interrupt)
    assert machine.incomplete is not None
    assert (machine.incomplete.text, machine.history, machine.ended) == ("Half", [user("Go.")], True)


def test_the_time_of_a_run_ends_its_stream_and_its_tools() -> None:
    class Clock:
        def __init__(self) -> None:
            self.time = 0.0

        def now(self) -> float:
            self.time += 1.0
            return self.time

        date = now

        def sleep(self, seconds: float, cancel: CancelToken | None) -> None: ...
        async def asleep(self, seconds: float) -> None: ...

    endless = [Start(), BlockStart(index=0, block=Text(text="")), *[Delta(index=0, text="x")] * 100]
    agent = Agent(Script(endless), limits=Limits(seconds=20), manner=Manner(clock=Clock()))
    result = agent.run("Go.")
    assert (result.outcome, result.limit, result.history) == ("limit", "seconds", (user("Go."),))
    assert result.incomplete is not None
    assert 0 < len(result.incomplete.text) < 30


class Stepwise:
    """A stream that waits, before its second call is whole, until the first has run."""

    def __init__(self, ran: Event, *, breaks: bool, last: str = "look") -> None:
        self.ran, self.breaks, self.last = ran, breaks, last
        self.waited: list[bool] = []
        self.turn = 0

    def stream(self, request: Request) -> Any:
        self.turn += 1
        if self.turn > 1:
            yield from Script(says("Done.")).stream(request)
            return
        one, two = call("t1", "look", '{"n":1}'), call("t2", self.last, '{"n":2}')
        yield Start()
        yield BlockStart(index=0, block=Text(text="I look."))
        yield BlockEnd(index=0)
        yield BlockStart(index=1, block=ToolCall(id="t1", name="look", arguments=""))
        yield Delta(index=1, field="arguments", text=one.arguments)
        yield BlockEnd(index=1)
        yield BlockStart(index=2, block=ToolCall(id="t2", name=self.last, arguments=""))
        self.waited.append(self.ran.wait(SOON))
        if self.breaks:
            return
        yield Delta(index=2, field="arguments", text=two.arguments)
        yield BlockEnd(index=2)
        yield Finish(stop=Stop(reason="tool_calls"))


@pytest.mark.req("S3-29", "I-15")
def test_a_call_that_reads_begins_while_the_reply_still_streams() -> None:
    ran = Event()
    seen: list[int] = []

    @tool
    def look(n: int) -> str:
        """Look."""
        seen.append(n)
        ran.set()
        return f"saw {n}"

    model = Stepwise(ran, breaks=False)
    result = Agent(model, [look], manner=Manner(eager=True)).run("Go.")
    assert model.waited == [True]
    assert [words(item) for item in results(result.history)] == ["saw 1", "saw 2"]
    assert sorted(seen) == [1, 2]
    ran.clear()
    seen.clear()
    waits = Stepwise(ran, breaks=False)
    ran.set()
    assert [words(item) for item in results(Agent(waits, [look]).run("Go.").history)] == ["saw 1", "saw 2"]


@pytest.mark.req("S3-29", "I-15")
def test_the_same_by_the_async_driver() -> None:
    async def go() -> tuple[RunResult, list[bool]]:
        ran, waited = asyncio.Event(), list[bool]()

        @tool
        async def look(n: int) -> str:
            """Look."""
            ran.set()
            return f"saw {n}"

        class Slowly(AsyncScript):
            async def stream(self, request: Request) -> Any:
                async for event in super().stream(request):
                    yield event
                    if isinstance(event, BlockEnd) and not waited:
                        await asyncio.wait_for(ran.wait(), SOON)
                        waited.append(True)

        made = calls(call("t1", "look", '{"n":1}'), call("t2", "look", '{"n":2}'))
        agent = Agent(Slowly(made, says("Done.")), [look], manner=Manner(eager=True))
        return await agent.arun("Go."), waited

    result, waited = asyncio.run(go())
    assert (result.outcome, waited) == ("done", [True])
    assert [words(item) for item in results(result.history)] == ["saw 1", "saw 2"]


@pytest.mark.req("S3-29")
def test_a_stream_that_breaks_keeps_what_ran_as_a_turn_and_drops_the_rest() -> None:
    ran = Event()

    @tool
    def look(n: int) -> str:
        """Look."""
        ran.set()
        return f"saw {n}"

    def slowly(event: Any) -> None:
        if isinstance(event, BlockStart) and event.index == 2:
            ran.wait(SOON)
            time.sleep(0.02)  # the thread hands its output over

    result = Agent(Stepwise(ran, breaks=True), [look], manner=Manner(eager=True)).run("Go.", on_event=slowly)
    assert result.outcome == "cancelled"
    assert [message.role for message in result.history] == ["user", "assistant", "tool"]
    assert [getattr(block, "text", None) or getattr(block, "id", None) for block in result.history[1].content] == [
        "I look.",
        "t1",
    ]
    assert [words(item) for item in results(result.history)] == ["saw 1"]
    assert result.incomplete is not None
    assert len(result.incomplete.calls) == 2
    assert sound(result.history, look)


def test_what_must_be_asked_about_or_changes_something_never_begins_early() -> None:
    begun: list[int] = []

    @tool(access="write")
    def look(n: int) -> str:
        """Look, and change something."""
        begun.append(n)
        return "done"

    ready = Event()
    ready.set()
    model = Stepwise(ready, breaks=True)
    agent = Agent(model, [look], manner=Manner(eager=True), policy=Policy.of(allow=["look"]))
    assert agent.run("Go.").history == (user("Go."),)
    assert begun == []


@pytest.mark.parametrize("when", ["model", "tools"])
def test_what_a_user_says_in_the_meantime_is_read_after_the_results(when: str) -> None:
    @tool
    def work() -> str:
        """Work."""
        if when == "tools":
            machine.say(user("And be brief."))
        return "worked"

    model = Script(calls(call("t1", "work")), says("Done."), says("Brief."))
    agent = Agent(model, [work])
    machine: Run = agent.start("Go.")

    def watch(event: Any) -> None:
        if when == "model" and isinstance(event, Delta) and event.text == "Done.":
            machine.say(user("And be brief."))

    result = drive.run(machine, model, [work], on_event=watch)
    roles = [message.role for message in result.history]
    if when == "tools":
        assert roles == ["user", "assistant", "tool", "user", "assistant"]
    else:
        assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
        assert result.text == "Brief."
    assert sound(result.history, work)
