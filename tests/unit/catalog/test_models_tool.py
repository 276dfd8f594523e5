"""Guards how prices are read out of the package's source: by date, by size, by service, by any name, nothing run."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from scripts import script

tool = script("model_prices")
TODAY = date(2026, 11, 30)
SOURCE = """
import datetime
raise SystemExit("this must not be run")
providers: list[Provider] = [
    Provider(
        id='acme',
        models=[
            ModelInfo(
                id='big',
                match=ClauseOr(or_=[ClauseEquals(equals='big'), ClauseRegex(regex='^big-\\\\d+$')]),
                name='Big',
                context_window=1000,
                prices=[
                    ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('9'), output_mtok=Decimal('9'))),
                    ConditionalPrice(
                        constraint=StartDateConstraint(start_date=datetime.date(2026, 11, 9)),
                        prices=ModelPrice(
                            input_mtok=TieredPrices(base=Decimal('2'), tiers=[Tier(start=100, price=Decimal('4'))]),
                            output_mtok=Decimal('0.0375'),
                            web_searches_kcount=Decimal('10'),
                        ),
                    ),
                    ConditionalPrice(
                        constraint=StartDateConstraint(start_date=datetime.date(2026, 12, 1)),
                        prices=ModelPrice(input_mtok=Decimal('7'), output_mtok=Decimal('7')),
                    ),
                    ConditionalPrice(
                        constraint=TimeOfDateConstraint(start_time=datetime.time(1), end_time=datetime.time(2)),
                        prices=ModelPrice(input_mtok=Decimal('1'), output_mtok=Decimal('1')),
                    ),
                ],
                price_variants=[
                    PriceVariant(when={'service_tier': 'default'}, prices=ModelPrice(), constraint=None),
                    PriceVariant(when={'processing': 'batch'}, prices=ModelPrice(output_mtok=Decimal('0.01'))),
                    PriceVariant(when={'service_tier': 'flex', 'speed': 'fast'}, prices=ModelPrice()),
                    PriceVariant(
                        when={'service_tier': 'late'},
                        prices=ModelPrice(output_mtok=Decimal('3')),
                        constraint=StartDateConstraint(start_date=datetime.date(2026, 12, 1)),
                    ),
                ],
            ),
            ModelInfo(id='heard', match=ClauseEquals(equals='heard'), prices=ModelPrice(audio_hours=Decimal('1'))),
        ],
    ),
]
"""


def test_the_prices_of_today_by_size_and_service() -> None:
    day, found = tool.listed(SOURCE, TODAY)
    (big,) = found["acme"]
    tier = {"above": 100, "input": Decimal(4), "output": Decimal("0.0375")}
    assert day == "2026-11-09"
    assert (big.id, big.label, big.context) == ("big", "Big", 1000)
    assert big.prices == {
        "input": Decimal(2),
        "output": Decimal("0.0375"),
        "tiers": [tier],
        "services": {
            "batch": {
                "input": Decimal(2),
                "output": Decimal("0.01"),
                "tiers": [{**tier, "output": Decimal("0.01")}],
            }
        },
    }


def test_a_price_that_has_not_begun_does_not_hold() -> None:
    assert tool.listed(SOURCE, date(2026, 11, 8))[1]["acme"][0].prices["input"] == Decimal(9)
    assert tool.listed(SOURCE, date(2026, 12, 1))[1]["acme"][0].prices["input"] == Decimal(7)


@pytest.mark.parametrize(
    ("match", "name", "fits"),
    [
        ({"is": "ClauseOr", "or_": [{"is": "ClauseEquals", "equals": "a"}]}, "A", True),
        ({"is": "ClauseAnd", "and_": [{"is": "ClauseStartsWith", "starts_with": "a"}]}, "ab", True),
        ({"is": "ClauseNot", "not_": {"is": "ClauseContains", "contains": "b"}}, "abc", False),
        ({"is": "ClauseEndsWith", "ends_with": "C"}, "abc", True),
        ({"is": "ClauseRegex", "regex": "^big-\\d+$"}, "big-7", True),
        ({"is": "ClauseRegex", "regex": "^big-\\d+$"}, "big-x", False),
    ],
)
def test_a_model_goes_by_the_names_that_its_clause_fits(match: dict[str, Any], name: str, fits: bool) -> None:
    assert tool._fits(match, name.lower()) is fits


def test_abilities_of_models_by_our_names_for_providers() -> None:
    rows = {
        "sample_spec": {"litellm_provider": "one of many", "max_input_tokens": "a number"},
        "gemini/Gemini-9": {
            "litellm_provider": "gemini",
            "mode": "chat",
            "max_input_tokens": 1000,
            "max_output_tokens": "8192",
            "supports_vision": True,
            "supports_pdf_input": False,
            "supports_function_calling": True,
        },
        "gemini/speaks": {"litellm_provider": "gemini", "mode": "audio_speech", "supports_audio_output": True},
        "nobody/m": {"litellm_provider": "nobody", "mode": "chat"},
    }
    assert script("model_abilities").abilities(json.dumps(rows).encode()) == {
        "google": {
            "gemini-9": {"max_input": 1000, "inputs": ["text", "image"], "outputs": ["text"], "tools": True},
            "speaks": {"outputs": ["audio"]},
        }
    }
