"""Guards S3-50: one harness, one scripted conversation, three wire formats; only the name of the model changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.agent import Agent, RunResult
from dragoman.client import Model
from dragoman.dialect.model import BASE
from dragoman.tools import read_tool
from dragoman.types import Message, Reply, Stop, Text, ToolCall, ToolResult, Usage, assistant, explode, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange
from origin import Answer, Origin

CALLS = (
    ToolCall(id="call_1", name="read", arguments='{"path":"说明.md"}'),
    ToolCall(id="call_2", name="read", arguments='{"path":"absent.md"}'),
)
ABSENT = "absent.md does not exist"


def streamed(wire: str, reply: Reply) -> Answer:
    """What a service of that wire streams for `reply`."""
    encoder = find(wire).stream_encoder(BASE, Exchange(stream=True, include_usage=True, model="m", seed="s", now=1))
    parts = [encoder.encode(event) for event in explode(reply)]
    return Answer(
        headers={"content-type": "text/event-stream"}, body=[part for part in (*parts, encoder.close()) if part]
    )


def bare(value: Any) -> Any:
    """Without leftovers and origins, which are each wire's own."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key not in ("opaque", "origin")}
    return [bare(item) for item in value] if isinstance(value, list | tuple) else value


def history(result: RunResult) -> tuple[Message, ...]:
    return msgspec.convert(bare(msgspec.to_builtins(result.history)), tuple[Message, ...])


@pytest.mark.req("S3-50")
@pytest.mark.req("S0-02")
@pytest.mark.req("S0-03")
@pytest.mark.parametrize("wire", WIRES)
def test_the_same_task_over_each_wire(wire: str, tmp_path: Path) -> None:
    (tmp_path / "说明.md").write_text("启动命令:npm run dev", encoding="utf-8")
    asked = Reply(
        message=assistant("我来看看。", *CALLS), stop=Stop(reason="tool_calls"), usage=Usage(input=50, output=20)
    )
    said = Reply(message=assistant("npm run dev"), stop=Stop(reason="end"), usage=Usage(input=90, output=5))
    with (
        Origin(streamed(wire, asked), streamed(wire, said)) as origin,
        Model(f"{origin.url}/v1#{wire}:m", env={}) as model,
    ):
        result = Agent(model, [read_tool(tmp_path)], system="用中文回答。").run("怎么启动?")
    answers = (
        ToolResult(call_id="call_1", name="read", content=(Text(text="启动命令:npm run dev"),)),
        ToolResult(call_id="call_2", name="read", content=(Text(text=ABSENT),), is_error=True),
    )
    assert history(result) == (
        user("怎么启动?"),
        assistant("我来看看。", *CALLS),
        tool(*answers),
        assistant("npm run dev"),
    )
    assert (result.outcome, result.steps) == ("done", 2)
    assert result.usage is not None
    assert (result.usage.input, result.usage.output) == (140, 25)
    first, second = (seen.body.decode() for seen in origin.seen)
    for words in ("用中文回答。", "怎么启动?", "Read a text file"):
        assert words in first
        assert words in second
    for words in ("我来看看。", "启动命令:npm run dev", ABSENT, "call_1", "call_2"):
        assert words in second
