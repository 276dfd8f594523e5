"""Guards requests on the messages wire: a client's own body comes back as it was, another wire's is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import RemoteError
from dragoman.types import (
    Cache,
    Media,
    Output,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    user,
)
from messages_body import WIRE, ask, body, both_ways, read, said, send, told

READ = Tool(name="read_file", description="Reads.", parameters={"type": "object", "properties": {}})
SHOT = Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")
SHOT_PART = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def test_arguments_beyond_a_double_keep_their_bytes_both_ways() -> None:
    raw = b'{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":%s}]}]}'
    text = b'{"n": 1e400,  "k":123456789012345678901234567890}'
    request = read(raw % text)
    call = request.messages[0].content[0]
    assert call == ToolCall(id="t", name="f", arguments=text.decode())
    assert text in send(request).http.body


def test_arguments_that_a_client_escaped_are_read_unescaped() -> None:
    request = read(
        b'{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"q": "\\u4f60"}}]}]}'
    )
    assert request.messages[0].content[0] == ToolCall(id="t", name="f", arguments='{"q": "你"}')


def test_tool_names_are_made_legal_everywhere_and_come_back() -> None:
    named = Tool(name="mcp.files/read", parameters={"type": "object"})
    choice = ToolChoice(mode="required", names=("mcp.files/read",))
    sent = send(ask(user("x"), assistant(ToolCall.of("t", "mcp.files/read", {})), tools=(named,), tool_choice=choice))
    out = json.loads(sent.http.body)
    made = out["tools"][0]["name"]
    assert made.startswith("mcp_files_read_")
    assert out["messages"][1]["content"][0]["name"] == out["tool_choice"]["name"] == made
    reply = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": made, "input": {}}],
    }
    decoded = WIRE.decode_reply(json.dumps(reply).encode(), BASE, sent.exchange).value
    assert decoded.calls == (ToolCall(id="1", name="mcp.files/read", arguments="{}"),)


@pytest.mark.parametrize(
    "value",
    [
        said(
            {"type": "text", "text": "x"},
            system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        ),
        said({"type": "text", "text": "x"}, system=""),
        said("x", role="user")
        | {"messages": [{"role": "system", "content": "first"}, {"role": "user", "content": "x"}]},
        said({"type": "text", "text": "x"}, thinking={"type": "enabled", "budget_tokens": 99, "display": "omitted"}),
        said(
            {"type": "text", "text": "x"},
            thinking={"type": "adaptive"},
            output_config={"effort": "high", "task_budget": 1},
        ),
        said({"type": "text", "text": "x"}, thinking={"type": "disabled"}),
        said(
            {"type": "text", "text": "x"},
            cache_control={"type": "ephemeral", "ttl": "1h"},
            metadata={"user_id": "u", "k": 1},
        ),
        said({"type": "text", "text": "x"}, tool_choice={"type": "any", "disable_parallel_tool_use": False}),
        said({"type": "text", "text": "x"}, output_format={"type": "json_schema", "schema": {}}),
        said({"type": "text", "text": "before"}, {"type": "tool_result", "tool_use_id": "t"}),
        said({"type": "tool_result", "tool_use_id": "t", "content": []}, {"type": "text", "text": "after"}),
        said({"type": "tool_result", "tool_use_id": "t", "content": ""}),
        said({"type": "document", "source": {"type": "content", "content": "x"}, "title": "t"}),
        said(
            {"type": "document", "source": {"type": "text", "data": "x"}, "title": "t", "citations": {"enabled": True}}
        ),
        said({"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}, role="assistant"),
        said({"type": "text", "text": "x", "citations": None, "new": [1]}, {"type": "of_tomorrow", "x": 1}),
        said({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}, role="assistant"),
        said({"type": "mcp_tool_result", "tool_use_id": "s", "is_error": True, "content": []}, role="assistant"),
        said({"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking"}, role="assistant"),
        said({"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}, role="system"),
        said(
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "f"}}}, role="system"
        ),
    ],
    ids=lambda value: json.dumps(value)[60:120],
)
def test_a_clients_own_body_comes_back_as_it_was(value: dict[str, Any]) -> None:
    if isinstance(value["messages"][0]["content"], list) and value["messages"][0]["content"] == ["x"]:
        value["messages"][0]["content"] = "x"
    assert both_ways(value) == value


def test_results_and_words_of_one_turn_are_one_tool_message() -> None:
    result, text = {"type": "tool_result", "tool_use_id": "t", "content": "1"}, {"type": "text", "text": "and?"}
    message = read(said(text, result)).messages[0]
    assert message.role == "tool"
    assert message.content == (ToolResult(call_id="t", content=(Text(text="1"),)), Text(text="and?"))
    separate = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [result]}] * 2}
    assert both_ways(separate) == separate


def test_the_typed_fields_say_what_the_body_said() -> None:
    request = read(
        said(
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
            system="s",
            stop_sequences=["a"],
            temperature=0.5,
            service_tier="auto",
            metadata={"user_id": "u"},
            thinking={"type": "enabled", "budget_tokens": 1024},
            output_config={"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
            tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
            stream=True,
        ),
        ("Anthropic-Beta", "a"),
        ("anthropic-beta", "b"),
    )
    assert (request.system, request.stop, request.tier, request.user) == ("s", ("a",), "auto", "u")
    assert (request.budget, request.effort, request.parallel_tools, request.stream) == (1024, "high", False, True)
    assert request.output == Output(kind="schema", schema={"type": "object"})
    assert (request.max_output, request.sampling.temperature) == (9, 0.5)
    assert request.tool_choice is not None and request.tool_choice.names == ("f",)
    assert request.messages[1].content == (Text(text="x", cache=Cache()),)
    assert send(request).http.header("anthropic-beta") == "a,b"


def test_a_turn_to_be_continued_is_told_from_one_that_was_paused() -> None:
    text = {"type": "text", "text": "The answer is ("}
    hosted = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert read(said(text, role="assistant")).messages[0].prefill is True
    assert read(said(hosted, text, role="assistant")).messages[0].prefill is None


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        (ToolChoice(mode="auto"), None, {"type": "auto"}),
        (ToolChoice(mode="none"), False, {"type": "none"}),
        (ToolChoice(mode="required"), True, {"type": "any"}),
        (
            ToolChoice(mode="required", names=("read_file",)),
            False,
            {"type": "tool", "name": "read_file", "disable_parallel_tool_use": True},
        ),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (None, None, None),
    ],
)
def test_five_intents(choice: ToolChoice | None, parallel: bool | None, expected: Any) -> None:
    request = ask(user("x"), tools=(READ,), tool_choice=choice, parallel_tools=parallel)
    assert body(request).get("tool_choice") == expected


@pytest.mark.parametrize(
    ("takes", "choice", "expected", "lost"),
    [
        (("auto",), ToolChoice(mode="required"), {"type": "auto"}, [("tool_choice",)]),
        (("auto",), ToolChoice(mode="none"), {"type": "auto"}, [("tool_choice",)]),
        (("auto",), ToolChoice(mode="required", names=("read_file",)), {"type": "auto"}, [("tool_choice",)]),
        (("auto", "required"), ToolChoice(mode="required", names=("read_file",)), {"type": "any"}, [("tool_choice",)]),
        (
            ("auto", "named"),
            ToolChoice(mode="required", names=("read_file",)),
            {"type": "tool", "name": "read_file"},
            [],
        ),
        (("auto", "named"), ToolChoice(mode="required"), {"type": "auto"}, [("tool_choice",)]),
        (("none",), ToolChoice(mode="required"), None, [("tool_choice",)]),
        (("none",), ToolChoice(mode="none"), {"type": "none"}, []),
    ],
)
@pytest.mark.parametrize("serial", [None, False])
def test_a_choice_that_a_server_does_not_take_is_the_nearest_it_does(
    takes: Any, choice: ToolChoice, expected: Any, lost: list[Any], serial: bool | None
) -> None:
    sent = send(ask(user("x"), tools=(READ,), tool_choice=choice, parallel_tools=serial), tool_choices=takes)
    if serial is False and choice.mode != "none":
        lost = [*lost, ("parallel_tools",)] if expected is None else lost
        expected = expected and {**expected, "disable_parallel_tool_use": True}
    out = json.loads(sent.http.body)
    assert (out.get("tool_choice"), [note.path for note in sent.notes if note.loss]) == (expected, lost)
    assert [tool["name"] for tool in out["tools"]] == ["read_file"]


@pytest.mark.parametrize("form", [{"type": "some_tool"}, {"type": 5}, "auto", None, [], {"type": ["any"]}])
def test_a_choice_of_no_known_form_goes_to_a_server_of_few_choices_as_it_was_said(form: Any) -> None:
    request = read(said({"type": "text", "text": "x"}, tool_choice=form))
    assert body(request, tool_choices=("none",))["tool_choice"] == form


def test_a_choice_among_several_offers_only_those() -> None:
    tools = tuple(Tool(name=name, parameters={"type": "object"}) for name in "abc")
    sent = send(ask(user("x"), tools=tools, tool_choice=ToolChoice(mode="required", names=("a", "c"))))
    out = json.loads(sent.http.body)
    assert ([entry["name"] for entry in out["tools"]], out["tool_choice"]) == (["a", "c"], {"type": "any"})
    assert told(sent) == [(("tool_choice", "names"), "substituted", False), (("tools", 1), "dropped", False)]


def test_a_custom_tool_is_a_function_of_one_string_and_its_call_comes_back_as_text() -> None:
    custom = Tool(name="sql", kind="custom")
    sent = send(
        ask(user("x"), assistant(ToolCall(id="t", name="sql", arguments="select 1", kind="custom")), tools=(custom,))
    )
    assert json.loads(sent.http.body)["messages"][1]["content"][0]["input"] == {"input": "select 1"}
    reply = {"content": [{"type": "tool_use", "id": "1", "name": "sql", "input": {"input": "select 2"}}]}
    call = WIRE.decode_reply(json.dumps(reply).encode(), BASE, sent.exchange).value.calls[0]
    assert (call.kind, call.arguments) == ("custom", "select 2")


@pytest.mark.req("S0-62", "S3-01")
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"input": "x"}, "input"),
        ({"messages": "x"}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "assistant", "content": None, "tool_calls": []}]}, "messages[0].tool_calls"),
        (said({"type": "image_url", "image_url": {"url": "x"}}), "messages[0].content[0]"),
        (
            said({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "input_text"}]}),
            "messages[0].content[0].content[0]",
        ),
        (said({"type": "tool_use", "id": "t"}, role="assistant"), "messages[0].content[0].name"),
        (said({"type": "text", "text": "x"}, tools=[{"type": "function", "function": {"name": "f"}}]), "tools[0]"),
        (said({"type": "text", "text": "x"}, system={"a": 1}), "system"),
    ],
)
def test_a_body_of_another_wire_is_refused_with_the_place(value: Any, place: str) -> None:
    with pytest.raises(RemoteError) as caught:
        read(value)
    assert str(caught.value).startswith(f"{place}: ")


def test_a_dialects_facts_change_their_one_place() -> None:
    request = ask(user("x"), stop=("a", "b"), tier="auto", tools=(Tool(name="f", strict=True),))
    out = body(request, max_stop=1, unsupported=["service_tier"], strict_tools="omit")
    assert (out["stop_sequences"], "service_tier" in out, "strict" in out["tools"][0]) == (["a"], False, False)
    assert body(Request(model="m"), default_max_output=5)["max_tokens"] == 5
    assert body(Request(model="m", budget=100), default_max_output=5)["max_tokens"] == 105
