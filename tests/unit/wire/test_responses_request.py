"""Guards requests on the responses wire: what a body means, what comes out again, and bodies of other wires refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.errors import RemoteError
from dragoman.types import (
    Cache,
    Foreign,
    HostedCall,
    HostedTool,
    Media,
    Message,
    Output,
    Reasoning,
    Refusal,
    Request,
    Sampling,
    ServerState,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
    user,
)
from responses_body import ask, body, both_ways, incoming, read, send

R = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Think."}]}
C = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUT = {"type": "function_call_output", "call_id": "call_1", "output": "text"}
H = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "天气"}}

SCHEMA = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True, "description": "d"}
NAMESPACE = {
    "type": "namespace",
    "name": "crm",
    "description": "Customers.",
    "tools": [
        {"type": "function", "name": "find", "parameters": {}, "strict": None},
        {"type": "function", "name": "list", "description": "", "parameters": {}, "strict": False},
    ],
}
CUSTOM = {"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}
EVERYTHING = {
    "model": "m",
    "instructions": "根据项目文件回答用户的问题。",
    "input": "hi",
    "tools": [NAMESPACE, CUSTOM, {"type": "web_search", "filters": None}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "sql"}]},
    "parallel_tool_calls": False,
    "max_output_tokens": 7,
    "temperature": 0,
    "top_p": 0.5,
    "top_logprobs": 2,
    "reasoning": {"effort": "low", "summary": "auto", "context": "all_turns"},
    "text": {"format": SCHEMA, "verbosity": "low"},
    "previous_response_id": "resp_0",
    "conversation": {"id": "conv_1"},
    "metadata": {"run": "1"},
    "store": False,
    "service_tier": "flex",
    "user": "u",
    "prompt_cache_key": "k",
    "include": ["reasoning.encrypted_content"],
    "truncation": "auto",
    "background": None,
    "stream": True,
}


def opaque(**left: Any) -> dict[str, Any]:
    return {"responses": left}


def test_a_run_of_items_is_one_message_in_its_order() -> None:
    second = {**C, "id": "fc_2", "call_id": "call_2"}
    messages = read(
        {"role": "user", "content": "hi"},
        {**R, "encrypted_content": "gAAA"},
        C,
        {**R, "id": "rs_2", "summary": []},
        second,
        OUT,
        {**OUT, "call_id": "call_2", "output": [{"type": "input_text", "text": "a"}]},
    ).messages
    assert messages == (
        Message(role="user", content=(Text(text="hi"),)),
        Message(
            role="assistant",
            content=(
                Reasoning(summary=("Think.",), opaque=opaque(id="rs_1", encrypted_content="gAAA")),
                ToolCall(id="call_1", name="read", arguments="{}", opaque=opaque(id="fc_1")),
                Reasoning(summary=(), opaque=opaque(id="rs_2")),
                ToolCall(id="call_2", name="read", arguments="{}", opaque=opaque(id="fc_2")),
            ),
        ),
        Message(role="tool", content=(ToolResult(call_id="call_1", content=(Text(text="text"),)),)),
        Message(
            role="tool",
            content=(
                ToolResult(
                    call_id="call_2", content=(Text(text="a"),), opaque={"responses": {"~": {"content": "list"}}}
                ),
            ),
        ),
    )


def test_message_items_of_a_model_are_texts_with_their_phase_and_their_item() -> None:
    said = {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "phase": "commentary",
        "content": [
            {"type": "output_text", "text": "One", "annotations": []},
            {"type": "refusal", "refusal": "No."},
        ],
    }
    easy = {"role": "assistant", "content": "Two"}
    (message,) = read(said, easy).messages
    item = {"type": "message", "id": "msg_1", "status": "completed", "~": {"content": "list"}}
    assert message.content == (
        Text(text="One", phase="commentary", opaque={"responses": {"annotations": [], "~item": item}}),
        Refusal(text="No."),
        Text(text="Two", opaque={"responses": {"~item": {}}}),
    )
    body = {"model": "m", "input": [said, easy]}
    assert both_ways(body) == body


def test_who_answers_a_call_decides_what_it_is() -> None:
    shell = {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}, "status": "completed"}
    remote = {**shell, "call_id": "s2", "environment": {"type": "container_reference", "container_id": "c"}}
    output = [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    search = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"paths": ["x"]}}
    items = [
        *(H, shell, {"type": "shell_call_output", "call_id": "s1", "output": output}),
        *(remote, {"type": "shell_call_output", "call_id": "s2", "output": output}),
        *(search, {"type": "compaction", "id": "cmp_1", "encrypted_content": "gA"}),
        *({**search, "call_id": "t1", "execution": "client"}, {"type": "item_reference", "id": "rs_9"}),
    ]
    messages = read(*items).messages
    kinds = [[type(block).__name__ for block in message.content] for message in messages]
    assert kinds == [
        ["HostedCall", "ToolCall"],
        ["ToolResult"],
        ["HostedCall", "HostedResult", "HostedCall", "Foreign", "ToolCall", "Foreign"],
    ]
    hosted, call = messages[0].content
    assert hosted == HostedCall(
        id="ws_1",
        name="web_search_call",
        payload={"status": "completed", "action": {"type": "search", "query": "天气"}},
    )
    assert call == ToolCall(
        id="s1", name="shell_call", arguments='{"commands":["ls"]}', kind="builtin", opaque=opaque(status="completed")
    )
    assert messages[2].content[3] == Foreign(wire="responses", kind="compaction", payload=items[6])
    assert both_ways({"model": "m", "input": items}) == {"model": "m", "input": items}


def test_tools_that_appear_in_mid_conversation() -> None:
    tool = {"type": "function", "name": "late", "parameters": {"type": "object"}, "strict": False}
    added = {"type": "additional_tools", "role": "developer", "tools": [tool]}
    call = {"type": "tool_search_call", "call_id": "t1", "execution": "client", "arguments": {"query": "x"}}
    found = {
        "type": "tool_search_output",
        "call_id": "t1",
        "execution": "client",
        "status": "completed",
        "tools": [tool],
    }
    late = Tool(name="late", parameters={"type": "object"}, strict=False)
    messages = read(added, call, found).messages
    assert messages[0] == Message(role="developer", content=(ToolsChange(add=(late,)),))
    result, change = messages[2].content
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.kind, change) == ("t1", "builtin", ToolsChange(add=(late,)))
    assert both_ways({"model": "m", "input": [added, call, found]}) == {"model": "m", "input": [added, call, found]}


def test_every_parameter_is_read_and_written() -> None:
    got = incoming(EVERYTHING)
    crm = [
        Tool(
            name="find",
            namespace="crm",
            parameters={},
            opaque=opaque(strict=None, **{"~namespace": {"description": "Customers."}}),
        ),
        Tool(name="list", namespace="crm", parameters={}, description="", strict=False),
    ]
    assert got.request == Request(
        model="m",
        messages=(
            Message(role="system", content=(Text(text="根据项目文件回答用户的问题。"),)),
            Message(role="user", content=(Text(text="hi"),)),
        ),
        tools=(
            *crm,
            Tool(name="sql", kind="custom", opaque=opaque(format=CUSTOM["format"])),
            HostedTool(wire="responses", kind="web_search", payload={"type": "web_search", "filters": None}),
        ),
        tool_choice=ToolChoice(
            mode="auto", names=("sql",), opaque={"responses": {"~": {"kinds": ["custom"], "allowed": True}}}
        ),
        parallel_tools=False,
        max_output=7,
        sampling=Sampling(temperature=0, top_p=0.5),
        top_logprobs=2,
        effort="low",
        output=Output(kind="schema", name="answer", schema={"type": "object"}, strict=True, description="d"),
        verbosity="low",
        state=ServerState(previous_id="resp_0", conversation={"id": "conv_1"}),
        metadata={"run": "1"},
        store=False,
        tier="flex",
        user="u",
        cache_key="k",
        stream=True,
        opaque=opaque(
            **{"~reasoning": {"summary": "auto", "context": "all_turns"}},
            truncation="auto",
            background=None,
            **{"~": {"include": "reasoning.encrypted_content", "input": "string"}},
        ),
    )
    assert got.exchange.echo["reasoning"] == EVERYTHING["reasoning"]
    assert "stream" not in got.exchange.echo
    assert both_ways(EVERYTHING) == EVERYTHING


def test_media_by_data_address_and_id() -> None:
    parts = [
        {"type": "input_text", "text": "Look", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        {"type": "input_image", "file_id": "file_1", "image_url": None},
        {"type": "input_file", "filename": "报告.pdf", "file_data": "data:application/pdf;base64,JVBE"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}},
    ]
    (message,) = read({"role": "user", "content": parts}).messages
    marked = {"responses": {"~": {"detail": "absent"}, "image_url": None}}
    assert message.content == (
        Text(text="Look", cache=Cache(ttl="30m"), opaque={"responses": {"~": {"cache": "breakpoint"}}}),
        Media(kind="image", media_type="image/png", data="AAAA", detail="low"),
        Media(kind="image", file_id="file_1", opaque=marked),
        Media(kind="document", media_type="application/pdf", data="JVBE", name="报告.pdf"),
        Media(kind="document", url="https://example.org/a.pdf"),
        Media(kind="audio", media_type="audio/mpeg", data="UklG", opaque={"responses": {"~": {"said": True}}}),
    )
    body = {"model": "m", "input": [{"role": "user", "content": parts}]}
    assert both_ways(body) == body


def test_a_prompt_needs_neither_model_nor_input() -> None:
    body = {"prompt": {"id": "pmpt_1", "variables": {"city": "上海"}}}
    assert incoming(body).request.messages == ()
    assert both_ways(body) == body


@pytest.mark.req("S3-01")
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"messages": []}, ("messages",)),
        ({"system": "x", "input": []}, ("system",)),
        ({"input": {"role": "user"}}, ("input",)),
        ({"input": ["hi"]}, ("input", 0)),
        ({"input": [{"role": "tool", "content": "x"}]}, ("input", 0, "role")),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, ("input", 0, "content", 0)),
        ({"input": [{"role": "user", "content": [{"type": "tool_result"}]}]}, ("input", 0, "content", 0)),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, ("input", 0, "name")),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": 5}]}, ("input", 0, "output")),
        ({"input": [], "tools": [{"type": "function", "function": {"name": "f"}}]}, ("tools", 0, "function")),
        ({"input": [], "tools": [{"name": "f", "input_schema": {}}]}, ("tools", 0)),
    ],
)
def test_a_body_of_another_wire_is_refused_with_its_place(body: dict[str, Any], place: tuple[Any, ...]) -> None:
    with pytest.raises(RemoteError) as caught:
        incoming(body)
    assert (caught.value.code, caught.value.path) == ("bad_shape", place)


@pytest.mark.parametrize(
    ("takes", "choice", "expected", "lost"),
    [
        (("auto",), ToolChoice(mode="required"), "auto", 1),
        (("auto", "required"), ToolChoice(mode="required", names=("f",)), "required", 1),
        (("auto", "named"), ToolChoice(mode="required", names=("f",)), {"type": "function", "name": "f"}, 0),
        (("auto", "named"), ToolChoice(mode="auto", names=("f",)), "auto", 1),
        (("none",), ToolChoice(mode="required"), None, 1),
        (("none",), None, None, 0),
    ],
)
def test_a_choice_that_a_server_does_not_take_is_the_nearest_it_does(
    takes: Any, choice: ToolChoice | None, expected: Any, lost: int
) -> None:
    tools = (Tool(name="f", parameters={"type": "object"}),)
    sent = send(ask(user("x"), tools=tools, tool_choice=choice), tool_choices=takes)
    out = json.loads(sent.http.body)
    assert (out.get("tool_choice"), [note.path for note in sent.notes if note.loss]) == (
        expected,
        [("tool_choice",)] * lost,
    )


@pytest.mark.parametrize("form", [{"type": "web_search"}, {"type": 5}, "someday", None, 5, []])
def test_a_choice_of_no_known_form_goes_to_a_server_of_few_choices_as_it_was_said(form: Any) -> None:
    request = read({"role": "user", "content": "x"}, tool_choice=form)
    assert body(request, tool_choices=("none",))["tool_choice"] == form
