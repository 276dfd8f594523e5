"""Source S3: one conversation in three formats: 5 messages, 3 and 5 or 6; nine of nine places differ; one usage."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.positions import positions
from dragoman.types import Reply, Request, Text, ToolCall, ToolResult, Usage, assistant, system, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange
from golden.written import READ, body, history
from laws.both_ways import decode_reply, decode_request
from meaning import differences

# The form of the T5 conversation: a prompt, a task, two parallel calls, two results; the words are ours.
T5 = Request(
    model="some-model",
    messages=(
        system("You are miniagent. " * 40),
        user("Read dateparse.py and test_dateparse.py in one reply, then stop."),
        assistant(
            ToolCall.of("call_1", "read", {"path": "dateparse.py"}),
            ToolCall.of("call_2", "read", {"path": "test_dateparse.py"}),
        ),
        tool(ToolResult(call_id="call_1", content=(Text(text="def parse(): ..."),))),
        tool(ToolResult(call_id="call_2", content=(Text(text="def test_parse(): ..."),))),
    ),
    tools=(READ,),
    max_output=512,
)

USAGES: dict[str, dict[str, Any]] = {
    "chat": {
        "prompt_tokens": 929,
        "completion_tokens": 60,
        "total_tokens": 989,
        "prompt_tokens_details": {"cached_tokens": 890},
    },
    "messages": {"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 60},
    "responses": {
        "input_tokens": 929,
        "input_tokens_details": {"cached_tokens": 890},
        "output_tokens": 60,
        "output_tokens_details": {},
        "total_tokens": 989,
    },
}


@pytest.mark.req("S3-03")
def test_five_messages_three_messages_five() -> None:
    chat = find("chat").encode_request(T5, BASE, Exchange())
    assert len(body("chat", T5)["messages"]) == 5
    there = find("messages").encode_request(decode_request("chat", chat.http.body).request, BASE, Exchange())
    turns = msgspec.json.decode(there.http.body)
    assert [turn["role"] for turn in turns["messages"]] == ["user", "assistant", "user"]
    assert turns["system"] == T5.system
    back = find("chat").encode_request(decode_request("messages", there.http.body).request, BASE, Exchange())
    assert msgspec.json.decode(back.http.body)["messages"] == msgspec.json.decode(chat.http.body)["messages"]


@pytest.mark.req("S3-03", "C-12")
@pytest.mark.parametrize(("as_item", "count"), [(False, 5), (True, 6)])
def test_five_responses_items_and_instructions_or_six(as_item: bool, count: int) -> None:
    written = body("responses", T5, Dialect(system_as_item=as_item))
    assert len(written["input"]) == count
    assert written.get("instructions") == (None if as_item else T5.system)
    assert differences(decode_request("responses", written).request, T5) == []


@pytest.mark.req("S3-04", "S3-09", "C-13")
def test_nine_of_nine_places_differ() -> None:
    found = positions(T5, WIRES)
    assert [position.part for position in found if position.differs] == [
        *("system prompt", "user task", "tool definition", "call container", "call id", "tool name", "arguments"),
        *("result content", "result → call link"),
    ]
    arguments = found[6].places
    assert {wire: place.form for wire, place in arguments.items() if place} == {
        "chat": "string",
        "messages": "object",
        "responses": "string",
    }
    assert {wire: place.path for wire, place in found[0].places.items() if place} == {
        "chat": "messages[0].content",
        "messages": "system",
        "responses": "instructions",
    }


@pytest.mark.req("S3-05")
def test_arguments_are_a_string_an_object_a_string() -> None:
    messages = T5.messages[1:3]
    assert isinstance(history("chat", *messages)[1]["tool_calls"][0]["function"]["arguments"], str)
    assert isinstance(history("messages", *messages)[1]["content"][0]["input"], dict)
    assert isinstance(history("responses", *messages)[1]["arguments"], str)


def reply_body(wire: str) -> dict[str, Any]:
    """A reply that calls a tool, as each vendor would say it, with its own stop word."""
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    item = {"type": "function_call", "call_id": "t1", "name": "read", "arguments": "{}"}
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    bodies: dict[str, dict[str, Any]] = {
        "chat": {"choices": [{"message": message, "finish_reason": "tool_calls"}]},
        "messages": {"content": [use], "stop_reason": "tool_use"},
        "responses": {"output": [item], "status": "completed"},
    }
    return {**bodies[wire], "usage": USAGES[wire]}


def reply(wire: str) -> Reply:
    return decode_reply(wire, reply_body(wire)).value


@pytest.mark.req("S3-08")
@pytest.mark.parametrize("wire", WIRES)
def test_the_stop_is_the_same_whatever_word_is_said_for_it(wire: str) -> None:
    assert reply(wire).stop.reason == "tool_calls"


@pytest.mark.req("S3-31", "S3-32", "S3-33")
@pytest.mark.parametrize("wire", WIRES)
def test_one_turn_has_one_usage(wire: str) -> None:
    usage = reply(wire).usage
    assert usage is not None
    assert msgspec.structs.replace(usage, opaque=None) == Usage(input=929, output=60, cache_read=890)
    assert usage.uncached == 39
    assert usage.uncached + (usage.cache_read or 0) + (usage.cache_write or 0) == usage.input


@pytest.mark.req("S3-33")
@pytest.mark.parametrize("there", WIRES)
@pytest.mark.parametrize("here", WIRES)
def test_no_hit_is_counted_twice_on_the_way(here: str, there: str) -> None:
    written = find(there).encode_reply(reply(here), BASE, Exchange()).body
    usage = decode_reply(there, written).value.usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.uncached, usage.output) == (929, 890, 39, 60)
    named = "prompt_tokens" if there == "chat" else "input_tokens"
    assert msgspec.json.decode(written)["usage"][named] == USAGES[there][named]
