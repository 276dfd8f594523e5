"""Guards histories of other wires on the responses wire: what each message becomes, and what is told of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import (
    Cache,
    Json,
    Media,
    Message,
    Reasoning,
    Request,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    ToolsChange,
    assistant,
    system,
    tool,
    user,
)
from dragoman.types.base import Origin
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from responses_body import ask, body, items, read, send, told

READ = Tool(name="read_file", description="Reads.", parameters={"type": "object", "properties": {}})
SHOT = Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")


def chat_conversation() -> Request:
    """The conversation of S3-02: five chat messages, two parallel calls and their results."""
    call = {"type": "function", "function": {"name": "read_file", "arguments": '{"path": "dateparse.py"}'}}
    value = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Work rules."},
            {"role": "user", "content": "Read dateparse.py and test_dateparse.py."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a", **call}, {"id": "b", **call}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
        ],
        "tools": [{"type": "function", "function": {"name": "read_file"}}],
    }
    return find("chat").decode_request(Http(body=json.dumps(value).encode()), BASE, Exchange()).request


@pytest.mark.req("S3-03", "S3-05", "S3-07", "C-12")
def test_five_chat_messages_are_five_items_and_instructions_or_six_items() -> None:
    request = chat_conversation()
    call = {"type": "function_call", "name": "read_file", "arguments": '{"path": "dateparse.py"}'}
    rest: list[Any] = [
        {"role": "user", "content": "Read dateparse.py and test_dateparse.py."},
        {"call_id": "a", **call},
        {"call_id": "b", **call},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
    ]
    no_parameters = {"type": "object", "properties": {}}
    tools = [{"type": "function", "name": "read_file", "parameters": no_parameters, "strict": False}]
    assert body(request) == {"model": "m", "instructions": "Work rules.", "input": rest, "tools": tools}
    as_item = [{"role": "system", "content": "Work rules."}, *rest]
    assert body(request, system_as_item=True) == {"model": "m", "input": as_item, "tools": tools}
    assert told(send(request).notes) == []


def test_what_an_assistant_of_another_wire_said() -> None:
    thought = Reasoning(text="Hm.", opaque={"messages": {"signature": "s"}})
    said = Message(
        role="assistant",
        content=(thought, Text(text="One"), Text(text="Two", citations=({"type": "char_location"},)), SHOT),
        origin=Origin(wire="messages", model="claude"),
    )
    request = ask(user("hi"), said)
    assert body(request)["input"] == [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "One"},
        {"type": "message", "role": "assistant", "content": "Two"},
    ]
    place = ("messages", 1, "content")
    assert told(send(request).notes) == [
        ((*place, 0), "dropped", True),
        ((*place, 2, "citations"), "dropped", True),
        ((*place, 3), "dropped", True),
    ]


def test_own_reasoning_goes_back_whole_to_its_own_model_only() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    (turn,) = read(item, call).messages
    here = Message(role="assistant", content=turn.content, origin=Origin(wire="responses", model="m"))
    elsewhere = Message(role="assistant", content=turn.content, origin=Origin(wire="responses", model="other"))
    assert items(here) == [item, call]
    assert items(elsewhere) == [{key: value for key, value in call.items() if key != "id"}]
    assert [(path, loss) for path, _, loss in told(send(ask(elsewhere)).notes)] == [
        (("messages", 0, "content", 0), True),
        (("messages", 0, "content", 1), False),
    ]


def test_results_are_text_or_parts_and_the_item_of_their_call() -> None:
    calls = assistant(
        ToolCall(id="a", name="f", arguments="{}"),
        ToolCall(id="b", name="sql", arguments="select 1", kind="custom"),
        ToolCall(id="c", name="shell_call", arguments='{"commands":["ls"]}', kind="builtin"),
        ToolCall(id="d", name="apply_patch_call", arguments='{"type":"delete_file","path":"x"}', kind="builtin"),
    )
    results = tool(
        ToolResult(call_id="a", content=(Text(text="1"), Json(value='{"n":2}')), name="f", is_error=True),
        ToolResult(call_id="a", content=(Text(text="see"), SHOT)),
        ToolResult(call_id="a", content=()),
        ToolResult(call_id="b", content=(Text(text="1 row"),)),
        ToolResult(call_id="c", content=(Text(text="README.md"),), is_error=False),
        ToolResult(call_id="d", content=(Text(text="gone"),), is_error=True),
    )
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    stdout = {"stdout": "README.md", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    patched = {"type": "apply_patch_call_output", "call_id": "d", "output": "gone", "status": "failed"}
    assert items(calls, results)[2:] == [
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "call_id": "d", "operation": {"type": "delete_file", "path": "x"}},
        {"type": "function_call_output", "call_id": "a", "output": '1\n{"n":2}'},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "see"}, image]},
        {"type": "function_call_output", "call_id": "a", "output": "(no tool output)"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "1 row"},
        {"type": "shell_call_output", "call_id": "c", "output": [stdout]},
        patched,
    ]
    losses = [path for path, _, loss in told(send(ask(calls, results)).notes) if loss]
    assert losses == [("messages", 1, "content", 0, "is_error"), ("messages", 1, "content", 5, "is_error")]


def test_what_stands_beside_results_is_a_user_message() -> None:
    turn = Message(role="tool", content=(ToolResult(call_id="a", content=(Text(text="1"),)), Text(text="And now?")))
    assert items(turn) == [
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"role": "user", "content": "And now?"},
    ]
    assert told(send(ask(turn)).notes) == [(("messages", 0), "moved", False)]


def test_tools_in_mid_conversation_and_cache_hints() -> None:
    change = Message(role="system", content=(ToolsChange(add=(READ,), remove=("old",)), Text(text="New tool.")))
    flat = {"type": "function", "name": "read_file", "description": "Reads.", "parameters": READ.parameters}
    hinted = Message(role="user", content=(Text(text="long", cache=Cache()),))
    assert items(change, hinted) == [
        {"type": "additional_tools", "role": "system", "tools": [{**flat, "strict": False}]},
        {"role": "system", "content": "New tool."},
        {"role": "user", "content": "long"},
    ]
    assert told(send(ask(change, hinted)).notes) == [
        (("messages", 0, "content", 0, "remove"), "dropped", True),
        (("messages", 1, "content", 0, "cache"), "dropped", True),
    ]
    part = {"type": "input_text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert items(hinted, cache_style="breakpoint") == [{"role": "user", "content": [part]}]


def test_parameters_without_a_key_are_told() -> None:
    sampling = Sampling(top_k=4, seed=7, presence_penalty=0)
    request = ask(user("hi"), sampling=sampling, stop=("END",), n=1, budget=9)
    assert body(request) == {"model": "m", "input": [{"role": "user", "content": "hi"}]}
    assert told(send(request).notes) == [
        (("sampling", "top_k"), "dropped", True),
        (("sampling", "seed"), "dropped", True),
        (("sampling", "presence_penalty"), "dropped", False),
        (("stop",), "dropped", True),
        (("budget",), "dropped", True),
        (("n",), "dropped", False),
    ]


def test_a_dialect_changes_its_one_place() -> None:
    request = ask(system("Rules."), user("hi"), sampling=Sampling(temperature=1.5), effort="max", max_output=9)
    facts: dict[str, Any] = {
        "temperature_max": 1.0,
        "effort_map": {"max": "high"},
        "unsupported": ("max_output_tokens",),
    }
    assert body(request, system_as_item=True, instruction_role="developer", **facts) == {
        "model": "m",
        "input": [{"role": "developer", "content": "Rules."}, {"role": "user", "content": "hi"}],
        "temperature": 1.0,
        "reasoning": {"effort": "high"},
    }
