"""Guards parameters that a model refuses: each goes under the key its model takes, or is left out and told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.catalog.find import find as find_target
from dragoman.convert import Job, convert
from dragoman.dialect.find import families, named
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.types import Request, Sampling, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange

THINKERS = (
    "o1",
    "o3",
    "o3-mini",
    "o4-mini",
    "o4-mini-2025-04-16",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-2025-08-07",
    "gpt-5.5",
)
WHEN_ASKED = ("gpt-5.1", "gpt-5.2", "gpt-5.4-mini")
CLASSIC = ("gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "deepseek-chat", "o", "my-o3")
NO_SAMPLING = (
    "claude-opus-4-7",
    "claude-opus-4-8-20260501",
    "claude-opus-5",
    "claude-sonnet-5",
    "us.anthropic.claude-opus-4-7-v1:0",
)
SAMPLED = ("claude-opus-4-6", "claude-opus-4-20250514", "claude-sonnet-4-5", "claude-3-7-sonnet-20250219")


def written(request: Request, wire: str, dialect: Dialect) -> tuple[dict[str, Any], list[tuple[Any, str, bool]]]:
    """The body without what was not asked about, and what was told."""
    out = find(wire).encode_request(request, dialect, Exchange())
    body = json.loads(out.http.body)
    kept = {key: value for key, value in body.items() if key not in ("messages", "input", "model")}
    return kept, [(note.path, note.action, note.loss) for note in out.notes]


def asked(model: str, **more: Any) -> Request:
    sampling = Sampling(temperature=0.2, top_k=40)
    return Request(**{"model": model, "messages": (user("x"),), "max_output": 500, "sampling": sampling} | more)


def dropped(*path: str) -> tuple[Any, str, bool]:
    return path, "dropped", True


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("model", THINKERS)
def test_a_chat_model_that_reasons_gets_its_own_limit_and_no_sampling(model: str) -> None:
    body, told = written(asked(model, stop=("X",)), "chat", find_dialect("openai", "chat", model))
    assert body == {"max_completion_tokens": 500}
    assert sorted(told) == [dropped("sampling", "temperature"), dropped("sampling", "top_k"), dropped("stop")]


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("model", CLASSIC)
@pytest.mark.parametrize(("server", "limit"), [("openai", "max_completion_tokens"), (None, "max_tokens")])
def test_a_classic_model_gets_them_all(model: str, server: str | None, limit: str) -> None:
    body, told = written(asked(model, stop=("X",)), "chat", find_dialect(server, "chat", model))
    assert body == {limit: 500, "temperature": 0.2, "stop": ["X"]}
    assert told == [dropped("sampling", "top_k")]


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("model", WHEN_ASKED)
@pytest.mark.parametrize(("effort", "kept"), [("high", False), ("none", True), (None, True)])
def test_a_model_that_reasons_when_asked_refuses_sampling_then_only(
    wire: str, model: str, effort: str | None, kept: bool
) -> None:
    request = asked(model, sampling=Sampling(temperature=0.2), effort=effort)
    body, told = written(request, wire, find_dialect("openai", wire, model))
    assert body.get("temperature") == (0.2 if kept else None)
    assert told == ([] if kept else [dropped("sampling", "temperature")])


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("model", THINKERS)
def test_a_responses_model_that_reasons_takes_no_sampling(model: str) -> None:
    body, told = written(asked(model, stop=("X",)), "responses", find_dialect("openai", "responses", model))
    assert body == {"max_output_tokens": 500}
    assert sorted(told) == [dropped("sampling", "temperature"), dropped("sampling", "top_k"), dropped("stop")]


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("model", NO_SAMPLING)
def test_a_messages_model_that_measures_its_own_thinking_takes_no_sampling_and_no_budget(model: str) -> None:
    request = asked(model, stop=("X",), budget=2048)
    body, told = written(request, "messages", find_dialect("anthropic", "messages", model))
    assert body == {"max_tokens": 500, "stop_sequences": ["X"], "thinking": {"type": "adaptive"}}
    adaptive = (("budget",), "substituted", True)
    assert sorted(told) == [adaptive, dropped("sampling", "temperature"), dropped("sampling", "top_k")]


@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("model", SAMPLED)
def test_an_older_messages_model_gets_them_all(model: str) -> None:
    body, told = written(asked(model, stop=("X",)), "messages", find_dialect("anthropic", "messages", model))
    assert body == {"max_tokens": 500, "temperature": 0.2, "top_k": 40, "stop_sequences": ["X"]}
    assert told == []


@pytest.mark.case("PAR-001")
def test_the_case_as_it_was_met() -> None:
    body = {
        "model": "gpt-5",
        "max_tokens": 500,
        "temperature": 0.2,
        "top_k": 40,
        "stop_sequences": ["X"],
        "messages": [{"role": "user", "content": "x"}],
    }
    done = convert(Job(op="request", source="messages", target="chat", body=json.dumps(body).encode()))
    assert json.loads(done.body) == {"model": "gpt-5", "messages": body["messages"], "max_completion_tokens": 500}
    assert sorted(note.path for note in done.notes) == [("sampling", "temperature"), ("sampling", "top_k"), ("stop",)]
    classic = convert(
        Job(op="request", source="messages", target="chat", body=json.dumps({**body, "model": "m"}).encode())
    )
    assert json.loads(classic.body) == {
        "model": "m",
        "messages": body["messages"],
        "max_tokens": 500,
        "temperature": 0.2,
        "stop": ["X"],
    }


@pytest.mark.case("PAR-001")
def test_a_limit_under_the_key_that_the_model_refuses_goes_under_the_other() -> None:
    body = {"model": "o3", "max_tokens": 500, "messages": [{"role": "user", "content": "x"}]}
    job = Job(op="request", source="chat", target="chat", provider="openai", body=json.dumps(body).encode())
    assert json.loads(convert(job).body) == {**_without(body, "max_tokens"), "max_completion_tokens": 500}
    other = {**_without(body, "max_tokens"), "model": "mistral-large", "max_completion_tokens": 500}
    job = Job(op="request", source="chat", target="chat", provider="mistral", body=json.dumps(other).encode())
    assert json.loads(convert(job).body) == {**body, "model": "mistral-large"}


def test_a_body_that_stays_on_its_wire_for_no_provider_passes_as_it_is() -> None:
    body = b'{"model":"o3", "max_tokens": 5, "temperature": 0, "messages":[{"role":"user","content":"x"}]}'
    assert convert(Job(op="request", source="chat", target="chat", body=body)).body == body


def test_a_server_limits_temperature_and_stops_and_tells_it() -> None:
    request = asked("kimi", sampling=Sampling(temperature=1.7), stop=("a", "b"))
    body, told = written(request, "chat", override(named("moonshot", "chat"), {"max_stop": 1}))
    assert body == {"max_tokens": 500, "temperature": 1.0, "stop": ["a"]}
    assert sorted(told) == [(("sampling", "temperature"), "clamped", True), (("stop",), "clamped", True)]


@pytest.mark.req("S0-21")
def test_a_family_adds_to_what_the_server_refuses_and_its_facts_win() -> None:
    copilot = find_dialect("copilot", "chat", "gpt-5")
    assert set(named("copilot", "chat").unsupported) < set(copilot.unsupported)
    assert (copilot.name, copilot.max_tokens_key) == ("copilot", "max_completion_tokens")
    assert find_dialect("copilot", "chat", "gpt-4o") is named("copilot", "chat")


def test_a_target_of_the_catalogue_has_its_model_s_facts_and_the_caller_has_the_last_word() -> None:
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    assert "temperature" in find_target("openai/gpt-5", env).dialect.unsupported
    assert find_target("openai/gpt-5", env, dialect={"unsupported": ()}).dialect.unsupported == ()
    assert find_target("anthropic/claude-opus-4-7", env).dialect.thinking_form == "adaptive"


@pytest.mark.parametrize("family", families(), ids=lambda family: f"{family.wire} {family.pattern.pattern[:20]}")
def test_each_family_names_its_source_and_says_something(family: Any) -> None:
    assert family.wire in WIRES
    assert len(family.source) > 10
    dialect = override(BASE, family.facts)
    assert all(getattr(dialect, fact) != getattr(BASE, fact) for fact in family.facts)
    assert family.facts


def _without(body: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != key}
