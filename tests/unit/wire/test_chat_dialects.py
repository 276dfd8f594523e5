"""Guards the dialect facts of the chat wire: each changes the body in its one place, and says so (S3-12, S3-13)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.find import rows
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.types import (
    Media,
    Message,
    Note,
    Output,
    Reasoning,
    Request,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)
from dragoman.types.base import Cache, Origin
from dragoman.wire import find
from dragoman.wire.base import Exchange

CALL = ToolCall.of("t1", "read", {"path": "README.md"})
RESULT = ToolResult(call_id="t1", name="read", content=(Text(text="npm run dev"),))
TALK = (system("Be brief."), user("Read it."), assistant(CALL), tool(RESULT), user("And?"))
READ = Tool(name="read", parameters={"type": "object"}, strict=True)
THOUGHT = Reasoning(text="hm", opaque={"chat": {"~": {"key": ["reasoning"]}}})


def body(request: Request, facts: dict[str, Any]) -> tuple[dict[str, Any], tuple[Note, ...]]:
    sent = find("chat").encode_request(request, override(BASE, facts), Exchange(include_usage=True))
    return json.loads(sent.http.body), sent.notes


def ask(**fields: Any) -> Request:
    return Request(model="m", **{"messages": (user("hi"),), **fields})


# fact → (value, request, the place in the body, what stands there in the base, what stands there with the fact)
CASES: dict[str, tuple[Any, Request, tuple[Any, ...], Any, Any]] = {
    "max_tokens_key": ("max_completion_tokens", ask(max_output=9), ("max_completion_tokens",), None, 9),
    "seed_key": ("random_seed", ask(sampling=Sampling(seed=7)), ("random_seed",), None, 7),
    "top_k": (True, ask(sampling=Sampling(top_k=5)), ("top_k",), None, 5),
    "unsupported": (("store",), ask(store=True), ("store",), True, None),
    "temperature_max": (1.0, ask(sampling=Sampling(temperature=1.5)), ("temperature",), 1.5, 1.0),
    "max_stop": (1, ask(stop=("a", "b")), ("stop",), ["a", "b"], ["a"]),
    "effort_in": ("thinking", ask(effort="high"), ("thinking",), None, {"type": "enabled"}),
    "effort_map": ({"max": "xhigh"}, ask(effort="max"), ("reasoning_effort",), "max", "xhigh"),
    "json_modes": (
        ("json",),
        ask(output=Output(kind="schema", name="n", schema={})),
        ("response_format", "type"),
        "json_schema",
        "json_object",
    ),
    "usage_in_stream": ("never", ask(stream=True), ("stream_options",), {"include_usage": True}, None),
    "tool_stream": (True, ask(tools=(READ,), stream=True), ("tool_stream",), None, True),
    "instruction_role": ("developer", ask(messages=TALK), ("messages", 0, "role"), "system", "developer"),
    "one_system_message": (
        True,
        ask(messages=(system("a"), user("x"), system("b"))),
        ("messages", 0, "content"),
        "a",
        "a\n\nb",
    ),
    "empty_content": ("empty", ask(messages=TALK), ("messages", 2, "content"), None, ""),
    "text_only": (
        True,
        ask(messages=(user("a", "b"),)),
        ("messages", 0, "content"),
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "a\nb",
    ),
    "names_on": (
        ("tool",),
        ask(messages=(Message(role="user", name="ann", content=(Text(text="x"),)),)),
        ("messages", 0, "name"),
        "ann",
        None,
    ),
    "tool_result_name": (True, ask(messages=TALK), ("messages", 3, "name"), None, "read"),
    "assistant_after_tool": (".", ask(messages=TALK), ("messages", 4, "content"), "And?", "."),
    "image_note": (
        "Image:",
        ask(messages=(*TALK[:3], tool(ToolResult(call_id="t1", content=(Media(kind="image", url="https://x/y"),))))),
        ("messages", 4, "content", 0, "text"),
        "Attached image(s) from tool result:",
        "Image:",
    ),
    "prefill_key": (
        "partial",
        ask(messages=(user("x"), Message(role="assistant", prefill=True, content=(Text(text="{"),)))),
        ("messages", 1, "partial"),
        None,
        True,
    ),
    "cache_style": (
        "cache_control",
        ask(messages=(user(Text(text="x", cache=Cache())),)),
        ("messages", 0, "content"),
        "x",
        [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
    ),
    "tool_choices": (
        ("auto",),
        ask(tools=(READ,), tool_choice=ToolChoice(mode="required")),
        ("tool_choice",),
        "required",
        "auto",
    ),
    "required_word": (
        "any",
        ask(tools=(READ,), tool_choice=ToolChoice(mode="required")),
        ("tool_choice",),
        "required",
        "any",
    ),
    "strict_tools": ("omit", ask(tools=(READ,)), ("tools", 0, "function", "strict"), True, None),
    "call_id_length": (4, ask(messages=TALK), ("messages", 2, "tool_calls", 0, "id"), "t1", "t1"),
    "reasoning_out": (
        "reasoning_content",
        ask(messages=(user("x"), assistant(Reasoning(text="hm"), "y"))),
        ("messages", 1, "reasoning_content"),
        None,
        "hm",
    ),
    "replay": (
        "never",
        ask(messages=(user("x"), assistant(THOUGHT, "y"))),
        ("messages", 1, "reasoning"),
        "hm",
        None,
    ),
}
# Facts of this wire's requests that only work together with another, or on other wires and on answers.
ELSEWHERE = {
    *("name", "source", "default_max_output", "most_output", "system_as_item", "arguments_style", "tool_name_pattern"),
    *("unsupported_thinking", "thinking_form", "nulls"),  # tests/hazards: test_params_refused, test_request_replayed
    *("inline_system", "reasoning_as_summary", "schema_subset"),
    *("call_id_pattern", "reasoning_filler"),  # below
    *("prefill", "alternate_roles"),  # history: repair
    "limit_unsaid",  # tests/hazards/test_stop_reasons.py
    *(
        "efforts",
        "effort_budget",
        "effort_beside",
        "cache_key",
        "max_cache",
        "custom_tools",
    ),  # the client: test_client_effort, and its caching
    *("think_tags", "reasoning_in", "reasoning_shown", "usage_cached", "usage_reasoning", "done_marker"),  # below
}


def test_each_fact_has_a_case() -> None:
    assert set(Dialect.__struct_fields__) - set(CASES) - ELSEWHERE == set()


@pytest.mark.parametrize("fact", CASES)
def test_a_fact_shows_in_its_one_place(fact: str) -> None:
    value, request, path, before, after = CASES[fact]
    assert at(body(request, {})[0], path) == before
    assert at(body(request, {fact: value})[0], path) == after


@pytest.mark.parametrize(
    "fact", ["unsupported", "temperature_max", "max_stop", "effort_in", "json_modes", "names_on", "tool_choices"]
)
def test_what_a_server_refuses_is_noted_as_a_loss(fact: str) -> None:
    value, request, *_ = CASES[fact]
    base = body(request, {})[1]
    assert [note.loss for note in body(request, {fact: value})[1] if note not in base] == [True]


@pytest.mark.req("S0-22")
def test_a_server_that_wants_reasoning_beside_every_call_gets_an_empty_one() -> None:
    sent, notes = body(ask(messages=TALK), {"reasoning_out": "reasoning_content", "reasoning_filler": ""})
    assert sent["messages"][2]["reasoning_content"] == ""
    assert [(note.action, note.loss) for note in notes] == [("synthesised", False)]


def test_ids_a_server_refuses_are_replaced_alike_in_call_and_result_and_never_become_one() -> None:
    calls = [ToolCall.of(f"functions.read:{at}", "read", {}) for at in range(3)]
    results = [ToolResult(call_id=call.id, content=(Text(text=call.id),)) for call in calls]
    talk = (user("x"), assistant(*calls), *(tool(result) for result in results))
    sent, notes = body(ask(messages=talk), {"call_id_pattern": "^[a-zA-Z0-9]{9}$", "call_id_length": 9})
    ids = [call["id"] for call in sent["messages"][1]["tool_calls"]]
    assert [message["tool_call_id"] for message in sent["messages"][2:]] == ids
    assert len(set(ids)) == 3
    assert all(len(id) == 9 and id.isalnum() for id in ids)
    assert {note.action for note in notes} == {"renamed"}


@pytest.mark.req("S3-14")
@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "reasoning_text"])
def test_reasoning_is_read_under_each_of_its_names(key: str) -> None:
    reply = {"choices": [{"message": {"role": "assistant", "content": "4", key: "2+2"}, "finish_reason": "stop"}]}
    read = find("chat").decode_reply(json.dumps(reply).encode(), BASE, Exchange()).value
    assert read.message.content == (
        Reasoning(text="2+2", opaque={"chat": {"~": {"key": [key]}}}),
        Text(text="4"),
    )
    assert read.message.origin == Origin(wire="chat")


def test_reasoning_outside_the_output_is_added_to_it() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 7}}
    reply = {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}], "usage": usage}
    said = json.dumps(reply).encode()
    outside = override(BASE, {"usage_reasoning": "outside"})
    outputs = [find("chat").decode_reply(said, dialect, Exchange()).value.usage for dialect in (BASE, outside)]
    assert [usage.output for usage in outputs if usage] == [5, 12]


@pytest.mark.parametrize(("name", "wire"), [key for key in rows() if key[1] == "chat"])
def test_every_row_writes_a_body_of_a_whole_conversation(name: str, wire: str) -> None:
    from dragoman.dialect.find import find as find_dialect

    request = ask(messages=TALK, tools=(READ,), tool_choice=ToolChoice(mode="auto"), max_output=100, stream=True)
    sent = find(wire).encode_request(request, find_dialect(name, wire), Exchange(include_usage=True))
    assert json.loads(sent.http.body)["messages"][0]["role"] in ("system", "developer")


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError):
            return None
    return value
