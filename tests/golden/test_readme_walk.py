"""The README walk-through of source S0 (appendix A.1): two requests, byte for byte, and what stands around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.types import (
    Media,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Valid,
    assistant,
    system,
    tool,
    user,
)
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from golden.written import READ, body, compact, history

CALL = ToolCall.of("t1", "read", {"path": "README.md"})


def fixture(shared: Path, name: str) -> Any:
    return json.loads((shared / "fixtures" / name).read_text(encoding="utf-8"))


def said(shared: Path) -> tuple[str, str, str]:
    """The three texts of the walk-through: system, task, result."""
    messages = fixture(shared, "s0-request-2.json")
    return messages[0]["content"], messages[1]["content"], messages[3]["content"]


def messages_of(http: Http) -> bytes:
    """The array of messages as it stands in a body, byte for byte."""
    return bytes(msgspec.json.decode(http.body, type=dict[str, msgspec.Raw])["messages"])


@pytest.mark.req("S0-63", "S0-27", "S0-29")
def test_the_first_request(shared: Path) -> None:
    prompt, task, _ = said(shared)
    out = find("chat").encode_request(Request(messages=(system(prompt), user(task))), BASE, Exchange())
    assert messages_of(out.http) == compact(fixture(shared, "s0-request-1.json"))


@pytest.mark.req("S0-64", "S0-33", "S0-34")
def test_the_second_request(shared: Path) -> None:
    prompt, task, result = said(shared)
    answered = ToolResult(call_id="t1", content=(Text(text=result),))
    request = Request(messages=(system(prompt), user(task), assistant(CALL), tool(answered)))
    out = find("chat").encode_request(request, BASE, Exchange())
    assert messages_of(out.http) == compact(fixture(shared, "s0-request-2.json"))


@pytest.mark.req("S0-51", "S0-52")
def test_the_definition_of_the_read_tool(shared: Path) -> None:
    wanted = fixture(shared, "s0-tool-read.json")
    said = wanted["function"]
    offered = Tool(name=said["name"], description=said["description"], parameters=said["parameters"])
    assert body("chat", Request(messages=(user("x"),), tools=(offered,)))["tools"] == [wanted]


@pytest.mark.req("S0-12", "S0-54")
def test_the_body_around_the_messages() -> None:
    choice = ToolChoice(mode="auto")
    asked = Request(model="m", messages=(user("x"),), tools=(READ,), tool_choice=choice, max_output=99, stream=True)
    assert body("chat", asked) == {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": READ.description, "parameters": READ.parameters},
            }
        ],
        "tool_choice": "auto",
        "max_tokens": 99,
        "stream": True,
    }


@pytest.mark.req("S0-14")
def test_where_a_chat_request_goes() -> None:
    http = find("chat").encode_request(Request(messages=(user("x"),)), BASE, Exchange()).http
    assert (http.method, http.path, http.header("content-type")) == ("POST", "chat/completions", "application/json")


@pytest.mark.req("S0-53")
@pytest.mark.parametrize("wire", WIRES)
def test_no_tools_no_key(wire: str) -> None:
    assert body(wire, Request(messages=(user("x"),), max_output=1)).keys().isdisjoint({"tools", "tool_choice"})
    empty = Request(messages=(user("x"),), max_output=1, tools=())
    assert body(wire, empty).keys().isdisjoint({"tools", "tool_choice"})


@pytest.mark.req("S0-16", "S0-17")
@pytest.mark.parametrize("wire", WIRES)
def test_every_request_is_written_anew_with_its_tools(wire: str) -> None:
    first = Request(model="m", messages=(user("x"), assistant(CALL)), tools=(READ,), max_output=9)
    answered = ToolResult(call_id="t1", content=(Text(text="y"),))
    second = msgspec.structs.replace(first, messages=(*first.messages, tool(answered)))
    assert body(wire, first)["tools"] == body(wire, second)["tools"]
    assert body(wire, second) == body(wire, second)


@pytest.mark.req("S0-30")
def test_a_users_text_and_image() -> None:
    image = Media(kind="image", media_type="image/png", data="aWc=")
    assert history("chat", user("look", image)) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWc="}},
            ],
        }
    ]


@pytest.mark.req("S0-32")
def test_two_texts_are_two_lines() -> None:
    assert history("chat", user("x"), assistant("a", "b"))[1] == {"role": "assistant", "content": "a\nb"}


@pytest.mark.req("S0-35", "S0-36")
@pytest.mark.parametrize("text", ["", "Reading."])
@pytest.mark.parametrize("calls", [(), (CALL,)], ids=["no call", "a call"])
def test_content_is_null_only_without_text_beside_calls(text: str, calls: tuple[ToolCall, ...]) -> None:
    written = history("chat", user("x"), assistant(*((text,) if text else ()), *calls))[1]
    assert written["content"] == (None if calls and not text else text)
    assert ("tool_calls" in written) is bool(calls)


@pytest.mark.req("S0-37")
def test_arguments_come_back_as_the_object() -> None:
    wire = find("chat")
    out = wire.encode_request(Request(messages=(user("x"), assistant(CALL))), BASE, Exchange())
    call = wire.decode_request(out.http, BASE, Exchange()).request.messages[1].content[0]
    assert isinstance(call, ToolCall)
    assert call.parsed() == Valid({"path": "README.md"})


@pytest.mark.req("S0-26", "S0-38")
@pytest.mark.parametrize("wire", WIRES)
def test_the_middle_words_stay_inside(wire: str) -> None:
    answered = (ToolResult(call_id="t1", content=(Text(text="y"),)), ToolResult(call_id="t2", content=()))
    asked = assistant(CALL, ToolCall.of("t2", "read", {}))
    text = json.dumps(history(wire, user("x"), asked, tool(*answered)))
    assert all(word not in text for word in ("toolResult", 'tool_call"', '"reasoning"', "call_kind"))
    if wire == "chat":
        assert [m["tool_call_id"] for m in history(wire, user("x"), asked, tool(*answered))[2:]] == ["t1", "t2"]


@pytest.mark.req("S0-49")
def test_a_failure_is_told_in_words_on_chat() -> None:
    failed = ToolResult(call_id="t1", content=(Text(text="README.md 不存在"),), is_error=True)
    written = history("chat", user("x"), assistant(CALL), tool(failed))[2]
    assert written == {"role": "tool", "tool_call_id": "t1", "content": "README.md 不存在"}


@pytest.mark.req("S0-40", "C-31")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ((Text(text="a"), Text(text="b")), "a\nb"),
        ((Media(kind="image", media_type="image/png", data="aWc="),), "(see attached image)"),
        ((), "(no tool output)"),
    ],
    ids=["text", "image", "nothing"],
)
def test_what_a_result_says_without_text(content: Any, said: str) -> None:
    written = history("chat", user("x"), assistant(CALL), tool(ToolResult(call_id="t1", content=content)))
    assert written[2] == {"role": "tool", "tool_call_id": "t1", "content": said}


@pytest.mark.req("S0-57", "S0-58")
def test_the_same_walk_on_messages() -> None:
    request = Request(model="m", max_output=9, messages=(system("s"), user("x"), assistant(CALL)), tools=(READ,))
    written = body("messages", request)
    assert written["system"] == "s"
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "README.md"}}
    assert written["messages"] == [{"role": "user", "content": "x"}, {"role": "assistant", "content": [call]}]


@pytest.mark.req("C-14", "C-15")
def test_a_failure_is_flagged_on_messages_only_and_a_tools_name_is_said_nowhere() -> None:
    failed = ToolResult(call_id="t1", content=(Text(text="gone"),), name="read", is_error=True)
    turns = {wire: history(wire, user("x"), assistant(CALL), tool(failed))[2] for wire in WIRES}
    assert turns == {
        "chat": {"role": "tool", "tool_call_id": "t1", "content": "gone"},
        "messages": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "gone", "is_error": True}],
        },
        "responses": {"type": "function_call_output", "call_id": "t1", "output": "gone"},
    }
    named = body("chat", Request(messages=(user("x"), assistant(CALL), tool(failed))), Dialect(tool_result_name=True))
    assert named["messages"][2]["name"] == "read"


@pytest.mark.req("C-03")
@pytest.mark.parametrize("arguments", [{"path": "a"}, '{"path":"a"}'], ids=["object", "string"])
def test_arguments_of_either_form_are_read_on_chat(arguments: Any) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": arguments}}
    said = json.dumps({"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}).encode()
    (read,) = find("chat").decode_request(Http(body=said), BASE, Exchange()).request.messages[0].content
    assert isinstance(read, ToolCall)
    assert read.arguments == '{"path":"a"}'
    assert history("chat", user("x"), assistant(CALL))[1]["tool_calls"][0]["function"]["arguments"] == CALL.arguments


@pytest.mark.req("S0-61")
def test_a_users_turn_of_results_is_no_users_speech() -> None:
    turn = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "y"}]}
    said = json.dumps({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}, turn]}).encode()
    messages = find("messages").decode_request(Http(body=said), BASE, Exchange()).request.messages
    assert [message.role for message in messages] == ["user", "tool"]
