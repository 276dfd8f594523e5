"""Guards how runs end: nothing said is no success, an announced call that never came is none either, a final result is final."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agent import Agent, Limits
from dragoman.tools import tool
from dragoman.types import Message, Reasoning, Reply, Stop, Text, Tool, user
from hazards.test_agent_calls import results, run_of, sound, words
from unit.agent.scripted import Script, call, calls, says

EMPTY = Reply(message=Message(role="assistant", content=()), stop=Stop(reason="end"))
THOUGHT = Reply(message=Message(role="assistant", content=(Reasoning(text="Hm."),)), stop=Stop(reason="end"))
ANNOUNCED = Reply(message=Message(role="assistant", content=(Text(text=""),)), stop=Stop(reason="tool_calls"))


@pytest.mark.case("AGT-016")
@pytest.mark.case("AGT-019")
@pytest.mark.parametrize("empty", [EMPTY, THOUGHT, ANNOUNCED])
def test_replies_of_nothing_are_asked_for_again_so_often_and_no_success(empty: Reply) -> None:
    model = Script(empty, empty, empty)
    result = Agent(model, limits=Limits(empty_turns=3)).run("Go.")
    assert (result.outcome, result.steps, result.history) == ("empty", 3, (user("Go."),))
    assert model.requests == [model.requests[0]] * 3
    assert run_of(empty).outcome == "empty"
    assert run_of(empty, says("Yes?"), limits=Limits(empty_turns=2)).text == "Yes?"


@pytest.mark.case("STO-004")
def test_the_final_result_is_the_output_and_nothing_else_of_its_turn_runs() -> None:
    ran: list[str] = []

    @tool
    def get_weather(city: str) -> str:
        """Tell the weather."""
        ran.append(city)
        return "sunny"

    @tool
    def final_result(city: str, degrees: int) -> None:
        """Give the final result."""
        raise AssertionError("it is never run")

    made = (
        call("c1", "get_weather", '{"city":"Oslo"}'),
        call("c2", "final_result", '{"city":"Oslo","degrees":"21"}'),
        call("c3", "final_result", '{"city":"Rome","degrees":30}'),
    )
    model = Script(calls(*made))
    result = Agent(model, [get_weather], final=final_result).run("Well?")
    assert (result.outcome, result.output, ran) == ("done", {"city": "Oslo", "degrees": 21}, [])
    not_run = "not executed: the final result was given in the same turn"
    assert [words(item) for item in results(result.history)] == [not_run, "taken as the final result", not_run]
    assert sound(result.history, get_weather, final_result)
    assert [item.name for item in model.requests[0].tools or () if isinstance(item, Tool)] == [
        "get_weather",
        "final_result",
    ]


def test_a_final_result_that_does_not_fit_is_none_yet() -> None:
    @tool
    def final_result(degrees: int) -> None:
        """Give the final result."""

    turns = calls(call("c1", "final_result", '{"degrees":"warm"}')), calls(call("c2", "final_result", '{"degrees":21}'))
    result = run_of(*turns, tools=(), final=final_result)
    assert (result.output, result.steps) == ({"degrees": 21}, 2)
    assert "`degrees`: expected integer" in words(results(result.history)[0])


def test_what_no_wire_could_send_is_not_in_the_history() -> None:
    said: tuple[Any, ...] = (
        Text(text="\n\n"),
        Reasoning(text=" "),
        Text(text="half \ud83d"),
        call("", "read_file", '{"p":"a"}'),
        call("", "read_file", '{"p":"\\ud800"}'),
    )
    result = run_of(
        Reply(message=Message(role="assistant", content=said), stop=Stop(reason="tool_calls")), says("Done.")
    )
    assert [getattr(block, "text", None) or getattr(block, "id", None) for block in result.history[1].content] == [
        "half \ufffd",
        "call_2",
        "call_3",
    ]
    assert [item.call_id for item in results(result.history)] == ["call_2", "call_3"]
