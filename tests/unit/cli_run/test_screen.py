"""Guards what people see of a run: each result under its call, named where several calls run at once, and the whole trace."""

from __future__ import annotations

import pytest

from dragoman.agent import Agent
from dragoman.cli.screen import Screen
from dragoman.cli.trace import trace
from dragoman.tools import tool
from unit.agent.scripted import Script, call, calls, says


@tool
def look(n: int) -> str:
    """Look."""
    return f"saw {n}\nand more"


TURNS = (
    calls(call("t1", "look", '{"n":1}'), call("t2", "look", '{"n":2}')),
    calls(call("t3", "look", '{"n":3}')),
    says("Done."),
)


def test_several_calls_at_once_have_their_names_with_their_results(capsys: pytest.CaptureFixture[str]) -> None:
    Agent(Script(*TURNS), [look]).run("Go.", on_event=Screen().show)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['→ look {"n": 1}', '→ look {"n": 2}']
    assert sorted(lines[2:4]) == ['  look {"n": 1}: saw 1 (+1 lines)', '  look {"n": 2}: saw 2 (+1 lines)']
    assert lines[-3:] == ['→ look {"n": 3}', "  saw 3 (+1 lines)", "Done."]


@pytest.mark.req("S4-38")
def test_the_trace_shows_each_request_s_messages_and_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    Agent(Script(*TURNS[1:]), [look], system="Be brief.").run("Go.", on_event=trace)
    assert capsys.readouterr().err.splitlines() == [
        "step 1: 2 messages, tools: look, choice: auto",
        "[0] system: Be brief.",
        "[1] user: Go.",
        "<- tool_calls",
        'call t3 look {"n":3}',
        "result t3 saw 3 and more",
        "step 2: 4 messages, tools: look, choice: auto",
        "[0] system: Be brief.",
        "[1] user: Go.",
        '[2] assistant: call t3 look {"n":3}',
        "[3] tool: result t3 saw 3 and more",
        "<- end",
        "end: done",
    ]
