"""Guards S3-31 to S3-34, S3-41 to S3-43 and I-04: four segments, each token charged once, each figure with its label."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.catalog.models import Prices, Schedule, Tier
from dragoman.dialect.model import BASE
from dragoman.errors import UsageError
from dragoman.money import Bill, Segment, bill, price_list, prices
from dragoman.money.bill import KINDS
from dragoman.money.prices import catalogued
from dragoman.types import Usage
from dragoman.types.note import show_path
from dragoman.wire.chat.usage import decode_usage as chat
from dragoman.wire.messages.usage import decode_usage as messages
from dragoman.wire.responses.usage import decode_usage as responses
from scenes import NAMES, bills, scene

SONNET = prices(input=2, output=10, cache_write="2.50", cache_read="0.20", date="2026-09-26")
# The recorded turn as each wire says it (S3-31, S3-32): 929 of input, 890 of them read from a cache.
TURN = {
    "chat": chat(
        {"prompt_tokens": 929, "completion_tokens": 31, "prompt_tokens_details": {"cached_tokens": 890}}, BASE
    ),
    "responses": responses(
        {"input_tokens": 929, "output_tokens": 31, "input_tokens_details": {"cached_tokens": 890}}, BASE
    ),
    "messages": messages({"input_tokens": 39, "cache_read_input_tokens": 890, "output_tokens": 31}, BASE),
}


def said(made: Bill) -> list[str]:
    return [f"{show_path(note.path)}: {note.reason}" for note in made.notes]


@pytest.mark.req("S3-31", "S3-32", "S3-33", "S3-34", "S3-41")
@pytest.mark.parametrize("wire", TURN)
def test_the_recorded_turn_costs_the_same_on_every_wire(wire: str) -> None:
    assert bill(TURN[wire], SONNET) == Bill(
        segments=(
            Segment(kind="fresh", tokens=39, nanodollars=78_000, label="derived"),
            Segment(kind="cache_read", tokens=890, nanodollars=178_000, label="derived"),
            Segment(kind="cache_write", tokens=0, nanodollars=0, label="derived"),
            Segment(kind="output", tokens=31, nanodollars=310_000, label="derived"),
        ),
        cost=566_000,
        label="derived",
        full=2_168_000,
    )


counts = st.integers(0, 10**7)


@pytest.mark.req("S3-33")
@given(fresh=counts, read=counts, write=counts, output=counts)
def test_each_token_is_charged_once(fresh: int, read: int, write: int, output: int) -> None:
    usage = Usage(input=fresh + read + write, cache_read=read, cache_write=write, output=output)
    made = bill(usage, prices(input=1, output=1, cache_read=1, cache_write=1))
    assert [segment.tokens for segment in made.segments] == [fresh, read, write, output]
    assert made.cost == made.full == (fresh + read + write + output) * 1000


@pytest.mark.req("S3-41")
@given(
    counts=st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
    dollars=st.decimals(0, 1000, allow_nan=False, places=9),
)
def test_a_segment_is_rounded_once(counts: list[int], dollars: Decimal) -> None:
    fresh, read, write, output = counts
    usage = Usage(input=fresh + read + write, cache_read=read, cache_write=write, output=output)
    made = bill(usage, prices(**dict.fromkeys(("input", "output", "cache_read", "cache_write"), dollars)))
    for segment in made.segments:
        assert abs(segment.nanodollars - segment.tokens * dollars * 1000) <= Decimal("0.5")


@pytest.mark.case("USE-001")
@pytest.mark.req("S3-33")
def test_cached_tokens_are_not_charged_as_input_too() -> None:
    raw = {"prompt_tokens": 20212, "completion_tokens": 931, "prompt_tokens_details": {"cached_tokens": 16298}}
    made = bill(chat(raw, BASE), prices(input=0.5, cache_read=0.05, output=3.0))
    assert (made.cost, made.notes) == (5_564_900, ())


@pytest.mark.case("USE-002")
def test_what_was_written_to_a_cache_is_charged_at_its_own_price() -> None:
    raw = {
        "input_tokens": 19,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 38000,
        "output_tokens": 50,
    }
    made = bill(messages(raw, BASE), SONNET)
    assert [segment.tokens for segment in made.segments] == [19, 38000, 1000, 50]
    assert [made.of(kind) for kind in KINDS] == [38_000, 7_600_000, 2_500_000, 500_000]


@pytest.mark.case("USE-006")
def test_reasoning_is_part_of_the_output() -> None:
    plain = bill(Usage(input=10, output=120), SONNET)
    assert bill(Usage(input=10, output=120, reasoning=100), SONNET) == plain


def test_a_cache_of_an_hour_has_its_own_price() -> None:
    usage = Usage(input=1000, cache_write=900, cache_write_1h=500, output=0)
    known = bill(usage, prices(input=2, output=10, cache_write="2.50", cache_write_1h=4))
    assert (known.of("cache_write"), known.label) == (400 * 2500 + 500 * 4000, "derived")
    guessed = bill(usage, SONNET)
    assert (guessed.of("cache_write"), guessed.label) == (400 * 2500 + 500 * 4000, "estimated")
    assert said(guessed) == [
        "usage.cache_write_1h: no price for a cache of one hour is known: taken as 1.6 times a usual write"
    ]


LISTED = msgspec.structs.replace(SONNET, services={"batch": Schedule(input=Decimal(1), output=Decimal(5))})
TIERS = [
    (None, 1, "derived"),
    ("default", 1, "derived"),
    ("STANDARD", 1, "derived"),
    ("batch", 0.5, "derived"),
    ("priority", 1, "estimated"),
]


@pytest.mark.parametrize(("tier", "times", "label"), TIERS)
def test_tiers_of_service(tier: str | None, times: float, label: str) -> None:
    usage = Usage(input=1000, output=100)
    made = bill(usage, LISTED, tier=tier)
    assert (made.cost, made.label, bool(made.notes)) == (3_000_000 * times, label, label == "estimated")


def test_the_tier_that_was_served_wins() -> None:
    assert bill(Usage(input=1000, output=0, tier="batch"), LISTED, tier="priority").cost == 1_000_000


def test_audio_has_its_own_price_where_one_is_known() -> None:
    usage = Usage(input=100, output=50, input_audio=40, output_audio=50)
    listed = prices(input=2, output=10, input_audio=32, output_audio=64)
    made = bill(usage, listed)
    assert (made.of("fresh"), made.of("output")) == (60 * 2_000 + 40 * 32_000, 50 * 64_000)
    assert (made.full, made.label) == (made.cost, "derived")


@pytest.mark.req("I-04", "I-16")
def test_the_catalogues_prices_and_those_of_its_services() -> None:
    listed = catalogued("anthropic", "claude-sonnet-5")
    assert listed is not None and listed.date
    usage = Usage(input=929, cache_read=890, output=31)
    assert (bill(usage, listed).cost, bill(usage, SONNET).cost) == (566_000, 566_000)
    assert bill(usage, listed, tier="batch").cost == 283_000
    assert catalogued("nobody", "nothing") is None


def test_a_long_request_has_the_prices_of_its_length() -> None:
    long = Tier(above=200_000, input=Decimal(6), output=Decimal(30), cache_read=Decimal("0.6"))
    listed = Prices(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), tiers=(long,), date="", source="")
    assert bill(Usage(input=200_000, output=10), listed).cost == 600_150_000
    assert bill(Usage(input=200_001, cache_read=200_000, output=10), listed).cost == 6_000 + 120_000_000 + 300_000


SAID: list[tuple[str, Usage, int | None]] = [
    ("a plain cost", chat({"prompt_tokens": 38, "completion_tokens": 53, "cost": 3.75e-05}, BASE), 37_500),
    ("a free one", chat({"prompt_tokens": 38, "completion_tokens": 53, "cost": 0}, BASE), 0),
    (
        "parts and their sum",
        chat({"prompt_tokens": 27, "cost": {"request_cost": 0.005, "total_cost": 0.00512}}, BASE),
        5_120_000,
    ),
    ("ticks", responses({"input_tokens": 359, "output_tokens": 210, "cost_in_usd_ticks": 8393500}, BASE), 839_350),
    ("no ticks", chat({"prompt_tokens": 9, "completion_tokens": 3, "cost_in_usd_ticks": 0}, BASE), None),
    (
        "a broker's part beside the caller's own key",
        chat(
            {"prompt_tokens": 9, "cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
            BASE,
        ),
        21_000_000,
    ),
    ("what no service would say", chat({"prompt_tokens": 9, "cost": {"total_cost": "much"}}, BASE), None),
    ("no number", chat({"prompt_tokens": 9, "cost_in_usd_ticks": True}, BASE), None),
]


@pytest.mark.parametrize(("usage", "cost"), [row[1:] for row in SAID], ids=[row[0] for row in SAID])
def test_what_the_service_says_it_cost(usage: Usage, cost: int | None) -> None:
    made = bill(usage, None)
    assert (made.cost, made.label) == (cost, "estimated" if cost is None else "reported")


def test_the_services_own_figure_wins_and_a_list_that_disagrees_is_told() -> None:
    usage = Usage(input=1000, output=100, cost=3_000_000)
    near, far = bill(usage, SONNET), bill(usage, prices(input=0.5, output=1))
    assert (near.cost, near.label, near.computed, near.notes) == (3_000_000, "reported", 3_000_000, ())
    assert (far.cost, far.label, far.computed) == (3_000_000, "reported", 600_000)
    assert said(far) == ["usage.cost: the service says 3000000 nanodollars, the price list 600000"]


ODD: list[tuple[Usage, int, str]] = [
    (
        Usage(input=100, cache_read=120, output=1),
        120 * 200 + 10_000,
        "usage.cache_read: 120 read and 0 written are more than the input of 100: no other input is charged",
    ),
    (
        Usage(input=100, output=10, reasoning=30),
        200_000 + 100_000,
        "usage.reasoning: 30 of reasoning are more than the output of 10: the output is charged",
    ),
    (
        Usage(input=100, cache_write=10, cache_write_1h=20, output=1),
        90 * 2000 + 10 * 4000 + 10_000,
        "usage.cache_write_1h: 20 for an hour are more than the 10 written",
    ),
    (Usage(output=1), 10_000, "usage.input: not reported: not in this bill"),
    (Usage(input=1), 2_000, "usage.output: not reported: not in this bill"),
    (
        Usage(input=5, output=1, input_audio=4),
        20_000,
        "usage.input_audio: 4 tokens of audio at the price of text",
    ),
]


@pytest.mark.case("USE-010")
@pytest.mark.parametrize(("usage", "cost", "note"), ODD, ids=[row[2] for row in ODD])
def test_what_cannot_be_is_told_and_makes_an_estimate(usage: Usage, cost: int, note: str) -> None:
    listed = prices(input=2, output=10, cache_write="2.50", cache_write_1h=4, cache_read="0.20")
    made = bill(usage, listed)
    assert (made.cost, made.label, said(made)) == (cost, "estimated", [note])


def test_hosted_calls_are_told_and_the_rest_stands() -> None:
    made = bill(Usage(input=1, output=1, hosted_calls={"web_search": 2, "fetch": 0}), SONNET)
    assert (made.label, said(made)) == (
        "derived",
        ["usage.hosted_calls: 2 of web_search are charged apart: not in this bill"],
    )


def test_figures_that_were_counted_make_estimates_of_their_segments_alone() -> None:
    made = bill(Usage(input=10, output=5), SONNET, counted=["output"])
    assert [segment.label for segment in made.segments] == ["derived", "derived", "derived", "estimated"]
    assert (made.label, said(made)) == ("estimated", ["usage.output: not reported: counted by us"])


def test_where_no_price_is_known_nothing_is_made_up() -> None:
    assert bill(Usage(input=10, output=5), None) == Bill(label="estimated")
    half = Prices(input=Decimal(2), date="", source="")
    assert bill(Usage(input=10, output=5), half).cost is None


@pytest.mark.req("S3-42", "S3-43", "S3-52", "I-04")
def test_the_scenes_give_the_figures_of_the_sources() -> None:
    assert [scene(name)["label"] for name in NAMES] == ["synthetic"] * 3
    t5 = bills("T5")
    cost, full = (sum(getattr(made, name) for made in t5) for name in ("cost", "full"))
    assert (f"{cost / 1e9:.4f}", f"{full / 1e9:.4f}", f"{full / cost:.2f}") == ("0.0140", "0.0371", "2.64")
    thinking = bills("pd-v2-unlimited-s3")
    output, computed = sum(made.of("output") or 0 for made in thinking), sum(made.computed or 0 for made in thinking)
    assert f"{output / computed:.0%}" == "94%"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"input": "cheap"}, "prices: input is 'cheap': write US dollars for a million tokens"),
    ({"input": -1}, "prices: input is -1: write US dollars for a million tokens"),
    ({"output": float("nan")}, "prices: output is nan: write US dollars for a million tokens"),
    ({"output": True}, "prices: output is True: write US dollars for a million tokens"),
    (
        {"in": 1},
        "prices: unknown 'in'; known: input, output, cache_read, cache_write, cache_write_1h, input_audio, output_audio, date",
    ),
]


@pytest.mark.parametrize(("said", "message"), WRONG, ids=[row[1] for row in WRONG])
def test_prices_that_are_none(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        prices(**said)
    assert caught.value.message == message


def test_your_own_prices_win() -> None:
    find = price_list({"mine/m": prices(input=1, output=1), "n": prices(input=2, output=2)})
    assert (find("mine", "m"), find("any", "n"), find("other", "m")) == (
        prices(input=1, output=1),
        prices(input=2, output=2),
        None,
    )


def test_scenes_are_data_that_says_what_it_is() -> None:
    folder = Path(__file__).parent / "scenes"
    assert sorted(path.stem for path in folder.iterdir()) == sorted(NAMES)
    for path in folder.iterdir():
        said = json.loads(path.read_text("utf-8"))
        assert (said["scene"], said["label"]) == (path.stem, "synthetic")
        assert said["why"] and said["given"]
