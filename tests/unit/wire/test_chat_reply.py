"""Guards whole chat replies, usage and refusals: read as services say them, written as strict clients want them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import ApiDetail, ApiError, RemoteError
from dragoman.types import (
    HostedCall,
    Message,
    Origin,
    Reasoning,
    Refusal,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
    assistant,
)
from dragoman.wire import find
from dragoman.wire.base import Exchange
from dragoman.wire.faults import OUR_STATUS
from laws.both_ways import body, decode_reply

CHAT = find("chat")
EDGE = Exchange(seed="s", now=7, model="asked")


def read(message: dict[str, Any] | None, finish: Any = "stop", dialect: Dialect = BASE, **more: Any) -> Reply:
    said = {"choices": [{"message": message, "finish_reason": finish}], **more}
    return CHAT.decode_reply(body(said), dialect, Exchange()).value


def written(reply: Reply) -> dict[str, Any]:
    return json.loads(CHAT.encode_reply(reply, BASE, EDGE).body)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("content_filter", "filter"),
        ("eos", "end"),
        ("new_word", "other"),
        (None, "other"),
    ],
)
def test_stop_words(word: str | None, reason: str) -> None:
    assert read({"content": "x"}, word).stop == Stop(reason=reason, raw=word)  # type: ignore[arg-type]


@pytest.mark.req("C-08")
def test_calls_beat_the_word_and_a_cut_does_not_yield() -> None:
    calls = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    assert read({"content": None, "tool_calls": calls}, "stop").stop.reason == "tool_calls"
    assert read({"content": None, "tool_calls": calls}, "length").stop.reason == "length"


def test_the_blocks_of_a_message_in_their_order() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "reasoning_content": "t",
        "refusal": "r",
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}],
    }
    assert [type(block) for block in read(message).message.content] == [Reasoning, Text, Refusal, ToolCall]
    assert read(message, model="m").message.origin == Origin(wire="chat", model="m")


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({}, "choices: expected an array of choices, got null"),
        ({"choices": []}, "choices: "),
        ({"choices": [7]}, r"choices\[0\]: expected a choice"),
        ({"choices": [{"message": "x"}]}, r"choices\[0\]\.message: expected a message \(an object\), got a string"),
        ({"choices": [{"message": {"content": 7}}]}, r"choices\[0\]\.message\.content: expected text"),
    ],
)
def test_an_unreadable_reply_names_its_place(said: dict[str, Any], place: str) -> None:
    with pytest.raises(RemoteError, match=place):
        decode_reply("chat", said)


def test_an_error_inside_a_200_is_the_services_error() -> None:
    with pytest.raises(ApiError) as caught:
        decode_reply("chat", {"error": {"message": "busy", "type": "server_error", "code": 503}})
    assert (caught.value.code, caught.value.message, caught.value.status) == ("overloaded", "busy", 503)


# --- towards a client


def test_a_reply_of_another_wire_has_all_a_strict_client_reads() -> None:
    message = assistant(Reasoning(text="t"), "a", ToolCall.of("t1", "f", {"x": 1}))
    assert written(Reply(message=message, stop=Stop(reason="tool_calls"), usage=Usage(input=1, output=2))) == {
        "id": written(Reply(message=message, stop=Stop(reason="end")))["id"],
        "object": "chat.completion",
        "created": 7,
        "model": "asked",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "a",
                    "reasoning_content": "t",
                    "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}],
                    "refusal": None,
                },
                "finish_reason": "tool_calls",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }


@pytest.mark.parametrize(
    ("stop", "word", "losses"),
    [
        (Stop(reason="end"), "stop", 0),
        (Stop(reason="filter"), "content_filter", 0),
        (Stop(reason="context"), "length", 1),
        (Stop(reason="stop_sequence", sequence="END"), "stop", 2),
        (Stop(reason="pause"), "stop", 1),
    ],
)
def test_the_nearest_word(stop: Stop, word: str, losses: int) -> None:
    out = CHAT.encode_reply(Reply(message=assistant("a"), stop=stop), BASE, EDGE)
    assert json.loads(out.body)["choices"][0]["finish_reason"] == word
    assert len([note for note in out.notes if note.loss]) == losses


def test_what_a_client_cannot_be_told_is_noted() -> None:
    hosted = HostedCall(id="s", name="web_search")
    out = CHAT.encode_reply(
        Reply(message=Message(role="assistant", content=(hosted,)), stop=Stop(reason="end")), BASE, EDGE
    )
    assert json.loads(out.body)["choices"][0]["message"] == {"role": "assistant", "content": "", "refusal": None}
    assert [note.path for note in out.notes] == [("message", "content", 0)]


# --- usage


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 1}, Usage(input=9, output=1)),
        ({"prompt_tokens": 9.0, "completion_tokens": 1}, Usage(input=9, output=1)),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4},
            Usage(input=9, output=1, cache_read=4),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "total_tokens": 15,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(input=9, output=6, reasoning=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 6,
                "total_tokens": 15,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(input=9, output=6, reasoning=5),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.0015}, Usage(input=9, output=1, cost=1_500_000)),
        ({"prompt_tokens": True, "completion_tokens": 1}, Usage(output=1)),
    ],
)
def test_figures_as_services_report_them(raw: dict[str, Any], usage: Usage) -> None:
    got = read({"content": "x"}, usage=raw).usage
    assert got is not None
    assert msgspec.structs.replace(got, opaque=None) == usage
    assert got.opaque == {"chat": raw}


def test_a_dialect_says_where_the_cached_tokens_are() -> None:
    raw = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 163}}
    outside = read({"content": "x"}, dialect=Dialect(usage_cached="outside"), usage=raw).usage
    assert outside is not None
    assert (outside.input, outside.cache_read, outside.uncached) == (170, 163, 7)


def test_usage_that_is_no_usage_stays_what_it_is() -> None:
    reply = read({"content": "x"}, usage=None)
    assert reply.usage is None
    assert written(reply)["usage"] is None


# --- refusals


@pytest.mark.parametrize("code", OUR_STATUS)
def test_each_of_our_codes_is_told_to_a_client_with_a_status(code: Any) -> None:
    status, headers, said = CHAT.encode_error(ApiError(code, "words", ApiDetail(retry_after=2)), BASE)
    assert status == OUR_STATUS[code]
    assert dict(headers) == {"content-type": "application/json", "retry-after": "2"}
    assert json.loads(said)["error"]["message"] == "words"


@pytest.mark.parametrize(
    "code", ["rate_limit", "quota", "context_overflow", "auth", "not_found", "overloaded", "server_error"]
)
def test_a_code_that_a_client_was_told_is_read_as_the_same(code: Any) -> None:
    status, headers, said = CHAT.encode_error(ApiError(code, "words"), BASE)
    assert CHAT.decode_error(status, dict(headers), said, BASE).code == code


@pytest.mark.parametrize("text", [b"", b"<html>Bad gateway</html>", b"\xff\xfe", b"null", b"[]", b'"text"'])
def test_a_refusal_that_is_no_json_has_words_all_the_same(text: bytes) -> None:
    told = CHAT.decode_error(502, {}, text, BASE)
    assert told.status == 502
    assert told.message
    assert told.code == "server_error"
