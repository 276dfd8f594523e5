"""Guards I-08 and S4-11: a run is a plain value at any point, and goes on from it as if nothing had happened."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.agent import Agent, Answer, Ask, Done, Gate, Manner, NeedModel, NeedTools, Permit, Policy, Run, RunState
from dragoman.errors import UsageError
from dragoman.tools import Traits, tool
from dragoman.tools.result import said
from dragoman.types import Message, Request, Text, ToolResult, system, user
from hazards.test_agent_calls import results, sound, words
from unit.agent.scripted import Script, call, calls, says


@tool
def look(n: int) -> str:
    """Look."""
    return f"saw {n}"


@tool(access="send", traits=Traits(subject="to"))
def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


TOOLS = (look, send)
TURNS = (
    calls(call("t1", "look", '{"n":"1"}'), call("t2", "send", '{"to":"a"}'), call("t3", "nobody")),
    calls(call("t4", "look", '{"n":2}'), call("t4", "send", '{"to":"b"}')),
    says("Done."),
)


def started() -> Run:
    request = Request(messages=(system("S"), user("Go.")), tools=tuple(item.definition for item in TOOLS))
    return Run(request, judge=Gate(Policy(), TOOLS))


def through_disk(run: Run) -> Run:
    """The run as another process would find it."""
    state = msgspec.json.decode(msgspec.json.encode(run.state), type=RunState)
    assert state == run.state
    return Run.resume(state, judge=Gate(Policy(), TOOLS))


def drive(run: Run, again: Any) -> Run:
    """Drive by hand; `again` takes the machine between any two things that are given to it."""
    table = {item.definition.name: item for item in TOOLS}
    turns = iter(TURNS)
    while not isinstance(need := (run := again(run)).step(), Done):
        match need:
            case NeedModel():
                run.give(next(turns))
            case Ask():
                question = need.questions[0]
                run.give(Permit(position=question.position, allowed=question.arguments["to"] == "a", reason="not b"))
                if question.arguments["to"] == "a":
                    answer(run, table, question.position)
            case NeedTools():
                answer(run, table, need.calls[-1].position)
    return run


def answer(run: Run, table: dict[str, Any], position: int) -> None:
    item = next(item for item in run.open if item.position == position)
    run.give(Answer(position=position, output=table[item.call.name].invoke(item.arguments)))


def test_a_run_that_is_saved_between_any_two_steps_comes_to_the_same_end() -> None:
    whole, torn = drive(started(), lambda run: run), drive(started(), through_disk)
    assert torn.state == whole.state
    assert [words(item) for item in results(whole.history)] == [
        "saw 1",
        "sent to a",
        "unknown tool `nobody`, nothing was executed. Available: `look`, `send`.",
        "saw 2",
        "not permitted, `send` was not executed: not b.",
    ]
    assert sound(tuple(whole.history), *TOOLS)


def test_a_call_that_had_begun_is_not_run_again() -> None:
    run = started()
    run.step()
    run.give(calls(call("t1", "look", '{"n":1}'), call("t2", "look", '{"n":2}')))
    run.begin(0)
    again = through_disk(run)
    need = again.step()
    assert isinstance(need, NeedTools)
    assert [item.call.id for item in need.calls] == ["t2"]
    again.give(Answer(position=1, output=said("saw 2")))
    told, kept = results(again.history)
    assert words(told) == (
        "interrupted before its result came: it may have run, wholly or in part. Look before you call it again."
    )
    assert (told.is_error, words(kept)) == (True, "saw 2")


def test_a_permission_is_not_in_the_file() -> None:
    run = started()
    run.step()
    run.give(calls(call("t1", "send", '{"to":"a"}'), call("t2", "send", '{"to":"b"}')))
    run.give(Permit(position=0, allowed=True))
    need = through_disk(run).step()
    assert isinstance(need, Ask)
    assert [question.call.id for question in need.questions] == ["t1", "t2"]


def test_a_denial_cannot_be_overruled_by_whoever_is_asked() -> None:
    run = started()
    run.step()
    run.give(calls(call("t1", "send", '{"to":"a"}')))
    run.judge = Gate(Policy.of(deny=["send"]), TOOLS)
    assert isinstance(run.step(), Ask)
    run.give(Permit(position=0, allowed=True))
    assert [words(item) for item in results(run.history)] == [
        "not permitted, `send` was not executed: the rule `send` says so."
    ]


def test_the_agent_resumes_a_run_that_a_checkpoint_kept() -> None:
    states: list[RunState] = []
    model = Script(*TURNS)
    agent = Agent(
        model, TOOLS, permit=lambda _question: True, manner=Manner(checkpoint=lambda run: states.append(run.state))
    )
    whole = agent.run("Go.")
    ends: set[tuple[Message, ...]] = set()
    for state in states:
        rest = Script(*TURNS[len(state.replies) :])
        resumed = Agent(rest, TOOLS, permit=lambda _question: True)
        ended = resumed.drive(resumed.resume(state))
        assert ended.outcome == "done"
        assert sound(ended.history, *TOOLS)
        ends.add(ended.history)
    assert whole.history in ends
    assert len(states) >= 10


def test_a_message_can_wait_in_the_file_too() -> None:
    run = started()
    run.step()
    run.say(user("Quick!"))
    again = through_disk(run)
    assert again.queued == (user("Quick!"),)
    need = again.step()
    assert isinstance(need, NeedModel)
    assert need.request.messages[-1] == user("Quick!")
    with pytest.raises(UsageError, match="only a user speaks"):
        again.say(Message(role="assistant", content=(Text(text="x"),)))
    assert not [block for message in again.history for block in message.content if isinstance(block, ToolResult)]
