"""Guards the use of prompt caches (S3-44 to S3-46, I-05, GWY-019): where breakpoints stand in the body of every wire, never
more than four, the caller's own first, and a key that is the same for all turns of a conversation and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given

from dragoman.caching import cached, session_key, within
from dragoman.client import Model
from dragoman.dialect.find import find as dialect_of
from dragoman.dialect.model import BASE, Dialect
from dragoman.testing import FakeProvider
from dragoman.types import (
    Cache,
    HostedTool,
    Media,
    Message,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from laws.both_ways import fewer
from strategies import requests

MOST = BASE.max_cache
MARKED = Dialect(cache_style="cache_control")
KEYED = Dialect(cache_key=True)
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
READ, LIST = Tool(name="read", parameters={"type": "object"}), Tool(name="list", parameters={"type": "object"})
TALK = Request(
    model="m",
    tools=(READ, LIST),
    messages=(
        system("Be brief."),
        user("List it."),
        assistant(ToolCall.of("t1", "list", {})),
        tool(ToolResult(call_id="t1", content=(Text(text="a b"),))),
    ),
)


def sent(request: Request, wire: str, dialect: Dialect = BASE) -> dict[str, Any]:
    outgoing = find(wire).encode_request(cached(request, wire, dialect), dialect, Exchange())
    assert [note for note in outgoing.notes if "cache" in note.path] == []
    return json.loads(outgoing.http.body)


READ_FIRST = ("tools", "system", "messages")


def marks(value: Any) -> Iterator[Any]:
    """Every breakpoint in a body, in the order in which a service reads it."""
    if isinstance(value, dict):
        names = [*READ_FIRST, *(name for name in value if name not in READ_FIRST)]
        for name in (name for name in names if name in value):
            yield from [value[name]] if name == "cache_control" else marks(value[name])
    elif isinstance(value, list):
        for item in value:
            yield from marks(item)


@pytest.mark.req("S3-46", "I-05")
def test_the_messages_wire_has_tools_system_and_latest_turn_marked() -> None:
    assert sent(TALK, "messages") == {
        "model": "m",
        "tools": [
            {"name": "read", "input_schema": {"type": "object"}},
            {"name": "list", "input_schema": {"type": "object"}, **MARK},
        ],
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "messages": [
            {"role": "user", "content": "List it."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "list", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b", **MARK}]},
        ],
        "max_tokens": 8192,
    }


@pytest.mark.req("S3-46")
def test_a_chat_server_that_takes_breakpoints_has_them_where_it_takes_them() -> None:
    body = sent(TALK, "chat", MARKED)
    assert [MARK["cache_control"]] * 3 == list(marks(body))
    assert body["tools"][1] == {
        "type": "function",
        "function": {"name": "list", "parameters": {"type": "object"}},
        **MARK,
    }
    assert body["messages"][:2] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **MARK}]},
        {"role": "user", "content": [{"type": "text", "text": "List it.", **MARK}]},
    ]


@pytest.mark.case("GWY-018")
@pytest.mark.parametrize(("wire", "dialect"), [("chat", BASE), ("responses", BASE), ("responses", MARKED)])
def test_who_takes_no_breakpoints_gets_none(wire: str, dialect: Dialect) -> None:
    assert cached(TALK, wire, dialect) is TALK


@pytest.mark.req("S3-29", "S3-46")
@pytest.mark.parametrize(
    ("provider", "wire"), [("openai", "chat"), ("openai", "responses"), ("mistral", "chat"), ("codex", "responses")]
)
def test_who_takes_a_key_gets_one_for_the_conversation(provider: str, wire: str) -> None:
    dialect = dialect_of(provider, wire)
    key = sent(TALK, wire, dialect)["prompt_cache_key"]
    assert key == session_key(TALK) and key.startswith("dragoman-") and len(key) <= 64
    longer = msgspec.structs.replace(TALK, messages=(*TALK.messages, assistant("Two."), user("More.")))
    assert sent(longer, wire, dialect)["prompt_cache_key"] == key
    other = msgspec.structs.replace(TALK, messages=(system("Be brief."), user("Another one.")))
    assert sent(other, wire, dialect)["prompt_cache_key"] != key
    mine = msgspec.structs.replace(TALK, cache_key="mine")
    assert sent(mine, wire, dialect)["prompt_cache_key"] == "mine"


def test_a_lone_question_pays_for_no_cache() -> None:
    lone = Request(messages=(user("What is the time?"),))
    assert cached(lone, "messages", BASE) is lone
    assert cached(lone, "chat", KEYED) is lone
    body = sent(Request(messages=(system("Label it."), user("a"))), "messages")
    assert body["system"] == [{"type": "text", "text": "Label it.", **MARK}]
    assert body["messages"] == [{"role": "user", "content": "a"}]


@pytest.mark.case("GWY-019")
def test_with_four_of_the_callers_own_none_is_added() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "S", **MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "0", **MARK}]},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "2", **MARK}]},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "4", **MARK}]},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "6"}]},
        ],
    }
    request = find("messages").decode_request(Http(body=json.dumps(body).encode()), BASE, Exchange()).request
    assert sent(request, "messages") == body


@pytest.mark.case("GWY-019")
def test_where_there_is_room_for_some_the_most_helpful_ones_are_added() -> None:
    own = (*(user(Text(text=str(at), cache=Cache())) for at in range(2)), assistant("a"))
    talk = msgspec.structs.replace(TALK, messages=(system("S"), *own, user("now")))
    body = sent(talk, "messages")
    assert len(list(marks(body))) == MOST
    assert body["messages"][-1]["content"] == [{"type": "text", "text": "now", **MARK}]
    assert body["system"] == [{"type": "text", "text": "S", **MARK}]
    assert [tool for tool in body["tools"] if "cache_control" in tool] == []


@pytest.mark.case("GWY-019")
def test_a_cache_of_an_hour_is_never_behind_a_shorter_one() -> None:
    talk = msgspec.structs.replace(
        TALK, messages=(system("S"), user(Text(text="long", cache=Cache(ttl="1h"))), assistant("a"), user("b"))
    )
    assert list(marks(sent(talk, "messages"))) == [HOUR["cache_control"]] * 3 + [MARK["cache_control"]]


def test_breakpoints_that_no_codec_reads_count_too() -> None:
    odd: Any = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": None}}
    body = {
        "model": "m",
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {}}],
        "messages": [{"role": "user", "content": [odd] * 4}],
    }
    request = find("messages").decode_request(Http(body=json.dumps(body).encode()), BASE, Exchange()).request
    assert cached(request, "messages", BASE) is request
    hosted = HostedTool(wire="messages", kind="web", payload={"type": "web", **MARK})
    four = msgspec.structs.replace(TALK, tools=(hosted,) * 4)
    assert cached(four, "messages", BASE) is four


def test_the_wires_own_breakpoint_at_the_end_takes_the_place_of_ours() -> None:
    body = sent(msgspec.structs.replace(TALK, cache=Cache()), "messages")
    assert list(marks(body["messages"])) == []
    assert (body["cache_control"], len(list(marks(body)))) == ({"type": "ephemeral"}, 3)


BLANK: list[tuple[str, Message]] = [
    ("an empty text", user(Text(text=""))),
    ("a blank text", user("words", Text(text=" \n"))),
    ("nothing", Message(role="user", content=())),
    ("thinking", Message(role="user", content=(Reasoning(text="hm"),))),
]


@pytest.mark.case("GWY-019")
@pytest.mark.parametrize("last", [row[1] for row in BLANK], ids=[row[0] for row in BLANK])
def test_what_cannot_hold_one_is_passed_over_for_the_turn_before(last: Message) -> None:
    picture = user(Media(kind="image", media_type="image/png", data="aGk="))
    talk = Request(tools=(READ,), messages=(picture, assistant("a"), last))
    marked = cached(talk, "messages", BASE)
    assert [[block.cache for block in message.content] for message in marked.messages] == [
        [Cache()],
        [None],
        [None] * len(last.content),
    ]


def test_tools_that_are_loaded_when_looked_for_hold_none() -> None:
    deferred = Tool(name="later", parameters={}, opaque={"messages": {"defer_loading": True}})
    tools = cached(msgspec.structs.replace(TALK, tools=(READ, deferred)), "messages", BASE).tools
    assert tools is not None and [tool.cache for tool in tools] == [Cache(), None]


def bare(request: Request) -> Any:
    """A request without any breakpoint, as plain data."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stripped(item) for key, item in value.items() if key != "cache"}
        return [stripped(item) for item in value] if isinstance(value, list | tuple) else value

    return stripped(msgspec.to_builtins(msgspec.structs.replace(request, cache_key=None)))


def crowded() -> Request:
    """A breakpoint on everything that may have one: a tool each, two of the system prompt, a result and its part, three turns."""
    hint = Cache()
    result = ToolResult(call_id="t1", content=(Text(text="a", cache=hint), Text(text="b")), cache=hint)
    odd = Text(text="odd", opaque={"messages": {"cache_control": {"type": "ephemeral", "scope": "global"}, "k": 1}})
    return Request(
        model="m",
        tools=(msgspec.structs.replace(READ, cache=hint), msgspec.structs.replace(LIST, cache=hint)),
        messages=(
            Message(role="system", content=(Text(text="A", cache=hint), Text(text="B", cache=hint))),
            user(odd),
            assistant(ToolCall.of("t1", "list", {})),
            tool(result),
            user(Text(text="last", cache=hint)),
        ),
    )


@pytest.mark.case("GWY-019")
def test_of_too_many_the_last_of_the_tools_of_the_instructions_and_the_latest_stay_each_other_told() -> None:
    fit, notes = within(crowded(), "messages", BASE)
    body = json.loads(find("messages").encode_request(fit, BASE, Exchange()).http.body)
    hinted = {part: ["cache_control" in each for each in body[part]] for part in ("tools", "system")}
    assert hinted == {"tools": [False, True], "system": [False, True]}
    assert body["messages"][0]["content"] == [{"type": "text", "text": "odd", "k": 1}]
    (result, last) = (block for message in body["messages"][2:] for block in message["content"])
    assert ("cache_control" in result, last) == (False, {"type": "text", "text": "last", **MARK})
    assert result["content"] == [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b"}]
    assert [(note.path, note.action, note.loss) for note in notes] == [
        (("tools", 0, "cache"), "dropped", True),
        (("messages", 0, "content", 0, "cache"), "dropped", True),
        (("messages", 1, "content", 0, "cache"), "dropped", True),
        (("messages", 3, "content", 0, "cache"), "dropped", True),
    ]
    assert within(fit, "messages", BASE) == (fit, ())
    assert within(crowded(), "chat", BASE)[1] == ()  # where none are said none are too many


@pytest.mark.case("GWY-019")
@pytest.mark.parametrize("cache", ["auto", "off"])
def test_a_model_sends_no_more_than_its_service_takes(cache: Any) -> None:
    with Model("anthropic/claude-sonnet-5", env={"ANTHROPIC_API_KEY": "k"}, cache=cache) as model:
        plan = model.plan(crowded().messages, tools=list(crowded().tools or ()))
    assert len(list(marks(json.loads(plan.body)))) == MOST
    assert [note.action for note in plan.notes if "cache" in note.path] == ["dropped"] * 4


@fewer
@given(request=requests())
@pytest.mark.parametrize(("wire", "dialect"), [("messages", BASE), ("chat", MARKED), ("chat", KEYED)])
def test_hints_are_all_that_is_added_and_once_is_as_good_as_twice(
    wire: str, dialect: Dialect, request: Request
) -> None:
    made = cached(request, wire, dialect)
    assert bare(made) == bare(request)
    assert cached(made, wire, dialect) == made
    own = len(list(marks(json.loads(find(wire).encode_request(request, dialect, Exchange()).http.body))))
    all_of_them = len(list(marks(json.loads(find(wire).encode_request(made, dialect, Exchange()).http.body))))
    assert all_of_them <= max(own, MOST)
    fit, notes = within(made, wire, dialect)
    left = len(list(marks(json.loads(find(wire).encode_request(fit, dialect, Exchange()).http.body))))
    assert (bare(fit), left <= MOST) == (bare(request), True)
    assert (fit is made) == (notes == ())


@pytest.mark.req("S3-46", "I-05")
def test_a_model_does_so_by_itself_and_one_switch_turns_it_off() -> None:
    key = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    for spec, hint in (("anthropic/claude-sonnet-5", "cache_control"), ("openai/gpt-5.2", "prompt_cache_key")):
        with Model(spec, env=key) as model, Model(spec, env=key, cache="off") as plain:
            assert hint in model.plan(TALK.messages, tools=[READ]).body.decode()
            assert hint not in plain.plan(TALK.messages, tools=[READ]).body.decode()


def unmarked(body: Any) -> Any:
    """A body without breakpoints; a text that was marked is a list of one part."""
    if isinstance(body, dict):
        return {key: unmarked(value) for key, value in body.items() if key != "cache_control"}
    if isinstance(body, list):
        parts = [unmarked(item) for item in body]
        return parts[0]["text"] if len(parts) == 1 and list(parts[0]) == ["type", "text"] else parts
    return body


@pytest.mark.req("S3-45")
@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_each_turn_begins_with_the_whole_of_the_one_before(wire: str) -> None:
    history = [user("one")]
    with FakeProvider(wire, script=["a", "b", "c"]) as fake, Model(fake.spec, env={}) as model:
        for word in ("two", "three", "four"):
            history += [model.chat(history, system="Be brief.", tools=[READ]).message, user(word)]
    bodies = [unmarked(json.loads(json.dumps(seen.body))) for seen in fake.seen]
    for before, after in pairwise(bodies):
        assert before.keys() == after.keys()
        for name, value in before.items():
            assert (after[name][: len(value)] if isinstance(value, list) else after[name]) == value
