"""Guards replies on the messages wire: usage as inclusive totals, stops, hosted calls, errors, and what clients see."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import ApiDetail, ApiError, RemoteError
from dragoman.types import (
    Foreign,
    HostedCall,
    HostedResult,
    Message,
    Reasoning,
    Refusal,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from dragoman.types.base import Origin
from dragoman.wire import find
from dragoman.wire.base import Encoded, Exchange
from dragoman.wire.ids import made_id

WIRE = find("messages")
CHAT = Origin(wire="chat", model="m")
ENDED = Stop(reason="end")
# What a usage of this wire has and no other wire's server says.
UNREPORTED: dict[str, None] = {
    **dict.fromkeys(("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo")),
    **dict.fromkeys(("output_tokens_details", "server_tool_use", "service_tier")),
}


def read(**fields: Any) -> Reply:
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    raw = json.dumps(body | fields).encode()
    reply = WIRE.decode_reply(raw, BASE, Exchange()).value
    again = json.loads(WIRE.encode_reply(reply, BASE, Exchange()).body)
    assert again == body | fields, "L2"
    return reply


def show(*content: Any, stop: Stop = ENDED, usage: Usage | None = None) -> Encoded:
    message = Message(role="assistant", content=content, origin=CHAT)
    return WIRE.encode_reply(Reply(message=message, stop=stop, usage=usage), BASE, Exchange(model="m", seed="s"))


def shown(*content: Any, **fields: Any) -> dict[str, Any]:
    return json.loads(show(*content, **fields).body)


@pytest.mark.req("S3-32")
def test_input_leaves_out_the_cache_here_and_holds_it_in_the_middle() -> None:
    raw = {
        "input_tokens": 39,
        "cache_read_input_tokens": 890,
        "cache_creation_input_tokens": 0,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 5},
        "server_tool_use": {"web_search_requests": 2},
        "service_tier": "standard",
        "inference_geo": "eu",
    }
    usage = read(usage=raw).usage
    assert usage == Usage(
        input=929,
        output=7,
        cache_read=890,
        cache_write=0,
        cache_write_1h=0,
        reasoning=5,
        hosted_calls={"web_search": 2},
        tier="standard",
        opaque={"messages": raw},
    )
    assert usage.uncached == 39
    chat = find("chat").decode_reply(
        json.dumps(
            {
                "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": 929,
                    "completion_tokens": 7,
                    "prompt_tokens_details": {"cached_tokens": 890, "audio_tokens": 3},
                },
            }
        ).encode(),
        BASE,
        Exchange(),
    )
    encoded = WIRE.encode_reply(chat.value, BASE, Exchange(seed="s"))
    said = {"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 7}
    assert json.loads(encoded.body)["usage"] == {**UNREPORTED, **said}
    assert [(note.path, note.loss) for note in encoded.notes] == [(("usage", "input_audio"), True)]


@pytest.mark.req("S3-08")
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("pause_turn", "pause"),
        ("model_context_window_exceeded", "context"),
        ("of_tomorrow", "other"),
        (None, "other"),
    ],
)
def test_stop_reasons(word: str | None, reason: str) -> None:
    assert read(stop_reason=word).stop == Stop(reason=reason, raw=word)  # type: ignore[arg-type]


def test_open_calls_beat_the_word_and_hosted_calls_do_not() -> None:
    open_call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    hosted = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    ]
    assert read(content=[open_call]).stop.reason == "tool_calls"
    reply = read(content=hosted)
    assert reply.stop.reason == "end" and reply.calls == ()
    call, result = reply.message.content
    assert isinstance(call, HostedCall) and (call.id, call.name, call.arguments) == (
        "s",
        "web_search",
        '{"query": "x"}',
    )
    assert isinstance(result, HostedResult) and (result.call_id, result.name) == ("s", "web_search")


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "no"}
    stop = read(stop_reason="refusal", stop_details=details).stop
    assert (stop.reason, stop.detail) == ("refusal", "no")
    said = shown(Text(text="x"), stop=Stop(reason="filter", raw="content_filter", detail="why"))
    assert (said["stop_reason"], said["stop_details"]["explanation"]) == ("refusal", "why")


@pytest.mark.parametrize(
    ("block", "typed"),
    [
        (
            {
                "type": "text",
                "text": "x",
                "citations": [{"type": "char_location"}],
                "cache_control": {"type": "ephemeral"},
            },
            Text,
        ),
        ({"type": "thinking", "thinking": "", "signature": "s"}, Reasoning),
        ({"type": "redacted_thinking", "data": "d"}, Reasoning),
        ({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}}, ToolCall),
        ({"type": "mcp_tool_use", "id": "t", "name": "f", "input": {"a": 1}, "server_name": "x"}, HostedCall),
        ({"type": "compaction", "content": "x"}, Foreign),
    ],
)
def test_no_leftover_copies_what_a_field_holds(block: dict[str, Any], typed: type) -> None:
    decoded = read(content=[block]).message.content[0]
    assert isinstance(decoded, typed)
    left = {key for key in (decoded.opaque or {}).get("messages", {}) if not key.startswith("~")}
    modelled = {
        "type",
        "text",
        "citations",
        "cache_control",
        "thinking",
        "id",
        "name",
        "input",
        "tool_use_id",
        "content",
    }
    assert left & modelled == set()


def test_a_reply_of_another_wire_is_whole_for_a_strict_client() -> None:
    assert shown(Text(text="a"), usage=None) == {
        "id": made_id("msg_", "s"),
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "a", "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": {**UNREPORTED, "input_tokens": 0, "output_tokens": 0},
    }
    call = ToolCall.of("t1", "f", {"x": 1})
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}, "caller": {"type": "direct"}}
    assert shown(call)["content"] == [block]


def test_reasoning_of_any_origin_is_shown_and_its_carrier_signs_it() -> None:
    carried = Reasoning(text="b", opaque={"chat": {"k": 1}, "messages": {"signature": "drg1AA"}})
    summary = Reasoning(summary=("one", "two"))
    content = shown(Reasoning(text="a"), carried, summary, Refusal(text="no"), Text(text=" "))["content"]
    assert content == [
        {"type": "thinking", "thinking": "a", "signature": ""},
        {"type": "thinking", "thinking": "b", "signature": "drg1AA"},
        {"type": "thinking", "thinking": "one\n\ntwo", "signature": ""},
        {"type": "text", "text": "no", "citations": None},
    ]
    lost = show(Reasoning(redacted=True, opaque={"responses": {"encrypted_content": "x"}}), Text(text="a"))
    assert {note.path for note in lost.notes if note.loss} == {("message", "content", 0)}


def test_an_error_is_read_and_written_with_its_request_id() -> None:
    body = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded", "details": {"error_code": "busy"}},
        "request_id": "req_1",
    }
    error = WIRE.decode_error(529, {"retry-after": "3"}, json.dumps(body).encode(), BASE)
    assert (error.code, error.retryable, error.message) == ("overloaded", True, "Overloaded")
    assert error.detail == ApiDetail(
        status=529, retry_after=3.0, vendor_code="busy", vendor_type="overloaded_error", body=body
    )
    del body["error"]["details"]  # type: ignore[attr-defined]
    status, headers, raw = WIRE.encode_error(error, BASE)
    assert (status, dict(headers)["retry-after"], json.loads(raw)) == (529, "3", body)


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        ("rate_limit", "rate_limit_error", 429),
        ("quota", "billing_error", 402),
        ("context_overflow", "invalid_request_error", 400),
        ("too_large", "request_too_large", 413),
        ("not_found", "not_found_error", 404),
        ("overloaded", "overloaded_error", 529),
        ("network", "api_error", 502),
        ("bad_shape", "invalid_request_error", 400),
    ],
)
def test_our_codes_are_this_wires_words(code: Any, kind: str, status: int) -> None:
    said, _, raw = WIRE.encode_error(ApiError(code, "why"), BASE)
    assert (said, json.loads(raw)) == (status, {"type": "error", "error": {"type": kind, "message": "why"}})


def test_other_shapes_of_refusals_are_read() -> None:
    assert WIRE.decode_error(403, {}, b'{"message": "no"}', BASE).code == "permission"
    assert WIRE.decode_error(502, {}, b"<html>", BASE).code == "server_error"
    too_long = b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}'
    assert WIRE.decode_error(400, {}, too_long, BASE).code == "context_overflow"
    with pytest.raises(ApiError):
        WIRE.decode_reply(too_long, BASE, Exchange())
    with pytest.raises(RemoteError, match="content: expected an array"):
        WIRE.decode_reply(b'{"choices": []}', BASE, Exchange())
