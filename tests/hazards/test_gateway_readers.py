"""Guards clients that cannot read all of their own wire: a call in one piece for those to whom a piece is a call, and in pieces, as
it comes, for all others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.testing import FakeProvider
from gate import PATHS, Gate, body_of, events

CALLS = [
    {"id": "c1", "name": "get_weather", "arguments": {"city": "Zürich"}},
    {"id": "c2", "name": "get_time", "arguments": {"city": "東京"}},
]
CALLED = {"name": "f", "arguments": "{}"}
MISTRAL = {"user-agent": "mistral-client-python/3.7.0"}


def pieces(gate: Gate, headers: dict[str, str]) -> list[Any]:
    """The pieces of calls in a streamed answer."""
    said = events(gate.ask(PATHS["chat"], body_of("chat", stream=True), headers=headers).body)
    deltas = [choice["delta"] for event in said for choice in event.get("choices", ())]
    return [call for delta in deltas for call in delta.get("tool_calls") or ()]


@pytest.mark.parametrize("backend", ["chat", "messages", "responses"])
def test_a_call_comes_whole_to_a_client_who_reads_each_piece_as_a_call(backend: str) -> None:
    script = [{"thinking": "hm", "text": "Both.", "calls": CALLS}]
    with FakeProvider(backend, script=script) as fake, Gate(fake.spec) as gate:
        whole, usual = pieces(gate, MISTRAL), pieces(gate, {})
    assert [(call["index"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in whole] == [
        (index, call["name"], call["arguments"]) for index, call in enumerate(CALLS)
    ]
    assert len(usual) > len(CALLS)
    assert len({call["id"] for call in whole}) == 2


def test_a_call_that_broke_off_is_not_told_as_a_whole_one() -> None:
    with FakeProvider("messages", script=[{"calls": CALLS}], quirks=["cut-in-stream"]) as fake, Gate(fake.spec) as gate:
        answer = gate.ask(PATHS["chat"], body_of("chat", stream=True), headers=MISTRAL)
    assert answer.status == 502 or b'"error"' in answer.body
    assert b"get_weather" not in answer.body


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_a_model_too_small_to_think_of_it_is_made_to_call_in_the_first_step_alone(wire: str) -> None:
    schema = {"type": "object", "properties": {}}
    tool: Any = {
        "chat": {"type": "function", "function": {"name": "f", "parameters": schema}},
        "messages": {"name": "f", "input_schema": schema},
        "responses": {"type": "function", "name": "f", "parameters": schema},
    }[wire]
    said = {"role": "user", "content": "Call f."}
    after: Any = {
        "chat": [
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": CALLED}]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}]},
        ],
        "responses": [
            {"type": "function_call", "call_id": "c", **CALLED},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ],
    }[wire]
    key = "input" if wire == "responses" else "messages"
    with FakeProvider("chat") as fake, Gate(fake.spec) as gate:
        gate.app.manner = gate.app.manner._replace(call_first=True)
        for history in ([said], [said, *after], [said, *after, said]):
            assert gate.say(wire, tools=[tool], **{key: history}).status == 200
        assert gate.say(wire).status == 200
    assert [each.body.get("tool_choice") for each in fake.seen] == ["required", None, "required", None]


def test_a_model_in_a_list_has_what_its_reader_cannot_do_without() -> None:
    with FakeProvider() as fake, Gate(fake.spec) as gate:
        (usual,) = gate.ask("/v1/models").json["data"]
        (listed,) = gate.ask("/v1/models", headers=MISTRAL).json["data"]
        one = gate.ask(f"/v1/models/{listed['id']}", headers=MISTRAL).json
    assert one == listed == {**usual, "type": "base", "capabilities": listed["capabilities"]}
    assert "type" not in usual
