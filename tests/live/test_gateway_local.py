"""Guards the local model behind `dragoman serve`: one path with every other model, on every wire, a call where one must be, and a
queue that clients may leave."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from threading import Thread
from typing import Any

import pytest

from dragoman.client import Exchanged
from dragoman.engine import runtime
from dragoman.engine.store import DEFAULT, find_installed, home
from dragoman.errors import Cancelled
from gate import PATHS, Gate, body_of, events
from hazards.test_gateway_leaves import until

FOUND = find_installed(DEFAULT, os.environ)
pytestmark = [
    pytest.mark.skipif(FOUND is None or find_spec("xllamacpp") is None, reason="needs: dragoman local install"),
    pytest.mark.timeout(120),
]
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS: dict[str, Any] = {
    "chat": {
        "tools": [{"type": "function", "function": {"name": "read", "parameters": READ}}],
        "tool_choice": "required",
    },
    "messages": {"tools": [{"name": "read", "input_schema": READ}], "tool_choice": {"type": "any"}},
    "responses": {"tools": [{"type": "function", "name": "read", "parameters": READ}], "tool_choice": "required"},
}
LIMIT = {"chat": "max_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}
told: list[Exchanged] = []


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Gate("local", env={"DRAGOMAN_HOME": str(home(os.environ))}, observers=[told.append]) as gate:
        yield gate


def texts(wire: str, said: Any) -> list[str]:
    """All texts of a whole reply, and the arguments of its calls."""
    match wire:
        case "chat":
            message = said["choices"][0]["message"]
            return [message["content"] or "", *(c["function"]["arguments"] for c in message.get("tool_calls", ()))]
        case "messages":
            return [
                block["text"] if block["type"] == "text" else json.dumps(block["input"]) for block in said["content"]
            ]
        case _:
            parts = [item["content"][0]["text"] for item in said["output"] if item["type"] == "message"]
            return [*parts, *(item["arguments"] for item in said["output"] if item["type"] == "function_call")]


@pytest.mark.req("I-13")
@pytest.mark.parametrize("wire", PATHS)
def test_it_answers_whole_and_streamed_and_counts(gate: Gate, wire: str) -> None:
    limit = {LIMIT[wire]: 8}
    whole = gate.say(wire, "Say hello.", **limit)
    stream = events(gate.say(wire, "Say hello.", stream=True, **limit).body)
    assert (whole.status, whole.json["model"]) == (200, "smollm2-135m")
    assert "".join(texts(wire, whole.json)).strip()
    usage = whole.json["usage"]
    assert sum(usage.get(key, 0) for key in ("prompt_tokens", "input_tokens", "cache_read_input_tokens")) > 5
    pieces = {
        "chat": [e["choices"][0]["delta"].get("content") or "" for e in stream if e.get("choices")],
        "messages": [e["delta"].get("text", "") for e in stream if e.get("type") == "content_block_delta"],
        "responses": [e["delta"] for e in stream if e.get("type") == "response.output_text.delta"],
    }[wire]
    assert len(pieces) > 1
    assert "".join(pieces) == "".join(texts(wire, whole.json))
    if wire == "messages":
        counted = gate.ask("/v1/messages/count_tokens", body_of("messages", "Say hello.")).json["input_tokens"]
        assert counted > 0


@pytest.mark.req("I-06", "I-13")
@pytest.mark.parametrize("wire", PATHS)
def test_a_call_that_must_be_is_one_in_the_clients_own_form(gate: Gate, wire: str) -> None:
    said = gate.say(wire, "Read README.md.", **TOOLS[wire]).json
    *_, arguments = texts(wire, said)
    assert isinstance(json.loads(arguments)["path"], str)
    ended = {"chat": lambda: said["choices"][0]["finish_reason"], "messages": lambda: said["stop_reason"]}
    assert ended.get(wire, lambda: said["output"][-1]["type"])() in ("tool_calls", "tool_use", "function_call")


def test_prompts_and_clients_of_the_ollama_wire_are_answered_too(gate: Gate) -> None:
    both = gate.ask("/v1/completions", {"model": "m", "prompt": ["Say a.", "Say b."], "max_tokens": 4}).json
    assert [(choice["index"], bool(choice["text"])) for choice in both["choices"]] == [(0, True), (1, True)]
    said = gate.ask("/api/generate", {"model": "m", "prompt": "Say a.", "options": {"num_predict": 4}, "stream": False})
    assert (said.json["done"], bool(said.json["response"])) == (True, True)
    assert "local" in gate.ask("/api/tags").json["models"][0]["name"]


def test_who_leaves_the_queue_has_asked_nothing_and_the_next_one_is_answered(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "ALIVE", 0.02)
    told.clear()
    first = gate.knock(PATHS["chat"], body_of("chat", "Tell a long story.", stream=True, max_tokens=150))
    while b"content" not in first.recv(65536):
        pass
    second = gate.knock(PATHS["messages"], body_of("messages", "Never asked.", stream=True))
    third = gate.knock(PATHS["responses"], body_of("responses", "Say hello.", stream=True, max_output_tokens=4))
    assert until(lambda: gate.app.active == 3)
    second.close()
    assert until(lambda: gate.app.active == 2)  # while the first one still speaks
    heard = Thread(target=lambda: [None for _ in iter(lambda: first.recv(65536), b"")])
    heard.start()
    answer = b"".join(iter(lambda: third.recv(65536), b""))
    heard.join()
    first.close()
    third.close()
    assert b"response.completed" in answer or b"response.incomplete" in answer
    (left,) = (each for each in told if isinstance(each.error, Cancelled))
    assert (left.request.messages[0].text, left.reply) == ("Never asked.", None)


def test_who_leaves_in_mid_answer_stops_the_model(gate: Gate) -> None:
    line = gate.knock(PATHS["chat"], body_of("chat", "Tell a long story.", stream=True, max_tokens=2000))
    while b"content" not in line.recv(65536):
        pass
    line.close()
    assert until(lambda: gate.app.active == 0)
    assert gate.say("chat", "Say hello.", max_tokens=4).status == 200
