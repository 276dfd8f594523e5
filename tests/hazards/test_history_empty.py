"""Guards texts and messages that say nothing: left out where a service refuses them, and never a call with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.history import check, repair
from dragoman.types import Message, Reasoning, Request, Text, ToolCall, ToolResult, assistant, system, tool, user
from dragoman.wire import find
from dragoman.wire.base import Http

Body = dict[str, Any]
CALL = {"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
SIGNED = {"messages": {"signature": "c2ln"}}


def sent(*messages: Body) -> list[Body]:
    """The messages that a messages server gets for a chat client."""
    body = json.dumps({"messages": messages}).encode()
    out = translate.request(Http(body=body), find("chat"), find("messages")).http.body
    return json.loads(out)["messages"]


def texts(messages: list[Body]) -> list[str]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    said = [part["text"] for part in parts if part["type"] == "text"]
    return said + [message["content"] for message in messages if isinstance(message["content"], str)]


@pytest.mark.case("REQ-003", "REQ-006")
@pytest.mark.parametrize("content", ["", "\n", None])
def test_a_turn_without_a_word_keeps_its_calls_and_their_results(content: str | None) -> None:
    turn = {"role": "assistant", "content": content, "tool_calls": [CALL]}
    answer = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
    out = sent({"role": "user", "content": "go"}, turn, answer)
    assert out[1] == {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "a", "input": {}}]}
    assert [part["tool_use_id"] for part in out[2]["content"]] == ["call_1"]


@pytest.mark.case("REQ-004")
def test_no_text_that_is_empty_or_white_space_is_sent() -> None:
    out = sent(
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "\n", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": ""},
        {"role": "user", "content": " "},
    )
    assert [message["role"] for message in out] == ["user", "assistant", "user"]
    assert [part["type"] for part in out[1]["content"]] == ["tool_use"]
    assert [part["type"] for part in out[2]["content"]] == ["tool_result"]
    assert all(text.strip() for text in texts(out))


@pytest.mark.case("REQ-004")
@pytest.mark.req("S3-24")
def test_a_user_turn_that_would_be_gone_gets_the_placeholder() -> None:
    out = sent(
        {"role": "user", "content": " "}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": ""}
    )
    assert [(message["role"], message["content"]) for message in out] == [
        ("user", "(nothing said)"),
        ("assistant", "Yes?"),
        ("user", "(nothing said)"),
    ]
    request = Request(messages=(user(" "), assistant("Yes?"), user("x")))
    assert repair(request, "messages", placeholder="…").request.messages[0] == user("…")


# S3-24: what stands in an assistant's turn, and what is left of it; None: the message is gone.
SIX: dict[str, tuple[Message, Message | None]] = {
    "a message of an empty string": (assistant(""), None),
    "an empty text beside another": (assistant("", "a"), assistant("a")),
    "reasoning of white space without a state": (assistant(Reasoning(text=" \n"), "a"), assistant("a")),
    "reasoning with words": (assistant(Reasoning(text="hm"), "a"), assistant(Reasoning(text="hm"), "a")),
    "reasoning without words but with a state": (
        assistant(Reasoning(text="", opaque=SIGNED), Reasoning(redacted=True), "a"),
        assistant(Reasoning(text="", opaque=SIGNED), Reasoning(redacted=True), "a"),
    ),
    "nothing left": (assistant(Reasoning(text=""), " "), None),
}


@pytest.mark.req("S3-24")
@pytest.mark.parametrize("case", SIX)
def test_what_says_nothing_is_left_out_and_what_holds_a_state_stays(case: str) -> None:
    before, after = SIX[case]
    request = Request(messages=(user("x"), before, user("y")))
    repaired = repair(request, "messages").request
    assert repaired.messages == (user("x"), *(() if after is None else (after,)), user("y"))
    assert not [finding for finding in check(repaired, "messages") if finding.fixable]


@pytest.mark.req("S3-24")
def test_an_empty_part_of_a_result_or_of_the_system_prompt_is_left_out_too() -> None:
    answer = ToolResult(call_id="c1", content=(Text(text=""), Text(text="ok")))
    request = Request(messages=(system(" "), user("x"), assistant(ToolCall.of("c1", "f", {})), tool(answer)))
    repaired = repair(request, "messages").request
    assert repaired.messages[0] == user("x")
    assert repaired.messages[2] == tool(ToolResult(call_id="c1", content=(Text(text="ok"),)))


def test_a_last_assistant_text_is_sent_without_the_white_space_at_its_end() -> None:
    request = Request(messages=(user("x"), assistant('{"a": \n')))
    assert repair(request, "messages").request.messages[1] == assistant('{"a":')
    assert repair(request, "chat").request is request


def test_an_assistant_message_of_nothing_is_not_sent_on_chat() -> None:
    request = Request(messages=(user("x"), assistant(""), user("y")))
    assert repair(request, "chat").request.messages == (user("x"), user("y"))
    refers = Message(role="assistant", content=(), opaque={"chat": {"audio": {"id": "audio_1"}}})
    kept = Request(messages=(user("x"), refers, user("y")))
    assert repair(kept, "chat").request is kept
