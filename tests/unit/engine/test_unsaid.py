"""Guards that nothing of a request is lost on the way into a prompt: each field and each block is in it, or a Note says that it is not."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from dragoman.engine.backend import Piece
from dragoman.engine.parsers import picked
from dragoman.engine.speaker import Speaker
from dragoman.engine.turn import Turn
from dragoman.types import (
    Cache,
    Collector,
    Foreign,
    HostedCall,
    HostedResult,
    HostedTool,
    Json,
    Media,
    Note,
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
)
from dragoman.types.content import Content, ToolsChange
from dragoman.types.message import Message, assistant, tool, user
from unit.engine.templates import NAMES, template

NOW = datetime(2026, 1, 2)
WORD = "Wordmark"
READ = Tool(name="read", parameters={"type": "object", "properties": {"path": {"type": "string"}}})
CALL = ToolCall.of("c1", "read", {"path": "a"})

# Every field that a request has, saying something; what is said of a model or a stream is no part of a prompt.
SAID: dict[str, Any] = {
    "messages": (user("hi"), assistant("ok"), user(WORD)),
    "tools": (READ, HostedTool(wire="responses", kind="web_search", payload={})),
    "tool_choice": ToolChoice(mode="required"),
    "parallel_tools": False,
    "max_output": 7,
    "sampling": Sampling(top_k=3),
    "stop": ("END",),
    "effort": "high",
    "budget": 2000,
    "output": Output(kind="json"),
    "cache": Cache(),
    "state": ServerState(previous_id="r1"),
    "tier": "priority",
    "store": True,
    "user": "u1",
    "cache_key": "k",
    "metadata": {"a": "b"},
    "verbosity": "low",
    "logprobs": True,
    "top_logprobs": 3,
    "n": 2,
    "opaque": {"chat": {"min_p": 0.5}},
}
ELSEWHERE = {"model", "stream"}  # who is asked, and how the answer comes
ALWAYS = {"cache"}  # the prompt cache keeps what it can, asked or not

# A block of each kind, in a message of the one who says such a thing.
BLOCKS: dict[type, tuple[str, Any]] = {
    Text: ("user", Text(text=WORD)),
    Json: ("user", Json(value=f'{{"a": "{WORD}"}}')),
    Media: ("user", Media(kind="image", media_type="image/png", data="AAAA", name=WORD)),
    Reasoning: ("assistant", Reasoning(text=WORD)),
    Refusal: ("assistant", Refusal(text=WORD)),
    ToolCall: ("assistant", ToolCall.of("c9", "read", {"path": WORD})),
    ToolResult: ("tool", ToolResult(call_id="c1", content=(Text(text=WORD),))),
    HostedCall: ("assistant", HostedCall(id="h1", name="web_search", arguments=f'{{"q": "{WORD}"}}')),
    HostedResult: ("assistant", HostedResult(call_id="h1", name="web_search", payload={"found": WORD})),
    ToolsChange: ("user", ToolsChange(add=(Tool(name=WORD, description="late"),))),
    Foreign: ("user", Foreign(wire="messages", kind="container", payload={"name": WORD})),
}
# What stands beside the words of a block or a message, and the end of the place that is told.
BESIDE: dict[str, tuple[Message, str | int]] = {
    "author": (Message(role="user", content=(Text(text="hi"),), name="Ann"), "name"),
    "citations": (assistant(Text(text="a", citations=({"url": "u"},))), "citations"),
    "phase": (assistant(Text(text="a", phase="commentary")), "phase"),
    "a leftover of a block": (user(Text(text="a", opaque={"messages": {"weight": 2}})), "weight"),
    "a leftover of a message": (Message(role="user", content=(Text(text="a"),), opaque={"chat": {"x": 1}}), "x"),
    "sealed reasoning": (assistant(Reasoning(redacted=True), Text(text="a")), 0),
    "a ciphertext": (assistant(Reasoning(opaque={"responses": {"encrypted_content": "zz"}}), Text(text="a")), 0),
    "a summary alone": (assistant(Reasoning(summary=("Sum",)), Text(text="a")), 0),
    "a failure's flag": (tool(ToolResult(call_id="c1", content=(Text(text="no"),), is_error=True)), "is_error"),
    "an image in a result": (
        tool(ToolResult(call_id="c1", content=(Media(kind="image", data="AAAA"), Text(text="x")))),
        0,
    ),
}


@cache
def speaker(name: str) -> Speaker:
    known = template(name)
    return Speaker(known, picked(known.source), name)


def turn(name: str, request: Request) -> Turn:
    return speaker(name).turn(request, NOW)


@pytest.mark.parametrize("name", ["qwen2.5", "phi-3.5", "gpt-oss"])
@pytest.mark.parametrize("field", sorted({*Request.__struct_fields__} - ELSEWHERE - ALWAYS))
def test_each_field_is_asked_or_told(name: str, field: str) -> None:
    plain = Request(messages=(user("hi"),), tools=(READ,) if field == "tool_choice" else None)
    said = replace(plain, **{field: SAID[field]})
    before, after = turn(name, plain), turn(name, said)
    told = [note for note in after.notes if note not in before.notes and note.path[0] in (field, "min_p")]
    assert after.asked != before.asked or told or (field == "parallel_tools" and after.single)
    if field == "tools":
        lost = {note.path for note in told if note.action == "dropped" and note.loss}
        assert lost & {("tools", 1), ("tools",)}  # all of them, where a template knows none


def test_no_field_is_left_out_of_these_tests() -> None:
    assert {*Request.__struct_fields__} - ELSEWHERE == {*SAID}
    assert {*get_args(Content)} == {*BLOCKS}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BLOCKS, ids=lambda kind: kind.__name__)
def test_each_block_is_in_the_prompt_or_told_with_its_place(name: str, kind: type) -> None:
    role, block = BLOCKS[kind]
    before = (user("hi"), assistant(CALL)) if role == "tool" else (user("hi"), assistant("ok"))
    at = len(before)
    said = Message(role=role, content=(block, *(() if role == "tool" else (Text(text="more"),))))  # pyright: ignore[reportArgumentType]
    made = turn(name, Request(messages=(*before, said), tools=(READ,)))
    told = [note for note in made.notes if note.path[:4] == ("messages", at, "content", 0)]
    assert WORD in made.asked.prompt or told, made.asked.prompt


@pytest.mark.parametrize("name", ["qwen2.5", "phi-3.5"])
@pytest.mark.parametrize("what", BESIDE)
def test_what_stands_beside_the_words_is_told(name: str, what: str) -> None:
    message, end = BESIDE[what]
    made = turn(name, Request(messages=(user("hi"), assistant(CALL), message), tools=(READ,)))
    assert [note for note in made.notes if note.path[:2] == ("messages", 2) and note.path[-1] == end]


def test_a_request_that_says_nothing_special_has_no_notes() -> None:
    result = tool(ToolResult(call_id="c1", content=(Text(text="6"),)))
    asked = Request(
        messages=(user("hi"), assistant("Hm.", CALL), result),
        tools=(READ,),
        parallel_tools=True,
        store=False,
        n=1,
        logprobs=False,
        stop=("x",),
        max_output=5,
        sampling=Sampling(temperature=0.1, top_p=0.5, top_k=3, seed=1, presence_penalty=0.1, frequency_penalty=0.1),
    )
    assert turn("qwen2.5", asked).notes == ()


@pytest.mark.parametrize(
    ("name", "effort", "said"),
    [
        ("qwen3", "none", []),
        ("qwen3", "high", [("clamped", False)]),
        ("gpt-oss", "low", []),
        ("gpt-oss", "minimal", [("clamped", True)]),
        ("gpt-oss", "max", [("clamped", True)]),
        ("qwen2.5", "none", []),
        ("qwen2.5", "high", [("dropped", True)]),
        ("phi-3.5", "low", [("dropped", True)]),
    ],
)
def test_an_effort_is_brought_to_what_the_template_takes(name: str, effort: str, said: list[tuple[str, bool]]) -> None:
    made = turn(name, Request(messages=(user("hi"),), effort=effort))
    assert [(note.action, note.loss) for note in made.notes if note.path == ("effort",)] == said


def test_reasoning_of_earlier_turns_that_a_template_leaves_out_is_told_as_no_loss() -> None:
    thought = assistant(Reasoning(text="Thoughtword"), Text(text="ok"))
    made = turn("qwen3", Request(messages=(user("hi"), thought, user("and?"))))
    assert "Thoughtword" not in made.asked.prompt
    said = "the template leaves out the reasoning of an earlier turn"
    assert made.notes == (Note(path=("messages", 1, "content", 0), action="dropped", reason=said, loss=False),)


def test_places_are_those_of_the_request_though_the_prompt_has_a_system_turn_of_its_own() -> None:
    made = turn("qwen2.5", Request(messages=(user(Media(kind="audio", data="AAAA")),)))
    assert made.asked.prompt.startswith("<|im_start|>system\n<|im_end|>")
    assert [note.path for note in made.notes] == [("messages", 0, "content", 0)]


@pytest.mark.parametrize("name", ["deepseek-r1-distill", "deepseek-v3.1"])
def test_tools_of_a_template_without_a_list_are_told_by_the_system_message(name: str) -> None:
    made = turn(name, Request(messages=(user("hi"),), tools=(READ,)))
    assert '{"type":"function","function":{"name":"read"' in made.asked.prompt
    assert [(note.path, note.action, note.loss) for note in made.notes] == [(("tools",), "moved", False)]
    assert dict(made.offered) == {"read": READ}


def test_two_tools_of_one_name_are_two_tools_and_come_back_by_their_own() -> None:
    one, other = Tool(name="read", namespace="a"), Tool(name="read", namespace="b")
    known = speaker("qwen2.5")
    made = known.turn(Request(messages=(user("hi"),), tools=(one, other)), NOW)
    assert dict(made.offered) == {"read": one, "b__read": other}
    assert [(note.path, note.action) for note in made.notes] == [(("tools", 1, "name"), "renamed")]
    reader = known.reader(made)
    said = '<tool_call>\n{"name": "b__read", "arguments": {}}\n</tool_call>'
    collector = Collector()
    for event in (*reader.feed(Piece(said)), *reader.close()):
        collector.feed(event)
    (call,) = collector.reply.calls
    assert (call.name, call.namespace) == ("read", "b")
