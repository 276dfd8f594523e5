"""Guards the two drivers: the order of things people see, calls at once, and what an interrupt or a broken service leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.agent import Agent, RunResult, ToolEnd, ToolStart, drive, stream_assistant
from dragoman.errors import ApiError, DragomanError, RemoteError, TransportError, UsageError
from dragoman.tools import FunctionTool, ToolOutput, tool
from dragoman.types import (
    BlockStart,
    Delta,
    Failure,
    Message,
    Note,
    Request,
    Start,
    Stop,
    Text,
    ToolResult,
    Usage,
    assistant,
    user,
)
from dragoman.types import tool as tool_message
from unit.agent.scripted import AsyncScript, Script, call, calls, says


@tool
def double(n: int) -> str:
    """Double a number."""
    return str(2 * n)


def doubled(id: str, text: str, error: bool | None = None) -> ToolResult:
    return ToolResult(call_id=id, name="double", content=(Text(text=text),), is_error=error)


def both(agent_of: Any) -> list[RunResult]:
    """The result of one script by each driver."""
    return [agent_of(Script).run("Go."), asyncio.run(agent_of(AsyncScript).arun("Go."))]


@pytest.mark.req("S0-02")
@pytest.mark.req("S0-05")
@pytest.mark.req("S4-22")
def test_a_whole_run_is_the_same_by_both_drivers() -> None:
    made = call("t1", "double", '{"n":21}')
    turns = calls(made, usage=Usage(input=5, output=1)), says("It is 42.", usage=Usage(input=9, output=4))
    expected = RunResult(
        outcome="done",
        text="It is 42.",
        history=(user("Go."), assistant(made), tool_message(doubled("t1", "42")), assistant("It is 42.")),
        steps=2,
        usage=Usage(input=14, output=5),
        replies=turns,
    )
    assert both(lambda kind: Agent(kind(*turns), [double], system="Be brief.")) == [expected, expected]


@pytest.mark.req("S0-09")
@pytest.mark.req("S0-10")
def test_stream_assistant_forwards_every_event_and_gives_the_whole_reply() -> None:
    seen: list[Any] = []
    model = Script(says("Hello."))
    reply = stream_assistant(model, Request(messages=(user("Hi"),)), seen.append)
    assert reply == says("Hello.")
    assert [type(event).__name__ for event in seen] == ["Start", "BlockStart", "Delta", "BlockEnd", "Finish"]


@pytest.mark.req("S0-65")
def test_when_a_tool_runs_its_call_is_in_the_history_and_its_result_is_not() -> None:
    seen: list[Message] = []

    @tool
    def look() -> str:
        """Look at the history."""
        seen.extend(machine.history)
        return "seen"

    agent = Agent(Script(calls(call("t1", "look")), says("Done.")), [look])
    machine = agent.start("Go.")
    drive.run(machine, agent._model, [look])  # pyright: ignore
    assert seen == [user("Go."), assistant(call("t1", "look"))]


@pytest.mark.req("S0-45")
def test_calls_run_at_once_and_are_stored_in_order_though_they_finish_in_reverse() -> None:
    async def reversed_finish() -> tuple[RunResult, list[str]]:
        gates = {"a": asyncio.Event(), "b": asyncio.Event(), "c": asyncio.Event()}
        gates["c"].set()
        before = {"c": "b", "b": "a", "a": "a"}

        @tool
        async def wait(name: str) -> str:
            """Wait for the turn."""
            await gates[name].wait()
            gates[before[name]].set()
            return name

        made = [call(f"t{name}", "wait", f'{{"name":"{name}"}}') for name in "abc"]
        finished: list[str] = []

        def watch(event: Any) -> None:
            if isinstance(event, ToolEnd):
                finished.append(event.call.id)

        agent = Agent(AsyncScript(calls(*made), says("Done.")), [wait])
        return await agent.arun("Go.", on_event=watch), finished

    result, finished = asyncio.run(reversed_finish())
    assert finished == ["tc", "tb", "ta"]
    stored = [block for block in result.history[2].content if isinstance(block, ToolResult)]
    assert [(block.call_id, block.content) for block in stored] == [(f"t{name}", (Text(text=name),)) for name in "abc"]


def test_one_call_that_raises_or_is_cancelled_from_within_takes_no_other_with_it() -> None:
    @tool
    async def act(how: str) -> str:
        """Act."""
        if how == "raise":
            raise ValueError("no luck")
        if how == "cancel":
            raise asyncio.CancelledError
        return "fine"

    made = [call(how, "act", f'{{"how":"{how}"}}') for how in ("raise", "cancel", "work")]
    result = asyncio.run(Agent(AsyncScript(calls(*made), says("Done.")), [act]).arun("Go."))
    stored = [block for block in result.history[2].content if isinstance(block, ToolResult)]
    assert [(block.content[0], block.is_error) for block in stored] == [
        (Text(text="ValueError: no luck"), True),
        (Text(text="`act` was cancelled from within"), True),
        (Text(text="fine"), None),
    ]


def test_sync_tools_of_an_async_run_do_not_hold_each_other_up() -> None:
    import threading

    both_in = threading.Barrier(2, timeout=20)

    @tool
    def meet() -> str:
        """Meet the other."""
        both_in.wait()
        return "met"

    agent = Agent(AsyncScript(calls(call("a", "meet"), call("b", "meet")), says("Done.")), [meet])
    assert asyncio.run(agent.arun("Go.")).outcome == "done"


@pytest.mark.req("S0-48")
def test_an_interrupt_goes_through_and_leaves_every_call_answered() -> None:
    @tool
    def stop(now: bool) -> str:
        """Stop."""
        if now:
            raise KeyboardInterrupt
        return "kept"

    made = (call("t1", "stop", '{"now":false}'), call("t2", "stop", '{"now":true}'), call("t3", "stop", '{"now":true}'))
    model = Script(calls(*made))
    machine = Agent(model, [stop]).start("Go.")
    with pytest.raises(KeyboardInterrupt):
        drive.run(machine, model, [stop])
    stored = [block for block in machine.history[-1].content if isinstance(block, ToolResult)]
    gone = Text(text="cancelled by user: no result")
    assert [block.content[0] for block in stored] == [Text(text="kept"), gone, gone]


@pytest.mark.req("S0-48")
def test_cancelling_the_task_keeps_what_finished_and_answers_the_rest() -> None:
    async def cancelled() -> list[Message]:
        hanging = asyncio.Event()

        @tool
        async def act(hang: bool) -> str:
            """Act."""
            if hang:
                hanging.set()
                await asyncio.Event().wait()
            return "files"

        made = calls(call("t1", "act", '{"hang":true}'), call("t2", "act", '{"hang":false}'))
        model = AsyncScript(made)
        machine = Agent(model, [act]).start("Go.")
        answered = asyncio.Event()
        watch = lambda event: answered.set() if isinstance(event, ToolEnd) else None  # noqa: E731
        task = asyncio.create_task(drive.arun(machine, model, [act], on_event=watch))
        await hanging.wait()
        await answered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return machine.history

    history = asyncio.run(cancelled())
    stored = [block for block in history[-1].content if isinstance(block, ToolResult)]
    assert [block.content[0] for block in stored] == [Text(text="cancelled by user: no result"), Text(text="files")]


def broken() -> list[Any]:
    start = [Start(), BlockStart(index=0, block=Text(text="")), Delta(index=0, text="Half an ans")]
    return [*start, Failure(code="network", message="connection lost")]


@pytest.mark.req("S0-79")
def test_a_stream_that_breaks_is_a_failure_and_what_arrived_is_no_turn() -> None:
    for result in both(lambda kind: Agent(kind(broken()), [double])):
        assert (result.outcome, result.detail, result.steps) == ("failed", "connection lost", 1)
        assert (result.history, result.text) == ((user("Go."),), "Half an ans")
        assert result.incomplete is not None
        assert result.incomplete.stop == Stop(reason="error", raw="network", detail="connection lost")


@pytest.mark.parametrize(
    "error",
    [ApiError("auth", "Label API error 401: no"), TransportError("network", "refused"), RemoteError("bad_json", "x")],
)
def test_what_a_service_does_is_an_outcome_and_no_exception(error: DragomanError) -> None:
    seen: list[Any] = []
    result = Agent(Script(error)).run("Go.", on_event=seen.append)
    assert (result.outcome, result.detail, result.history) == ("failed", error.message, (user("Go."),))
    assert [(event.code, event.message) for event in seen if isinstance(event, Failure)] == [
        (error.code, error.message)
    ]
    assert asyncio.run(Agent(AsyncScript(error)).arun("Go.")).detail == error.message


def test_what_the_caller_did_wrong_is_raised() -> None:
    for kind in (Script, AsyncScript):
        agent = Agent(kind(UsageError("missing_key", "no key")), [double])
        with pytest.raises(UsageError, match="no key"):
            agent.run("Go.") if kind is Script else asyncio.run(agent.arun("Go."))


def test_notes_of_the_conversion_reach_the_result_once() -> None:
    note = Note(path=("messages", 0), action="dropped", reason="no place")

    class Told(list[Any]):
        notes = (note, note)

    class Model:
        def __init__(self) -> None:
            self.script = Script(calls(call("t1", "double", '{"n":1}')), says("2"))

        def stream(self, request: Request) -> Told:
            return Told(self.script.stream(request))

    assert Agent(Model(), [double]).run("Go.").notes == (note,)


def test_a_tool_that_is_offered_and_cannot_run_is_found_before_anything_is_sent() -> None:
    model = Script()
    machine = Agent(model, [double]).start("Go.")
    with pytest.raises(UsageError, match="'double' is offered to the model, and nothing was passed to run it"):
        drive.run(machine, model, [])
    assert model.requests == []


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are named 'double'"):
        Agent(Script(), [double, double])


def test_a_run_goes_on_from_an_earlier_one() -> None:
    model = Script(says("First."), says("Second."))
    agent = Agent(model, system="S")
    first = agent.run("One")
    second = agent.run("Two", history=first.history)
    assert second.history == (user("One"), assistant("First."), user("Two"), assistant("Second."))
    assert [request.system for request in model.requests] == ["S", "S"]


def test_refused_calls_are_shown_as_well() -> None:
    seen: list[Any] = []
    made = call("t1", "dubble")
    Agent(Script(calls(made), says("Sorry.")), [double]).run("Go.", on_event=seen.append)
    shown = [event for event in seen if isinstance(event, ToolStart | ToolEnd)]
    said = "unknown tool `dubble`, nothing was executed. Did you mean `double`? Available: `double`."
    output = ToolOutput(content=(Text(text=said),), is_error=True)
    assert shown == [ToolStart(call=made), ToolEnd(call=made, output=output)]


def test_an_async_tool_runs_in_a_sync_run() -> None:
    @tool
    async def slow() -> str:
        """Be slow."""
        await asyncio.sleep(0)
        return "done"

    result = Agent(Script(calls(call("t1", "slow")), says("Done.")), [slow]).run("Go.")
    assert result.history[2].content[0] == ToolResult(call_id="t1", name="slow", content=(Text(text="done"),))


def test_a_tool_is_still_a_function() -> None:
    assert isinstance(double, FunctionTool)
    assert double(4) == "8"
