"""Guards histories of other wires on the messages wire: what each block and turn becomes, and what is told of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import (
    HostedCall,
    Media,
    Message,
    Note,
    Output,
    Reasoning,
    Refusal,
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
from messages_body import ask, body, both_ways, said, send, told, turns

HERE = Origin(wire="messages", model="m")
READ = Tool(name="read_file", description="Reads.", parameters={"type": "object", "properties": {}})
SHOT = Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")
SHOT_PART = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


@pytest.mark.req("S0-57", "S0-58", "S0-59", "S3-03", "S3-05", "S3-06")
def test_five_chat_messages_are_three_here_and_a_prompt() -> None:
    chat = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Work rules."},
            {"role": "user", "content": "Read dateparse.py and test_dateparse.py."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "x.py"}'}},
                    {"id": "b", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"t.py"}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
        ],
        "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}],
    }
    request = find("chat").decode_request(Http(body=json.dumps(chat).encode()), BASE, Exchange()).request
    sent = send(request)
    assert json.loads(sent.http.body) == {
        "model": "m",
        "max_tokens": 8192,
        "system": "Work rules.",
        "messages": [
            {"role": "user", "content": "Read dateparse.py and test_dateparse.py."},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x.py"}},
                    {"type": "tool_use", "id": "b", "name": "read_file", "input": {"path": "t.py"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                ],
            },
        ],
        "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
    }
    assert b'"input":{"path": "x.py"}' in sent.http.body, "arguments keep their bytes (B8)"
    assert told(sent) == [(("messages", 4), "merged", False), (("max_output",), "synthesised", False)]
    assert (sent.http.path, sent.http.header("anthropic-version")) == ("messages", "2023-06-01")


@pytest.mark.req("S0-59", "S0-60", "S0-62")
def test_images_stay_inside_the_results_of_one_user_turn() -> None:
    """Appendix A.2."""
    calls = (ToolCall.of("t1", "read", {"path": "screenshot.png"}), ToolCall.of("t2", "read", {"path": "README.md"}))
    first = ToolResult(call_id="t1", content=(Text(text="Read image file [image/png]"), SHOT))
    second = ToolResult(call_id="t2", content=(Text(text="启动命令:npm run dev"),), is_error=False)
    assert turns(assistant(*calls), tool(first), tool(second)) == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "screenshot.png"}},
                {"type": "tool_use", "id": "t2", "name": "read", "input": {"path": "README.md"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "Read image file [image/png]"}, SHOT_PART],
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "启动命令:npm run dev", "is_error": False},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("null", {}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": "cut', {"_raw": '{"a": "cut'}),
        ("[1]", {"_raw": "[1]"}),
        ('"text"', {"_raw": '"text"'}),
    ],
)
def test_arguments_are_an_object_and_never_silently_empty(arguments: str, expected: Any) -> None:
    sent = send(ask(assistant(ToolCall(id="t", name="f", arguments=arguments))))
    assert json.loads(sent.http.body)["messages"][0]["content"][0]["input"] == expected
    place = ("messages", 0, "content", 0, "arguments")
    assert told(sent) == (
        [] if arguments[:2] == '{"' and "_raw" not in expected else [(place, "substituted", "_raw" in expected)]
    )


def test_ids_are_made_legal_alike_in_call_and_result_and_unique() -> None:
    call, result = ToolCall.of("functions.f:0", "f", {}), ToolResult(call_id="functions.f:0", content=(Text(text="1"),))
    sent = send(ask(assistant(call), tool(result), assistant(call), tool(result)))
    content = [turn["content"][0] for turn in json.loads(sent.http.body)["messages"]]
    ids = [part.get("id") or part["tool_use_id"] for part in content]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert all(id.replace("_", "").isalnum() and id.startswith("functions_f_0_") for id in ids)
    assert sent.exchange.ids == {ids[0]: "functions.f:0", ids[2]: "functions.f:0"}
    assert [(action, loss) for _, action, loss in told(sent)] == [("renamed", False)] * 4
    assert send(ask(assistant(call), tool(result))).http.body[:200] == sent.http.body[:200], "L7"


@pytest.mark.req("S3-24")
def test_what_the_api_refuses_as_empty_is_not_sent_unless_a_client_said_it() -> None:
    sent = send(ask(user("hi"), assistant(""), assistant("", ToolCall.of("t", "f", {})), user(" \n")))
    assert json.loads(sent.http.body)["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    ]
    assert all(not loss for _, _, loss in told(sent)) and len(sent.notes) == 5
    own = said({"type": "text", "text": ""}, {"type": "text", "text": "x"})
    assert both_ways(own) == own


def thoughts(block: Reasoning, origin: Origin | None, **facts: Any) -> tuple[list[Any], tuple[Note, ...]]:
    message = Message(role="assistant", content=(block, Text(text="ok")), origin=origin)
    sent = send(ask(user("x"), message, user("y")), **facts)
    content = json.loads(sent.http.body)["messages"][1]["content"]
    return ([] if isinstance(content, str) else content[:-1]), sent.notes


def test_signed_reasoning_goes_back_verbatim_and_any_other_does_not() -> None:
    signed = Reasoning(text="hm", opaque={"messages": {"signature": "s"}})
    redacted = Reasoning(redacted=True, opaque={"messages": {"data": "d"}})
    unsigned = Reasoning(text="hm", opaque={"messages": {"signature": ""}})
    foreign = Reasoning(text="hm", opaque={"chat": {"~": {"key": ["reasoning"]}}})
    sent = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    assert thoughts(signed, HERE) == (sent, ())
    assert thoughts(signed, None) == (sent, ())
    assert thoughts(redacted, HERE) == ([{"type": "redacted_thinking", "data": "d"}], ())
    assert thoughts(unsigned, None)[0] == [{"type": "thinking", "thinking": "hm", "signature": ""}]
    for block, origin in (
        (unsigned, HERE),
        (foreign, None),
        (foreign, Origin(wire="chat")),
        (signed, Origin(wire="chat")),
    ):
        assert thoughts(block, origin)[0] == []
        assert [(note.path, note.loss) for note in thoughts(block, origin)[1]] == [
            (("messages", 1, "content", 0), True)
        ]
    assert thoughts(unsigned, HERE, replay="required")[0] != []
    assert thoughts(signed, Origin(wire="messages", model="other"))[0] == []


def test_instructions_stand_on_top_and_later_ones_in_their_place() -> None:
    talk = (system("a"), Message(role="developer", content=(Text(text="b"),)), user("hi"), assistant("yo"), system("c"))
    sent = send(ask(*talk))
    out = json.loads(sent.http.body)
    assert out["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert out["messages"][-1] == {"role": "system", "content": "c"}
    assert all(not loss for _, _, loss in told(sent))
    update = "<system-update>\nc\n</system-update>"
    assert turns(*talk, inline_system="user_text")[-1] == {"role": "user", "content": update}
    assert body(ask(*talk), inline_system="merged")["system"][-1] == {"type": "text", "text": "c"}


def test_what_has_no_place_is_noted_where_it_stood() -> None:
    sent = send(
        ask(
            user(Media(kind="audio", data="x"), Media(kind="image", url="https://x.example/a.png", detail="low")),
            assistant(Refusal(text="no"), HostedCall(id="h", name="web_search_call", payload={})),
            tool(ToolResult(call_id="t", name="f", content=())),
            Message(
                role="user", name="Ann", content=(Text(text="x", phase="final", citations=({"url_citation": {}},)),)
            ),
            Message(role="system", content=(ToolsChange(add=(READ,)),)),
            output=Output(kind="json"),
            metadata={"a": "b"},
            tier="flex",
            effort="minimal",
        )
    )
    assert told(sent) == [
        (("messages", 0, "content", 0), "dropped", True),
        (("messages", 0, "content", 1, "detail"), "dropped", True),
        (("messages", 1, "content", 0), "substituted", False),
        (("messages", 1, "content", 1), "dropped", True),
        (("messages", 2, "content", 0, "name"), "dropped", False),
        (("messages", 2, "content", 0), "synthesised", False),
        (("messages", 3, "name"), "dropped", True),
        (("messages", 3, "content", 0, "phase"), "dropped", True),
        (("messages", 3, "content", 0, "citations"), "dropped", True),
        (("messages", 4), "dropped", False),
        (("messages", 4, "content", 0), "moved", False),
        (("effort",), "clamped", True),
        (("output",), "dropped", True),
        (("tier",), "dropped", True),
        (("metadata",), "dropped", True),
    ]
    out = json.loads(sent.http.body)
    assert out["messages"][2]["content"] == [{"type": "tool_result", "tool_use_id": "t", "content": "(no tool output)"}]
    assert [entry["name"] for entry in out["tools"]] == ["read_file"]
