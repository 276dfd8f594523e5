"""Guards the agent over the real client, sync and async: one loop, sockets on loopback, the connection let go at the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chat_script import DONE, SSE, chat_stream, chunk
from dragoman.agent import Agent, RunResult
from dragoman.client import AsyncModel, Model
from dragoman.tools import tool
from dragoman.types import Delta, Text, ToolResult, user
from origin import HOLD, Answer, Origin


@tool
def weather(city: str) -> dict[str, Any]:
    """Tell the weather of a city."""
    return {"city": city, "度": 21}


@tool
async def time(city: str) -> str:
    """Tell the time in a city."""
    return f"noon in {city}"


def both_called() -> Answer:
    """A streamed reply of two calls."""
    made = [("c1", "weather", '{"city":"北京"}'), ("c2", "time", '{"city":"Oslo"}')]
    parts = [
        {"index": place, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (id, name, arguments) in enumerate(made)
    ]
    return Answer(headers=SSE, body=[chunk({"tool_calls": parts}), chunk({}, "tool_calls"), DONE])


def spec(origin: Origin) -> str:
    return f"{origin.url}/v1#chat:m"


def sync_run(origin: Origin) -> RunResult:
    with Model(spec(origin), env={}, retry=0) as model:
        return Agent(model, [weather, time]).run("Well?")


def async_run(origin: Origin) -> RunResult:
    async def go() -> RunResult:
        async with AsyncModel(spec(origin), env={}, retry=0) as model:
            return await Agent(model, [weather, time]).arun("Well?")

    return asyncio.run(go())


@pytest.mark.req("S0-01")
@pytest.mark.parametrize("run", [sync_run, async_run])
def test_one_loop_by_either_client(run: Any) -> None:
    with Origin(both_called(), chat_stream("21 and ", "noon.")) as origin:
        result = run(origin)
    assert (result.outcome, result.text, result.steps) == ("done", "21 and noon.", 2)
    answered = [block for block in result.history[2].content if isinstance(block, ToolResult)]
    assert [(block.call_id, block.is_error) for block in answered] == [("c1", None), ("c2", None)]
    assert answered[1].content == (Text(text="noon in Oslo"),)
    sent = origin.seen[1].json["messages"][-2:]
    assert sent == [
        {"role": "tool", "tool_call_id": "c1", "content": '{"city":"北京","度":21}'},
        {"role": "tool", "tool_call_id": "c2", "content": "noon in Oslo"},
    ]


@pytest.mark.req("S0-70")
@pytest.mark.parametrize("run", [sync_run, async_run])
def test_a_service_that_cannot_be_reached_is_an_outcome(run: Any) -> None:
    with Origin() as origin:
        pass
    result = run(origin)
    assert (result.outcome, result.history, result.steps) == ("failed", (user("Well?"),), 1)
    assert result.detail


def test_a_cancelled_run_lets_go_of_its_connection() -> None:
    async def go(origin: Origin) -> None:
        begun = asyncio.Event()
        async with AsyncModel(spec(origin), env={}, retry=0) as model:
            run = Agent(model, [weather]).arun(
                "Well?", on_event=lambda event: begun.set() if isinstance(event, Delta) else None
            )
            task = asyncio.create_task(run)
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(origin.left.wait, 60)

    with Origin(Answer(headers=SSE, body=[chunk({"content": "Well"}), HOLD])) as origin:
        asyncio.run(go(origin))
