"""Guards the cache doctor (S3-44, S3-45, I-05): each way a prefix is broken has its cause, place and cost on every wire, and
what breaks no prefix is no finding."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from dragoman.caching import cached
from dragoman.dialect.model import BASE, Dialect
from dragoman.doctor import Finding, Sent, examine
from dragoman.doctor.causes import ADVICE
from dragoman.doctor.load import parse
from dragoman.doctor.words import difference
from dragoman.types import Reasoning, Request, Text, Tool, ToolCall, ToolResult, Usage, assistant, system, tool, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
from scenes import scene
from strategies import requests

WIRES = ("chat", "messages", "responses")
DIALECTS = {"chat": Dialect(reasoning_out="reasoning_content", replay="always"), "messages": Dialect(replay="always")}
NOON = "It is 2026-11-30T12:00:05Z. Be brief."
READ = Tool(name="read", description="Read a file.", parameters={"type": "object", "properties": {}})
LIST = Tool(name="list", parameters={"type": "object"})
CALL = ToolCall.of("call_1", "read", {"path": "a.md", "from": 3})
THOUGHT = Reasoning(text="It is in a.md.", opaque={"messages": {"signature": "c2ln"}})


def talk(
    *, prompt: str = NOON, tools: Any = (READ, LIST), call: ToolCall = CALL, result: str = "old", think: bool = True
) -> Request:
    thoughts = (THOUGHT,) if think else ()
    return Request(
        model="m",
        tools=tools,
        messages=(
            system(prompt),
            user("Look at a.md and tell me of it."),
            assistant(*thoughts, call),
            tool(ToolResult(call_id=call.id, content=(Text(text=result),))),
            assistant("Done."),
            user("And b.md?"),
        ),
    )


def body(wire: str, request: Request) -> dict[str, Any]:
    dialect = DIALECTS.get(wire, BASE)
    return json.loads(find(wire).encode_request(request, dialect, Exchange()).http.body)


def found(old: dict[str, Any], new: dict[str, Any]) -> list[Finding]:
    exam = examine([Sent(name="1", body=old), Sent(name="2", body=new)])
    assert exam.requests == 2
    return list(exam.findings)


# cause → the request that was sent next.
NEXT: list[tuple[str, Request]] = [
    ("timestamp", talk(prompt="It is 2026-11-30T12:03:41Z. Be brief.")),
    ("system_rebuilt", talk(prompt="It is 2026-11-30T12:00:05Z. Be thorough.")),
    ("tools_reordered", talk(tools=(LIST, READ))),
    ("tool_added", talk(tools=(READ, LIST, Tool(name="write")))),
    ("tool_removed", talk(tools=(READ,))),
    ("tool_changed", talk(tools=(Tool(name="read", description="Read the file.", parameters=READ.parameters), LIST))),
    (
        "keys_reordered",
        talk(
            tools=(Tool(name="read", description="Read a file.", parameters={"properties": {}, "type": "object"}), LIST)
        ),
    ),
    ("result_changed", talk(result="[old result cleared]")),
    ("ids_renamed", talk(call=ToolCall.of("call_9", "read", {"path": "a.md", "from": 3}))),
    ("arguments_respelled", talk(call=ToolCall.of("call_1", "read", {"from": 3, "path": "a.md"}))),
]


@pytest.mark.req("S3-44", "I-05")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("cause", "then"), NEXT, ids=[row[0] for row in NEXT])
def test_what_moved_is_named(cause: str, then: Request, wire: str) -> None:
    (finding,) = found(body(wire, talk()), body(wire, then))
    assert (finding.cause, finding.turn, finding.label, finding.hit) == (cause, 2, "estimated", None)
    assert finding.advice == ADVICE[cause]
    assert finding.tokens > 0
    section = finding.path[0]
    assert section == "tools" if "tool" in cause or cause == "keys_reordered" else section != "tools"


@pytest.mark.req("S3-44")
@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_thoughts_that_are_no_longer_sent(wire: str) -> None:
    (finding,) = found(body(wire, talk()), body(wire, talk(think=False)))
    assert finding.cause == "reasoning_stripped"


def test_thoughts_of_the_responses_wire() -> None:
    items: list[Any] = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "o"},
    ]
    (finding,) = found({"input": items}, {"input": [items[0], *items[2:]]})
    assert (finding.cause, finding.path) == ("reasoning_stripped", ("input", 1))
    (finding,) = found({"input": items}, {"input": [items[0], {**items[1], "encrypted_content": "y"}, *items[2:]]})
    assert finding.seen == "what the model had thought is sent in another form"


MESSAGES: list[dict[str, Any]] = [
    {"role": "user" if at % 2 == 0 else "assistant", "content": f"word {'abcdef'[at]}"} for at in range(6)
]
CHANGES: list[tuple[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]]] = [
    ("message_removed", lambda said: said[2:]),
    ("message_inserted", lambda said: [said[0], {"role": "user", "content": "By the way."}, *said[1:]]),
    ("message_edited", lambda said: [{**said[0], "content": "word zz"}, *said[1:]]),
    ("number", lambda said: [*said[:2], {**said[2], "content": "word 1"}, *said[3:]]),
    ("history_replaced", lambda said: [said[0], {"role": "user", "content": "Summary: nothing was said."}]),
]


@pytest.mark.parametrize(("cause", "change"), CHANGES, ids=[row[0] for row in CHANGES])
def test_what_became_of_the_history(cause: str, change: Callable[[Any], Any]) -> None:
    said = copy.deepcopy(MESSAGES)
    if cause == "number":
        said[2]["content"] = "word 7"
    (finding,) = found({"messages": said}, {"messages": change(said)})
    assert finding.cause == cause


@pytest.mark.parametrize(
    ("key", "old", "new", "cause"),
    [
        ("model", "a", "b", "model"),
        ("response_format", None, {"type": "json_object"}, "form"),
        ("response_format", {"type": "json_object"}, None, "form"),
        ("reasoning_effort", "low", "high", "settings"),
        ("thinking", {"type": "enabled", "budget_tokens": 1024}, None, "settings"),
    ],
)
def test_what_stands_beside_the_conversation(key: str, old: Any, new: Any, cause: str) -> None:
    bodies = [{"messages": MESSAGES} | ({} if value is None else {key: value}) for value in (old, new)]
    (finding,) = found(*bodies)
    assert (finding.cause, finding.path) == (cause, (key,))


def test_a_setting_that_the_service_does_not_mind_is_no_finding() -> None:
    usage = Usage(input=3000, cache_read=2048)
    sent = [
        Sent(name=word, body={"messages": MESSAGES, "reasoning_effort": word}, usage=usage) for word in ("low", "high")
    ]
    assert examine(sent).findings == ()


@pytest.mark.req("S3-44", "S3-52")
def test_the_refresh_scene() -> None:
    lines = b"\n".join(json.dumps(turn).encode() for turn in scene("T10")["turns"])
    exam = examine(parse(lines))
    assert (exam.requests, exam.conversations, exam.tokens) == (8, 1, 2072 - 294)
    assert exam.findings == (
        Finding(
            request="line 7",
            before="line 6",
            turn=7,
            path=("messages", 0, "content"),
            cause="system_rebuilt",
            seen='the system prompt changed at character 84: "ateparse.py\\ntests/test_dateparse" → "ateparse.py\\nformats.py\\ntests/tes"',
            advice=ADVICE["system_rebuilt"],
            tokens=1778,
            label="derived",
            hit=(2072, 294),
        ),
    )


def test_what_was_written_to_the_cache_counts_as_held() -> None:
    first = Sent(name="1", body={"messages": MESSAGES}, usage=Usage(input=5000, cache_read=0, cache_write=4000))
    then = {"messages": [{"role": "user", "content": "word zz"}, *MESSAGES[1:]]}
    (finding,) = examine(
        [first, Sent(name="2", body=then, usage=Usage(input=5000, cache_read=0, cache_write=4000))]
    ).findings
    assert (finding.tokens, finding.label, finding.hit) == (4000, "derived", (0, 0))


def test_a_hit_that_fell_though_nothing_moved() -> None:
    sent = [
        Sent(name="1", body={"messages": MESSAGES[:1]}, usage=Usage(input=3000, cache_read=2048)),
        Sent(name="2", body={"messages": MESSAGES[:3]}, usage=Usage(input=3100, cache_read=0)),
    ]
    (finding,) = examine(sent).findings
    assert (finding.cause, finding.path, finding.tokens) == ("expired", (), 2048)
    assert finding.seen == "nothing moved, and yet the hit fell: 2,048 → 0"


def test_another_conversation_whose_head_differs_by_the_time() -> None:
    bodies = [
        {
            "messages": [
                {"role": "system", "content": f"Now: 12:0{at}. Label what follows."},
                {"role": "user", "content": word},
            ]
        }
        for at, word in enumerate(("apple", "pear"))
    ]
    (finding,) = found(*bodies)
    assert (finding.cause, finding.turn, finding.path) == ("timestamp", 1, ("messages", 0, "content"))


MARK = {"cache_control": {"type": "ephemeral"}}
SAME: list[tuple[str, Any, Any]] = [
    ("a turn added", MESSAGES[:3], MESSAGES),
    ("the very same", MESSAGES, MESSAGES),
    ("an end taken away", MESSAGES, MESSAGES[:3]),
    (
        "a marker moved",
        [{"role": "user", "content": [{"type": "text", "text": "a", **MARK}]}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b", **MARK}]}],
    ),
]


@pytest.mark.parametrize(("old", "new"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_what_breaks_no_prefix_is_no_finding(old: Any, new: Any) -> None:
    assert found({"messages": old}, {"messages": new}) == []


def test_an_argument_of_the_callers_is_no_marker() -> None:
    def said(value: str) -> dict[str, Any]:
        use = {"type": "tool_use", "id": "t", "name": "f", "input": {"cache_control": value}}
        return {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [use]}]}

    assert [finding.cause for finding in found(said("x"), said("y"))] == ["message_edited"]


def test_agents_that_share_a_question_are_told_apart() -> None:
    title = {"messages": [{"role": "system", "content": "Give a title."}, MESSAGES[0]]}
    agent = {"messages": [{"role": "system", "content": "You can work."}, MESSAGES[0]], "tools": [{"name": "f"}]}
    longer = {**agent, "messages": [*agent["messages"], *MESSAGES[1:3]]}
    exam = examine([Sent(name=str(at), body=each) for at, each in enumerate((title, agent, title, longer))])
    assert (exam.conversations, exam.findings) == (2, ())


@pytest.mark.req("S3-45")
@settings(max_examples=20)
@given(request=requests())
@pytest.mark.parametrize("wire", WIRES)
def test_what_our_codecs_write_turn_after_turn_is_in_order(wire: str, request: Request) -> None:
    dialect = Dialect(cache_style="cache_control", cache_key=True) if wire == "chat" else BASE
    sent: list[Sent] = []
    for at in range(1, len(request.messages) + 1):
        cut = Request(model="m", tools=request.tools, messages=request.messages[:at])
        data = find(wire).encode_request(cached(cut, wire, dialect), dialect, Exchange()).http.body
        sent.append(Sent(name=str(at), body=json.loads(data)))
    late = {"tool_added", "tool_removed"}  # tools that appear in mid-conversation stand at the head of some wires
    assert {finding.cause for finding in examine(sent).findings} <= late


DIFFERENT: list[tuple[str, str, str]] = [
    ("timestamp", "Today is Mon, 30 November 2026", "Today is Tue, 1 December 2026"),
    ("timestamp", "今天是2026年11月30日。", "今天是2026年12月1日。"),
    ("timestamp", "at 9:05 am, again at 9:06 am", "at 11:58 pm, again at 11:59 pm"),
    ("timestamp", "now=1764500000.5", "now=1764500100.25"),
    ("timestamp", "Nov 30, 2026", "Dec 1, 2026"),
    ("timestamp", "Monday", "Tuesday"),
    ("id", "session 3f2a9c1e-77aa-4e0b-8f00-1234567890ab", "session 9b1d0c2e-11bb-4e0b-8f00-ba0987654321"),
    ("id", "cch=a1b2c3;", "cch=9f8e7d;"),
    ("number", "3 files, 120 lines", "4 files, 98 lines"),
    ("words", "You are kind.", "You are blunt."),
    ("words", "", "x"),
]


@pytest.mark.parametrize(("manner", "old", "new"), DIFFERENT)
def test_how_texts_differ(manner: str, old: str, new: str) -> None:
    assert difference(old, new).manner == manner


def test_looking_at_texts_takes_time_in_proportion_to_them() -> None:
    for unit in ("a-", "mon", "2026-", "1:", "a1", " \n", "jan "):
        text = unit * 20_000
        assert difference(text + "x", text + "y").at == len(text)
