"""Guards the limit that the messages wire must have (PAR-002): what the model can answer, with room beside its thinking."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.convert import Job, convert
from dragoman.dialect.find import find as find_dialect
from dragoman.types import Request, user
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http

LIMITS = {
    "claude": 8192,  # nobody knows it
    "claude-3-haiku-20240307": 4096,  # all that it answers
    "claude-3-5-sonnet-20241022": 8192,
    "claude-opus-4-20250514": 32000,
    "claude-opus-4-1": 32000,
    "claude-sonnet-4-20250514": 32768,
    "claude-sonnet-4-5-20250929": 32768,
    "anthropic.claude-haiku-4-5": 32768,
    "claude-opus-4-7": 32768,
    "claude-opus-5": 32768,
}
MOST = {"claude-3-haiku-20240307": 4096, "claude-opus-4-1": 32000, "claude-opus-4-5": 64000, "claude-opus-4-6": 128000}


def asked(wire: str, model: str, **more: Any) -> bytes:
    turns = [{"role": "user", "content": "x"}]
    return json.dumps({"model": model, "input" if wire == "responses" else "messages": turns, **more}).encode()


def sent(model: str, **fields: Any) -> tuple[dict[str, Any], list[tuple[Any, str, bool]]]:
    request = Request(model=model, messages=(user("x"),), **fields)
    out = find("messages").encode_request(request, find_dialect("anthropic", "messages", model), Exchange())
    return json.loads(out.http.body), [(note.path, note.action, note.loss) for note in out.notes]


@pytest.mark.case("PAR-002")
@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize(("model", "limit"), LIMITS.items())
def test_a_client_that_says_no_limit_gets_what_the_model_can_answer(wire: str, model: str, limit: int) -> None:
    done = convert(Job(op="request", source=wire, target="messages", body=asked(wire, model)))
    assert json.loads(done.body)["max_tokens"] == limit
    assert [(note.path, note.action, note.loss) for note in done.notes] == [(("max_output",), "synthesised", False)]


@pytest.mark.case("PAR-002")
@pytest.mark.parametrize("model", ["claude", "claude-opus-4-1", "claude-sonnet-4-5"])
@pytest.mark.parametrize("budget", [1024, 8192, 31_000])
def test_thinking_leaves_room_for_an_answer(model: str, budget: int) -> None:
    body, told = sent(model, budget=budget)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert budget < body["max_tokens"] <= budget + LIMITS.get(model, 32768)
    assert (("max_output",), "synthesised", False) in told


@pytest.mark.case("PAR-002")
@pytest.mark.parametrize("limit", [1, 1000, 2048])
def test_a_limit_that_another_wire_meant_for_the_answer_alone_gets_the_budget_on_top(limit: int) -> None:
    body, told = sent("claude-sonnet-4-5", budget=2048, max_output=limit)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (limit + 2048, 2048)
    assert told == [(("max_output",), "substituted", False)]


@pytest.mark.case("PAR-002")
@pytest.mark.parametrize(("model", "most"), MOST.items())
def test_no_limit_of_ours_is_more_than_the_model_can_answer(model: str, most: int) -> None:
    assert sent(model, budget=most - 1)[0]["max_tokens"] == most
    assert sent(model, budget=most - 1, max_output=most - 1)[0]["max_tokens"] == most


@pytest.mark.parametrize("limit", [1, 4096, 200_000])
def test_a_limit_that_was_said_is_kept(limit: int) -> None:
    body, told = sent("claude-opus-4-1", max_output=limit)
    assert (body["max_tokens"], told) == (limit, [])


@pytest.mark.parametrize("limit", [0, 100, 2048])
def test_a_client_of_this_wire_answers_for_his_own_limit(limit: int) -> None:
    thinking = {"type": "enabled", "budget_tokens": 2048}
    said = asked("messages", "claude-sonnet-4-5", max_tokens=limit, thinking=thinking)
    wire, dialect = find("messages"), find_dialect("anthropic", "messages", "claude-sonnet-4-5")
    incoming = wire.decode_request(Http(body=said), dialect, Exchange())
    out = wire.encode_request(incoming.request, dialect, incoming.exchange)
    assert (json.loads(out.http.body), out.notes) == (json.loads(said), ())
