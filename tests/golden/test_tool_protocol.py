"""Source S1, chapter 7.4: listings 7.4 to 7.6 of the tool protocol, read from beside the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.model import Dialect
from dragoman.types import Message, Request, Sampling, Text, Tool, ToolCall, ToolChoice, Valid, system, user
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from golden.written import READ, body
from laws.both_ways import decode_reply, decode_request


def fixture(shared: Path, name: str) -> Any:
    return json.loads((shared / "fixtures" / name).read_text(encoding="utf-8"))


@pytest.mark.req("S1-11", "S0-28")
def test_listing_7_4(shared: Path) -> None:
    wanted = fixture(shared, "s1-7.04-body.json")
    first, second = (message["content"] for message in wanted["messages"])
    request = Request(model=wanted["model"], messages=(system(first), user(second)))
    assert body("chat", request, Dialect(instruction_role="developer")) == wanted


@pytest.mark.req("S1-10", "S1-09", "S1-05")
def test_listing_7_5(shared: Path) -> None:
    wanted = fixture(shared, "s1-7.05-body.json")
    said = fixture(shared, "s1-7.03-tool.json")["function"]
    offered = Tool(name=said["name"], description=said["description"], parameters=said["parameters"])
    first, second = (message["content"] for message in wanted["messages"])
    request = Request(
        model=wanted["model"],
        messages=(system(first), user(second)),
        tools=(offered,),
        sampling=Sampling(temperature=0),
        parallel_tools=True,
    )
    assert body("chat", request) == wanted


@pytest.mark.req("S1-19")
def test_listing_7_6(shared: Path) -> None:
    reply = decode_reply("chat", fixture(shared, "s1-7.06-choices.json")).value
    (call,) = reply.message.content
    assert isinstance(call, ToolCall)
    assert call.parsed() == Valid({"city": "西安", "unit": "celsius"})
    assert reply.stop.reason == "tool_calls"


@pytest.mark.req("S1-09")
def test_nothing_is_said_that_nobody_asked_for() -> None:
    assert body("chat", Request(model="m", messages=(user("x"),))).keys() == {"model", "messages"}


@pytest.mark.req("S1-12")
def test_five_roles_are_read() -> None:
    roles = ("developer", "system", "user", "assistant", "tool")
    said = [{"role": role, "content": "x", "tool_call_id": "t"} for role in roles]
    assert [message.role for message in decode_request("chat", {"messages": said}).request.messages] == list(roles)


@pytest.mark.req("S1-13", "S1-14", "S1-15", "C-02")
@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (ToolChoice(mode="auto"), "auto"),
        (ToolChoice(mode="none"), "none"),
        (ToolChoice(mode="required"), "required"),
        (ToolChoice(mode="required", names=("read",)), {"type": "function", "function": {"name": "read"}}),
    ],
)
def test_a_choice_is_sent_as_it_is(choice: ToolChoice, wanted: Any) -> None:
    request = Request(messages=(user("x"),), tools=(READ,), tool_choice=choice)
    assert body("chat", request)["tool_choice"] == wanted


@pytest.mark.req("S1-17")
@pytest.mark.parametrize("parallel", [True, False, None])
def test_whether_calls_may_be_parallel(parallel: bool | None) -> None:
    request = Request(messages=(user("x"),), tools=(READ,), parallel_tools=parallel)
    assert body("chat", request).get("parallel_tool_calls") == parallel
    two = [{"id": f"t{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}} for n in (1, 2)]
    message = {"role": "assistant", "content": None, "tool_calls": two}
    assert len(decode_reply("chat", {"choices": [{"message": message}]}).value.calls) == 2


@pytest.mark.req("S1-18", "C-01")
def test_the_legacy_form_is_read_and_stays_the_legacy_form() -> None:
    said: dict[str, Any] = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
            {"role": "function", "name": "read", "content": "y"},
        ],
        "functions": [{"name": "read", "parameters": {"type": "object"}}],
        "function_call": "auto",
    }
    incoming = find("chat").decode_request(Http(body=json.dumps(said).encode()), Dialect(), Exchange())
    call, result = (message.content[0] for message in incoming.request.messages[1:])
    assert isinstance(call, ToolCall)
    assert (call.name, getattr(result, "call_id", None)) == ("read", call.id)
    written = body("chat", incoming.request)
    assert written == said
    assert written.keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})


@pytest.mark.req("S1-18")
def test_a_legacy_reply_is_a_call() -> None:
    message = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
    reply = decode_reply("chat", {"choices": [{"message": message, "finish_reason": "function_call"}]}).value
    assert [call.name for call in reply.calls] == ["read"]
    assert reply.stop.reason == "tool_calls"


@pytest.mark.req("C-26")
def test_a_call_built_from_an_object_is_compact_and_unescaped() -> None:
    assert ToolCall.of("t1", "read", {"path": "说明.md"}).arguments == '{"path":"说明.md"}'
    assert Message(role="assistant", content=(Text(text="x"),)).role == "assistant"
