"""Guards S1-22: no output of a model, however strange, raises out of the loop or leaves a call without its one result."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.agent import Agent
from dragoman.tools import tool
from dragoman.types import Content, Message, Reasoning, Refusal, Reply, Stop, Text, ToolCall, ToolResult, user
from dragoman.types.reply import StopReason
from unit.agent.scripted import Script


@tool
def act(path: str, times: int = 1) -> str:
    """Act on a path."""
    return path * times if times < 10 else str(1 // 0)


texts = st.text(st.characters(exclude_categories=()), max_size=20)
arguments = st.one_of(
    st.sampled_from(
        ['{"path":"a"}', '{"path":"a","times":"2"}', '{"times":10,"path":""}', '{"p":1}', "", "null", "[]"]
    ),
    st.sampled_from(['{"path":"a"', '```json\n{"path":"b"}\n```', '{"path":NaN}', "{" * 2000, '{"path":"\\ud800"}']),
    texts,
)
named = st.one_of(st.sampled_from(["act", "Act", "os.system", "__init__"]), texts)
kinds = st.sampled_from(["function", "custom", "builtin"])
made = st.builds(ToolCall, id=texts, name=named, arguments=arguments, kind=kinds)
blocks = st.one_of(made, st.builds(Text, text=texts), st.builds(Reasoning, text=texts), st.builds(Refusal, text=texts))
replies = st.builds(
    lambda content, reason: Reply(message=Message(role="assistant", content=tuple(content)), stop=Stop(reason=reason)),
    st.lists(blocks, max_size=4),
    st.sampled_from(get_args(StopReason)),
)


@pytest.mark.req("S1-22")
@pytest.mark.req("S0-48")
@given(st.lists(replies, min_size=4, max_size=4))
def test_any_replies_end_the_run_with_a_name_and_with_pairs(turns: list[Reply]) -> None:
    result = Agent(Script(*turns), [act], max_steps=4).run("Go.")
    assert result.outcome in ("done", "truncated", "refused", "empty", "limit", "failed", "cancelled")
    assert result.history[0] == user("Go.")
    open_calls: list[str] = []
    for message in result.history:
        if message.role == "tool":
            assert open_calls == [block.call_id for block in message.content if isinstance(block, ToolResult)]
            open_calls = []
        else:
            assert open_calls == []
            open_calls = [block.id for block in of_role(message) if isinstance(block, ToolCall)]
    assert open_calls == []


def of_role(message: Message) -> tuple[Content, ...]:
    return message.content if message.role == "assistant" else ()
