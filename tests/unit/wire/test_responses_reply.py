"""Guards replies on the responses wire: stop reasons that no word says, usage, and bodies that the vendor's SDK takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, RemoteError
from dragoman.types import Message, Reasoning, Refusal, Reply, Stop, Text, ToolCall, Usage
from dragoman.types.base import Origin
from dragoman.wire.base import Exchange
from responses_body import SEEDED, WIRE, incoming, reply, response, shown, told

TEXT = {"type": "output_text", "text": "Hi", "annotations": []}
SAID = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [TEXT]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
CHAT = Origin(wire="chat", model="qwen")


@pytest.mark.req("S3-08", "C-08")
@pytest.mark.parametrize(
    ("fields", "output", "reason"),
    [
        ({}, [SAID], "end"),
        ({}, [SAID, CALL], "tool_calls"),
        ({}, [SEARCH, SAID], "end"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, [SAID], "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, [CALL], "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, [], "filter"),
        ({"status": "queued"}, [], "pause"),
        ({"status": "in_progress"}, [], "pause"),
        ({"status": "cancelled"}, [SAID], "cancelled"),
        ({"status": "weighed"}, [SAID], "other"),
    ],
)
def test_the_stop_is_read_off_the_status_and_the_items(fields: Any, output: Any, reason: str) -> None:
    value = reply(*output, **fields)
    assert (value.stop.reason, value.stop.raw, value.stop.detail) == (reason, fields.get("status", "completed"), None)
    assert shown(value) == response(*output, **{"status": "completed", **fields})


def test_a_failed_response_is_an_error() -> None:
    body = response(status="failed", error={"code": "rate_limit_exceeded", "message": "slow down"})
    with pytest.raises(ApiError) as caught:
        WIRE.decode_reply(json.dumps(body).encode(), BASE, Exchange())
    assert (caught.value.code, caught.value.message, caught.value.retryable) == ("rate_limit", "slow down", True)


def test_a_body_without_items_is_refused_with_its_place() -> None:
    with pytest.raises(RemoteError) as caught:
        WIRE.decode_reply(b'{"id":"resp_1","choices":[]}', BASE, Exchange())
    assert caught.value.path == ("output",)


@pytest.mark.req("S3-32", "S3-33")
def test_usage_is_inclusive_as_said() -> None:
    raw = {
        "input_tokens": 929,
        "input_tokens_details": {"cached_tokens": 890},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 969,
    }
    usage = reply(SAID, usage=raw).usage
    assert usage == Usage(input=929, output=40, cache_read=890, reasoning=30, opaque={"responses": raw})
    assert usage is not None and usage.uncached == 39


def test_what_a_response_repeats_of_its_request_says_nothing_elsewhere() -> None:
    body = response(SAID, status="completed", tools=[], temperature=1.0, instructions="Be brief.", weather="fine")
    value = WIRE.decode_reply(json.dumps(body).encode(), BASE, Exchange()).value
    echo = {"tools": [], "temperature": 1.0, "instructions": "Be brief."}
    assert value.opaque == {"responses": {"object": "response", "weather": "fine", "~echo": echo}}
    assert shown(value) == body


def foreign() -> Reply:
    """What a model on another wire answered."""
    content = (
        Reasoning(text="Let me look."),
        Text(text="Reading"),
        Text(text="both.", citations=({"type": "char_location"},)),
        ToolCall(id="call_a", name="read_file", arguments='{"path":"a.py"}'),
        ToolCall(id="call_b", name="sql", arguments="select 1", kind="custom"),
    )
    message = Message(role="assistant", content=content, origin=CHAT)
    usage = Usage(input=9, output=4, cache_read=3, opaque={"chat": {"prompt_tokens": 9}})
    return Reply(message=message, stop=Stop(reason="tool_calls", raw="tool_calls"), usage=usage, model="qwen")


def test_a_foreign_reply_is_a_response_that_repeats_its_request() -> None:
    tool = {"type": "function", "name": "read_file", "parameters": {"type": "object"}, "strict": False}
    asked = incoming({"model": "m", "input": "hi", "tools": [tool], "temperature": 0, "instructions": "Be brief."})
    exchange = Exchange(seed="s", now=1_700_000_000, model="m", echo=asked.exchange.echo)
    out = WIRE.encode_reply(foreign(), BASE, exchange)
    body = json.loads(out.body)
    ids = [item.pop("id") for item in body["output"]]
    assert [id.split("_")[0] for id in (body.pop("id"), *ids)] == ["resp", "rs", "msg", "fc", "ctc"]
    reading, both = ({"type": "output_text", "text": text, "annotations": []} for text in ("Reading", "both."))
    assert (body.pop("frequency_penalty"), body.pop("presence_penalty")) == (0.0, 0.0)
    assert body == {
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "qwen",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": [
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Let me look."}]},
            {"type": "message", "status": "completed", "role": "assistant", "content": [reading, both]},
            {
                "type": "function_call",
                "status": "completed",
                "call_id": "call_a",
                "name": "read_file",
                "arguments": '{"path":"a.py"}',
            },
            {"type": "custom_tool_call", "call_id": "call_b", "name": "sql", "input": "select 1"},
        ],
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 13,
        },
        "tools": [{**tool, "description": None}],
        "temperature": 0,
        "instructions": "Be brief.",
        "tool_choice": "auto",
        "top_p": 1.0,
        "top_logprobs": 0,
        "background": False,
        "completed_at": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "user": None,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "store": True,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "text": {"format": {"type": "text"}},
        "truncation": "disabled",
    }
    assert told(out.notes) == [(("message", "content", 2, "citations"), "dropped", True)]
    assert WIRE.encode_reply(foreign(), BASE, exchange).body == out.body


def test_the_official_types_take_a_foreign_reply() -> None:
    models = pytest.importorskip("openai.types.responses")
    refused = Message(role="assistant", content=(Refusal(text="No."),), origin=CHAT)
    for value in (foreign(), Reply(message=refused, stop=Stop(reason="filter"), usage=Usage(input=1, output=1))):
        taken = models.Response.model_validate_json(WIRE.encode_reply(value, BASE, SEEDED).body)
        assert taken.output_text == "".join(block.text for block in value.message.content if isinstance(block, Text))


def test_reasoning_is_shown_as_a_summary_where_the_dialect_says_so() -> None:
    first = shown(foreign(), reasoning_as_summary=True)["output"][0]
    assert (first["summary"], "content" in first) == ([{"type": "summary_text", "text": "Let me look."}], False)


def test_errors_in_both_directions() -> None:
    body = {"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}}
    error = WIRE.decode_error(404, {"retry-after": "3"}, json.dumps(body).encode(), BASE)
    assert (error.code, error.status, error.detail.retry_after) == ("not_found", 404, 3.0)
    status, headers, written = WIRE.encode_error(error, BASE)
    assert (status, dict(headers)["retry-after"]) == (404, "3")
    assert json.loads(written) == {"error": {**body["error"], "param": None}}
    assert WIRE.decode_error(401, {}, b'{"detail": "sign in"}', BASE).code == "auth"
