"""Guards one scale of effort for all models: the nearest that a model takes, room for the answer, every change told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.catalog.models import ModelFacts
from dragoman.catalog.target import Target
from dragoman.client import Model
from dragoman.client.effort import SCALE, fitted, nearest
from dragoman.dialect.find import find
from dragoman.types import Note, Request, user

ENV = {"ANTHROPIC_API_KEY": "sk-test-1", "OPENAI_API_KEY": "sk-test-2"}


def target(wire: str, model: str) -> Target:
    provider = {"messages": "anthropic"}.get(wire, "openai")
    dialect = find(provider, wire, model)
    return Target(provider=provider, label="X", wire=wire, model=model, base_url="http://x/v1", dialect=dialect)


def fit(wire: str, model: str, most: int | None = None, **asked: Any) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    facts = None if most is None else ModelFacts(provider="x", id=model, max_output=most)
    made = fitted(Request(**asked), target(wire, model), facts)
    said = {name: value for name in ("effort", "budget", "max_output") if (value := getattr(made.request, name))}
    return said, [(note.path[0], note.action, note.loss) for note in made.notes]


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        (("low", "high"), ["low", "low", "low", "low", "high", "high", "high"]),
        (("none", "low", "medium", "high"), ["none", "low", "low", "medium", "high", "high", "high"]),
        (("minimal", "low"), ["minimal", "minimal", "low", "low", "low", "low", "low"]),
        (("high",), ["high"] * 7),
    ],
)
def test_the_nearest_word_is_asked_for_and_only_none_turns_thinking_off(taken: Any, found: list[str]) -> None:
    assert [nearest(word, taken) for word in SCALE] == found


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize(
    ("budget", "word"), [(1024, "low"), (4096, "low"), (4097, "medium"), (10_000, "high"), (31_999, "high")]
)
def test_a_budget_is_an_effort_where_no_budget_is_taken(wire: str, budget: int, word: str) -> None:
    assert fit(wire, "gpt-5", budget=budget) == ({"effort": word}, [("budget", "substituted", False)])
    assert fit(wire, "gpt-5", budget=budget, effort="low") == ({"effort": "low", "budget": budget}, [])


@pytest.mark.parametrize(("provider", "kept"), [("openrouter", True), ("dashscope", True), ("openai", False)])
def test_a_budget_stays_one_where_the_chat_server_takes_it(provider: str, kept: bool) -> None:
    dialect = find(provider, "chat", "m")
    to = Target(provider=provider, label="X", wire="chat", model="m", base_url="http://x/v1", dialect=dialect)
    made = fitted(Request(budget=5000), to, None)
    assert (made.request.budget, made.request.effort) == ((5000, None) if kept else (None, "medium"))
    said = Request(budget=5000, opaque={"chat": {"~": {"effort": "reasoning"}}})
    assert fitted(said, to, None) == (said, ())


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize(
    ("model", "asked", "found"),
    [
        ("o3", "xhigh", "high"),
        ("gpt-5", "none", "minimal"),
        ("gpt-5-mini", "max", "high"),
        ("gpt-5.1", "minimal", "low"),
        ("gpt-5.2", "max", "xhigh"),
    ],
)
def test_a_word_that_a_model_does_not_take_is_clamped_and_told(wire: str, model: str, asked: str, found: str) -> None:
    assert fit(wire, model, effort=asked) == ({"effort": found}, [("effort", "clamped", True)])


@pytest.mark.parametrize(
    ("model", "asked"), [("gpt-5.2", "xhigh"), ("gpt-5.1", "none"), ("some-model", "max"), ("gpt-5", "auto")]
)
def test_a_word_that_is_taken_or_unknown_goes_as_it_is(model: str, asked: str) -> None:
    assert fit("chat", model, effort=asked) == ({"effort": asked}, [])


def test_a_model_that_takes_a_budget_is_given_one_with_room_for_the_answer() -> None:
    assert fit("messages", "claude-sonnet-4-5", effort="medium", max_output=1000) == (
        {"budget": 8192, "max_output": 9192},
        [("effort", "substituted", False), ("max_output", "substituted", False)],
    )


@pytest.mark.parametrize(
    ("asked", "most", "found", "told"),
    [
        ({"budget": 2000, "max_output": 4000}, None, {"budget": 2000, "max_output": 4000}, []),
        ({"budget": 2000, "max_output": 2000}, None, {"budget": 2000, "max_output": 4000}, ["max_output"]),
        ({"budget": 10, "max_output": 600}, None, {"budget": 1024, "max_output": 1624}, ["budget", "max_output"]),
        ({"budget": 60_000, "max_output": 8000}, 64_000, {"budget": 56_000, "max_output": 64_000}, ["budget", "max_output"]),
        ({"budget": 9000, "max_output": 8000}, 8192, {"budget": 1024, "max_output": 8192}, ["budget", "max_output"]),
        ({"budget": 2000}, None, {"budget": 2000}, []),
        ({"budget": 40_000}, 64_000, {"budget": 40_000, "max_output": 64_000}, ["max_output"]),
        ({"budget": 2000}, 64_000, {"budget": 2000, "max_output": 34_768}, ["max_output"]),
        ({"budget": 60_000}, 32_000, {"budget": 16_000, "max_output": 32_000}, ["max_output", "budget"]),
    ],
)  # fmt: skip
def test_a_budget_is_always_below_the_limit(asked: Any, most: int | None, found: Any, told: list[str]) -> None:
    said, notes = fit("messages", "claude-sonnet-4-5", most, **asked)
    assert (said, [path for path, *_ in notes]) == (found, told)


def test_an_effort_turns_on_thinking_that_finds_its_own_measure() -> None:
    with Model("anthropic/claude-sonnet-5", env=ENV) as model:
        plan = model.plan("hi", effort="high", max_output=600)
        off = model.plan("hi", effort="none", max_output=600)
    body = {"model": "claude-sonnet-5", "max_tokens": 600, "messages": [{"role": "user", "content": "hi"}]}
    assert plan.json == {**body, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    assert off.json == {**body, "thinking": {"type": "disabled"}}


@pytest.mark.case("PAR-002")
def test_a_limit_that_must_be_said_is_what_the_model_can_answer_within_reason() -> None:
    for most, limit in ((16_000, 16_000), (128_000, 32_768)):
        made = fitted(Request(), target("messages", "claude-x"), ModelFacts(provider="x", id="y", max_output=most))
        reason = f"this wire wants a limit: {limit} tokens"
        note = Note(path=("max_output",), action="synthesised", reason=reason, loss=False)
        assert made == (Request(max_output=limit), (note,))


def test_sampling_that_is_refused_while_thinking_is_left_out_and_told() -> None:
    with Model("anthropic/claude-sonnet-4-5", env=ENV) as model:
        plan = model.plan("hi", effort="low", temperature=0.2, max_output=8000)
    assert msgspec.json.decode(plan.body)["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert "temperature" not in plan.json
    assert [note.path for note in plan.lost] == [("sampling", "temperature")]


def test_the_callers_request_is_never_changed() -> None:
    request = Request(messages=(user("hi"),), effort="max", max_output=10)
    before = msgspec.json.encode(request)
    fitted(request, target("messages", "claude-sonnet-4-5"), None)
    assert msgspec.json.encode(request) == before


# --- models that take thinking either way

ADAPTIVE = {"messages": {"thinking": {"type": "adaptive"}}}


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-6-20260217", "anthropic.claude-opus-4-6-v1"])
def test_an_effort_makes_it_think_by_its_own_measure_and_a_budget_stays_one(model: str) -> None:
    asked = fitted(Request(effort="high"), target("messages", model), None)
    assert (asked.request, asked.notes) == (Request(effort="high", opaque=ADAPTIVE), ())
    budget = fitted(Request(budget=5000), target("messages", model), None)
    assert (budget.request, budget.notes) == (Request(budget=5000), ())
    nothing = fitted(Request(effort="none"), target("messages", model), None)
    assert nothing.request == Request(effort="none")


def test_what_is_sent_then_leaves_out_what_is_refused_while_it_thinks() -> None:
    with Model("anthropic/claude-opus-4-6", env=ENV) as model:
        thinks = model.plan("hi", effort="high", temperature=0.2, max_output=2000)
        budget = model.plan("hi", budget=1024, max_output=1000)
        not_asked = model.plan("hi", temperature=0.2, max_output=2000)
    assert (thinks.json["thinking"], thinks.json["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    assert "temperature" not in thinks.json
    assert [note.path for note in thinks.lost] == [("sampling", "temperature")]
    assert (budget.json["thinking"], budget.json["max_tokens"]) == ({"type": "enabled", "budget_tokens": 1024}, 2024)
    assert (not_asked.json["temperature"], not_asked.lost) == (0.2, ())


# --- a model whose effort is of all that it writes, and turns no thinking on

OPUS = ["claude-opus-4-5", "claude-opus-4-5-20251101", "us.anthropic.claude-opus-4-5-20251101-v1:0"]


@pytest.mark.parametrize("model", OPUS)
@pytest.mark.parametrize(
    ("word", "sent", "budget", "clamped"),
    [("low", "low", 4096, 0), ("medium", "medium", 8192, 0), ("high", "high", 16_384, 0), ("max", "high", 16_384, 1)],
)
def test_an_effort_that_turns_no_thinking_on_has_a_budget_beside_it(
    model: str, word: str, sent: str, budget: int, clamped: int
) -> None:
    told = [("effort", "clamped", True)] * clamped + [("budget", "synthesised", False)]
    assert fit("messages", model, effort=word, max_output=32_000) == (
        {"effort": sent, "budget": budget, "max_output": 32_000},
        told,
    )
    assert fit("messages", model, effort=word, budget=2000, max_output=9000) == (
        {"effort": sent, "budget": 2000, "max_output": 9000},
        told[:clamped],
    )
    assert fit("messages", model, effort="none", max_output=9) == ({"effort": "none", "max_output": 9}, [])
    assert fit("messages", model, max_output=9) == ({"max_output": 9}, [])


def test_both_are_sent_with_room_for_the_answer_and_without_what_is_refused_while_it_thinks() -> None:
    with Model("anthropic/claude-opus-4-5", env=ENV) as model:
        plan = model.plan("hi", effort="medium", temperature=0.2, max_output=600)
        off = model.plan("hi", effort="none", temperature=0.2, max_output=600)
    body = {"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "hi"}]}
    thinking = {"type": "enabled", "budget_tokens": 8192}
    assert plan.json == {**body, "max_tokens": 8792, "thinking": thinking, "output_config": {"effort": "medium"}}
    assert [note.path for note in plan.lost] == [("sampling", "temperature")]
    assert off.json == {**body, "max_tokens": 600, "temperature": 0.2, "thinking": {"type": "disabled"}}


@pytest.mark.parametrize("model", ["claude-fable-5", "claude-mythos-preview", "us.anthropic.claude-mythos-5-v1:0"])
def test_thinking_that_cannot_be_turned_off_is_as_little_as_can_be(model: str) -> None:
    assert fit("messages", model, effort="none") == ({"effort": "low"}, [("effort", "clamped", True)])
    assert fitted(Request(effort="max"), target("messages", model), None).request.opaque == ADAPTIVE
