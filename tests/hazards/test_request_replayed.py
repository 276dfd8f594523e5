"""Guards replies that a client dumps and sends back: nulls, and keys of replies and streams, reach no foreign body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.find import named
from dragoman.dialect.model import BASE, override
from dragoman.translate import Options
from dragoman.wire import find
from dragoman.wire.base import Http

STRICT = override(BASE, {"nulls": False})
QUESTION = {"role": "user", "content": "x"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "default": None, "index": None}}}

# What clients send of a reply that they dumped whole: each key beside what it must be left out of.
DUMPED: dict[str, dict[str, Any]] = {
    "messages": {
        "max_tokens": 9,
        "messages": [
            QUESTION,
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "a", "citations": None, "parsed_output": None},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": None}, "caller": None},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": None}],
            },
        ],
        "tools": [{"name": "f", "description": None, "input_schema": SCHEMA, "cache_control": None}],
        "temperature": None,
        "stop_sequences": None,
    },
    "chat": {
        "max_tokens": 9,
        "messages": [
            QUESTION,
            {
                "role": "assistant",
                "content": "a",
                "refusal": None,
                "audio": None,
                "function_call": None,
                "parsed": None,
                "reasoning_content": None,
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "t1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a":null}', "parsed_arguments": {"a": None}},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "ok", "name": None},
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "description": None, "parameters": SCHEMA, "strict": None}}
        ],
        "temperature": None,
        "stop": None,
    },
    "responses": {
        "max_output_tokens": 9,
        "input": [
            QUESTION,
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": None,
                "phase": None,
                "content": [
                    {"type": "output_text", "text": "a", "annotations": [], "logprobs": None, "parsed": {"b": 1}}
                ],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "t1",
                "name": "f",
                "arguments": '{"a":null}',
                "status": None,
                "namespace": None,
                "caller": None,
                "parsed_arguments": {"a": None},
            },
            {"type": "function_call_output", "call_id": "t1", "output": "ok", "id": None, "status": None},
        ],
        "tools": [{"type": "function", "name": "f", "description": None, "parameters": SCHEMA, "strict": False}],
        "temperature": None,
    },
}
CALL = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":null}'}}
BARE: dict[str, dict[str, Any]] = {
    "messages": {
        "max_tokens": 9,
        "messages": [
            QUESTION,
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": None}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
    },
    "chat": {
        "max_tokens": 9,
        "messages": [
            QUESTION,
            {"role": "assistant", "content": "a", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "t1", "content": "ok"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    },
    "responses": {
        "max_output_tokens": 9,
        "input": [
            QUESTION,
            {"type": "message", "role": "assistant", "content": "a"},
            {"type": "function_call", "call_id": "t1", "name": "f", "arguments": '{"a":null}'},
            {"type": "function_call_output", "call_id": "t1", "output": "ok"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}],
    },
}
PAIRS = [(source, target) for source in DUMPED for target in DUMPED if source != target]


def sent(source: str, target: str, options: Options) -> tuple[dict[str, Any], set[tuple[str, bool]]]:
    body = json.dumps(DUMPED[source], separators=(",", ":")).encode()
    done = translate.request(Http(body=body), find(source), find(target), options)
    return json.loads(done.http.body), {(note.action, note.loss) for note in done.notes}


def nulls(value: Any, path: str = "") -> Iterator[str]:
    """Where a body says null, beside what a tool's schema and a call's input say."""
    if value is None:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key not in ("input_schema", "parameters") and not (key == "input" and isinstance(item, dict)):
            yield from nulls(item, f"{path}.{key}")


@pytest.mark.case("REQ-030")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_another_wire_gets_its_own_keys_only(source: str, target: str) -> None:
    body, _ = sent(source, target, Options())
    if source == "responses":  # a definition there says whether it is strict
        (entry,) = body["tools"]
        assert entry.get("function", entry).pop("strict") is False
    kept = {} if target != "responses" else {"store": False}  # nobody agreed to that
    assert body == BARE[target] | kept


@pytest.mark.case("REQ-030")
@pytest.mark.parametrize("wire", DUMPED)
def test_a_strict_server_of_the_same_wire_gets_no_null_and_no_key_of_replies(wire: str) -> None:
    body, told = sent(wire, wire, Options(target=STRICT))
    assert list(nulls(body)) == []
    wanted = BARE[wire]
    if wire == "responses":  # ids and lists of this wire's own say something
        part = {"type": "output_text", "text": "a", "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        question, _, call, answer = wanted["input"]
        wanted = {**wanted, "input": [question, message, {**call, "id": "fc_1"}, answer]}
    assert body == wanted
    assert not any(loss for _, loss in told)


@pytest.mark.case("REQ-030")
@pytest.mark.parametrize(("name", "wire"), [("bedrock", "messages"), ("groq", "chat"), ("mistral", "chat")])
def test_servers_that_are_known_to_refuse_them_get_none(name: str, wire: str) -> None:
    body, _ = sent(wire, wire, Options(target=named(name, wire)))
    assert list(nulls(body)) == []
    assert b"index" not in json.dumps({**body, "tools": []}).encode()


@pytest.mark.case("REQ-030")
def test_content_that_must_be_said_stays_null() -> None:
    body = {"messages": [QUESTION, {"role": "assistant", "content": None, "tool_calls": [{**CALL, "index": 0}]}]}
    answer = {"role": "tool", "tool_call_id": "t1", "content": "ok"}
    body["messages"].append(answer)
    http = Http(body=json.dumps(body).encode())
    out = translate.request(http, find("chat"), find("chat"), Options(target=STRICT)).http.body
    assert json.loads(out) == {
        "messages": [QUESTION, {"role": "assistant", "content": None, "tool_calls": [CALL]}, answer]
    }
