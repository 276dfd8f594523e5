"""Guards clients with generated types: whatever a model of another wire says, its reply has every key that the published schema
of the client's wire requires, null where nobody said it; what a server of the very wire said is never added to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.testing import FakeProvider
from dragoman.types import Message, Origin, Reasoning, Refusal, Reply, Request, Stop, Text, Tool, ToolCall, Usage
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from gate import PATHS, Gate, body_of, events
from obliging import oblige

WIRES = ("chat", "messages", "responses")
# By place: the keys that the vendors' published schemas require there (OpenAI's, Anthropic's, Open Responses').
REQUIRED: dict[str, dict[str, str]] = {
    "chat": {
        "": "id object created model choices",
        "choices[]": "index message finish_reason logprobs",
        "choices[].message": "role content refusal",
        "usage": "prompt_tokens completion_tokens total_tokens",
    },
    "messages": {
        "": "id type role content model stop_reason stop_sequence stop_details usage container",
        "content[text]": "type text citations",
        "content[thinking]": "type thinking signature",
        "content[tool_use]": "type id name input caller",
        "usage": "cache_creation cache_creation_input_tokens cache_read_input_tokens inference_geo input_tokens output_tokens "
        "output_tokens_details server_tool_use service_tier",
    },
    "responses": {
        "": "id object created_at completed_at status incomplete_details model previous_response_id instructions output error "
        "tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs "
        "temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata "
        "safety_identifier prompt_cache_key",
        "output[message]": "type id status role content",
        "output[function_call]": "type id call_id name arguments status",
        "output[reasoning]": "type id summary",
        "tools[function]": "type name description parameters strict",
        "text": "format",
        "reasoning": "effort summary",
        "usage": "input_tokens output_tokens total_tokens input_tokens_details output_tokens_details",
    },
}
NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs")  # of a response, never null
SAID: dict[str, tuple[Any, ...]] = {
    "a text": (Text(text="hi"),),
    "two texts": (Text(text="hi"), Text(text="there")),
    "thought and calls": (Reasoning(text="hm"), ToolCall.of("c1", "f", {"x": 1}), ToolCall.of("c2", "f", {})),
    "a refusal": (Refusal(text="no"),),
    "nothing": (),
}
ASKED: dict[str, dict[str, Any]] = {
    "chat": {"tools": [{"type": "function", "function": {"name": "f"}}], "reasoning_effort": "low"},
    "messages": {
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "max_tokens": 2048,
    },
    "responses": {
        "tools": [{"type": "function", "name": "f"}],
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low"},
    },
}


def places(body: Any, place: str) -> list[Any]:
    """What stands at a place of the table; `[]` is each of a list, `[text]` each of this type."""
    found = [body]
    for step in place.split(".") if place else ():
        name, listed, kind = step.rstrip("]").partition("[")
        values = [value[name] for value in found if value.get(name) is not None]
        found = [item for items in values for item in items] if listed else values
        found = [item for item in found if not kind or item["type"] == kind]
    return found


def missing(wire: str, body: Any) -> list[str]:
    """The keys that a strict client would look for in vain."""
    out = [
        f"{place or 'the reply'}: {key}"
        for place, keys in REQUIRED[wire].items()
        for value in places(body, place)
        for key in keys.split()
        if key not in value
    ]
    return out + [f"{key} is null" for key in NUMBERS if wire == "responses" and body.get(key) is None]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("reason", ["end", "tool_calls", "length", "refusal"])
def test_a_reply_of_another_wire_has_every_required_key(wire: str, said: str, reason: Any) -> None:
    asked = find(wire).decode_request(http(wire), BASE, Exchange(seed="s", now=1))
    for other in (*(Origin(wire=name, model="m") for name in WIRES if name != wire), None):
        message = Message(role="assistant", content=SAID[said], origin=other)
        reply = Reply(message=message, stop=Stop(reason=reason), usage=Usage(input=1, output=2), model="m")
        assert missing(wire, json.loads(find(wire).encode_reply(reply, BASE, asked.exchange).body)) == []


def http(wire: str) -> Any:
    return Http(path=PATHS[wire], body=json.dumps(body_of(wire) | ASKED[wire]).encode())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("result", [False, True], ids=["calls", "answers"])
def test_so_have_the_answers_of_the_gateway(wire: str, backend: str, result: bool) -> None:
    asked = {key: value for key, value in ASKED[wire].items() if not (result and key == "tools")}
    with FakeProvider(backend, script=oblige) as fake, Gate(fake.spec) as gate:
        whole = gate.ask(PATHS[wire], body_of(wire) | asked)
        streamed = gate.ask(PATHS[wire], body_of(wire, stream=True) | asked)
    assert (whole.status, missing(wire, whole.json)) == (200, [])
    if wire == "responses":
        assert [missing(wire, each["response"]) for each in events(streamed.body) if "response" in each] == [[]] * 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_of_the_very_wire_is_quoted_without_additions(wire: str) -> None:
    body: dict[str, dict[str, Any]] = {
        "chat": {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]},
        "messages": {"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}},
        "responses": {"output": [], "status": "completed", "tools": [{"type": "function", "name": "f"}]},
    }
    read = find(wire).decode_reply(json.dumps(body[wire]).encode(), BASE, Exchange()).value
    again = find(wire).encode_reply(read, BASE, Exchange(seed="s", now=1)).body
    assert json.loads(again) == body[wire]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("named", [False, True], ids=["one model", "several"])
@pytest.mark.parametrize("said", [{}, {"model": None}, {"model": ""}], ids=["absent", "null", "empty"])
def test_a_request_without_a_model_is_refused_by_the_field(wire: str, named: bool, said: dict[str, Any]) -> None:
    body = {key: value for key, value in body_of(wire).items() if key != "model"} | said
    with FakeProvider("chat") as fake, Gate(*((f"a={fake.spec}", f"b={fake.spec}") if named else (fake.spec,))) as gate:
        got = gate.ask(PATHS[wire], body)
        assert gate.say(wire).status == (404 if named else 200)
    assert (got.status, got.json["error"]["type"]) == (400, "invalid_request_error")
    assert "model" in got.json["error"]["message"]
    assert wire == "messages" or got.json["error"]["param"] == "model"
    assert len(fake.seen) == (0 if named else 1)


def test_the_obliging_model_answers_any_request() -> None:
    """What these tests and the compliance suite stand on."""
    tool = Tool(name="f", parameters={"type": "object", "properties": {"x": {"enum": [7]}}, "required": ["x"]})
    assert oblige(Request(tools=(tool,))).calls == (ToolCall(id="call_0", name="f", arguments='{"x": 7}'),)
    assert oblige(Request()).message.text == "Hello."
