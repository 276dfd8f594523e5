"""Guards against errors inside a 200: told as what they are at any place of a stream, with what had come before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.agent import run
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError
from dragoman.types import Failure, Request, Stop, Text, Usage, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import DONE, WIRES, chat, chunk, data, event, read_however_cut, said

LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
QUEUE = "queue full"

# What a chat stream or body may hold instead of an answer → our code, the status it names, the message.
SHAPES: dict[str, tuple[Any, str, int, str]] = {
    "error object": (
        {"error": {"message": QUEUE, "type": "rate_limit_error", "code": 429}},
        *("rate_limit", 429, QUEUE),
    ),
    "error object, code as text": ({"error": {"message": QUEUE, "code": "429"}}, "rate_limit", 429, QUEUE),
    "error object, status beside": ({"error": {"message": QUEUE}, "status": 429}, "rate_limit", 429, QUEUE),
    "error text": ({"error": QUEUE}, "server_error", 0, QUEUE),
    "error text, code beside": ({"error": QUEUE, "code": 503}, "overloaded", 503, QUEUE),
    "error in error": ({"error": {"error": {"message": QUEUE, "code": 429}}}, "rate_limit", 429, QUEUE),
    "object error": (
        {"object": "error", "message": LONG, "type": "BadRequestError", "param": None, "code": 400},
        *("context_overflow", 400, LONG),
    ),
    "type error": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        *("overloaded", 0, "Overloaded"),
    ),
    "type error, flat": ({"type": "error", "message": QUEUE, "code": 429}, "rate_limit", 429, QUEUE),
    "detail": ({"detail": QUEUE}, "server_error", 0, QUEUE),
    "detail with status": ({"detail": QUEUE, "status_code": 429}, "rate_limit", 429, QUEUE),
    "errors": ({"errors": [{"code": 429, "message": QUEUE}], "success": False}, "rate_limit", 429, QUEUE),
    "message alone": ({"message": QUEUE, "code": 429}, "rate_limit", 429, QUEUE),
    "a router's": (
        {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": QUEUE}}},
        *("rate_limit", 429, f"Provider returned error: {QUEUE}"),
    ),
}
each_shape = pytest.mark.parametrize("shape", SHAPES)


@each_shape
@pytest.mark.case("STR-023")
@pytest.mark.case("STR-054")
@pytest.mark.parametrize("before", ["nothing", "role", "text", "calls"])
@pytest.mark.parametrize("done", [DONE, b""], ids=["done", "no-done"])
def test_an_error_ends_a_stream_at_any_place_and_what_came_is_kept(shape: str, before: str, done: bytes) -> None:
    value, code, _, message = SHAPES[shape]
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}}
    parts: dict[str, list[Any]] = {
        "nothing": [],
        "role": [{"role": "assistant", "content": ""}],
        "text": [{"role": "assistant", "content": "Part"}],
        "calls": [{"content": "Part"}, {"tool_calls": [call]}],
    }
    stream = chat(*parts[before], finish=None, end=data(value) + done)
    seen = read_however_cut("chat", stream)
    assert (seen.failure and (seen.failure.code, seen.failure.message)) == (code, message)
    assert seen.events[-1] is seen.failure
    assert seen.reply.text == ("Part" if before in ("text", "calls") else "")
    assert seen.reply.stop == Stop(reason="error", raw=code, detail=message)


@pytest.mark.case("STR-023")
def test_an_error_beside_the_last_words_keeps_the_words() -> None:
    stream = chunk({"content": "Par"}) + chunk({"content": "t"}, "error", error={"message": QUEUE, "code": 429}) + DONE
    seen = read_however_cut("chat", stream)
    assert seen.reply.text == "Part"
    assert seen.failure == Failure(code="rate_limit", message=QUEUE, status=429, retryable=True)


@pytest.mark.case("STR-054")
@pytest.mark.parametrize("word", ["error", "network_error"])
def test_a_finish_reason_that_says_error_is_no_success(word: str) -> None:
    seen = read_however_cut("chat", chat({"content": "Part"}, finish=word))
    assert seen.reply.stop == Stop(reason="error", raw=word)
    machine = run.Run(Request(messages=(user("x"),)))
    machine.give(seen.reply)
    assert machine.step() == run.Done(outcome="failed", detail=word)
    assert machine.history == [user("x")]


@pytest.mark.case("STR-054")
@pytest.mark.parametrize("space", ["", " "])
def test_an_event_named_error_is_an_error_whatever_it_holds(space: str) -> None:
    stream = chat(
        {"content": "Part"}, finish=None, end=f'event:{space}error\ndata:{space}{{"reason":"x"}}\n\n'.encode()
    )
    seen = read_however_cut("chat", stream)
    assert (seen.failure and seen.failure.code, seen.reply.text) == ("server_error", "Part")


@each_shape
@pytest.mark.case("STP-008")
@pytest.mark.case("STR-054")
def test_a_body_that_is_an_error_is_no_reply_whole_or_where_a_stream_was_asked_for(shape: str) -> None:
    value, code, status, message = SHAPES[shape]
    body = json.dumps(value).encode()
    with pytest.raises(ApiError) as caught:
        find("chat").decode_reply(body, BASE, Exchange())
    error = caught.value
    assert (error.code, error.status, error.message) == (code, status, message)
    assert error.retryable is (code in ("rate_limit", "overloaded", "server_error"))
    seen = read_however_cut("chat", body)
    failure = Failure(code=error.code, message=message, status=status or None, retryable=error.retryable)
    assert seen.events == (failure,)


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
RATE = {"code": "rate_limit_exceeded", "message": QUEUE}
NATIVE: dict[str, dict[str, tuple[bytes, str, str]]] = {
    "chat": {"error": (data({"error": {"message": QUEUE, "code": 429}}), "rate_limit", QUEUE)},
    "messages": {
        "event and type": (event(OVERLOADED), "overloaded", "Overloaded"),
        "type alone": (data(OVERLOADED), "overloaded", "Overloaded"),
        "event alone": (data({"error": OVERLOADED["error"]}, "error"), "overloaded", "Overloaded"),
        "no types": (data({"error": {"message": QUEUE, "code": 429}}), "rate_limit", QUEUE),
    },
    "responses": {
        "flat": (event({"type": "error", **RATE, "param": None}), "rate_limit", QUEUE),
        "nested": (event({"type": "error", "error": RATE}), "rate_limit", QUEUE),
        "no type": (data({"error": RATE}), "rate_limit", QUEUE),
        "failed": (
            event({"type": "response.failed", "response": {"id": "r", "status": "failed", "error": RATE}}),
            *("rate_limit", QUEUE),
        ),
    },
}


@pytest.mark.case("STR-025")
@pytest.mark.parametrize(("wire", "how"), [(wire, how) for wire in WIRES for how in NATIVE[wire]])
def test_each_wire_tells_its_errors_in_mid_stream(wire: str, how: str) -> None:
    stream, code, message = NATIVE[wire][how]
    begun = said(wire, Text(text="Partial"))
    for at in range(len(begun) - 1 - (wire == "chat")):  # before any event but those that end it
        seen = read_however_cut(wire, b"".join([*begun[:at], stream, *begun[at:]]))
        assert (seen.failure and (seen.failure.code, seen.failure.message)) == (code, message)
        assert seen.reply.stop.reason == "error"
        assert seen.reply.text == read_however_cut(wire, b"".join(begun[:at])).reply.text


@pytest.mark.case("STR-025")
def test_usage_that_came_before_an_error_is_kept() -> None:
    begun = said("messages", Text(text="Partial"), usage=(10, 5))[:3]
    seen = read_however_cut("messages", b"".join([*begun, event(OVERLOADED)]))
    usage = Usage(input=10, output=1, opaque={"messages": {"input_tokens": 10, "output_tokens": 1}})
    assert seen.failure == Failure(code="overloaded", message="Overloaded", retryable=True, usage=usage)
    assert seen.reply.usage == usage
