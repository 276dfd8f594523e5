"""Guards `dragoman cost`: sums with their labels, what they mean, and JSON with the same figures (I-04, S3-39, S3-42, S3-43)."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from dragoman.cli.main import group as cli
from dragoman.errors import UsageError
from dragoman.money import Ledger
from dragoman.money.entry import Entry
from dragoman.money.show import dollars
from scenes import write


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in ("T5", "pd-v2-unlimited-s3"):
            write(ledger, name)
    return tmp_path


def cost(home: Path, *options: str) -> str:
    done = CliRunner().invoke(cli, ["cost", *options], env={"DRAGOMAN_HOME": str(home)}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.req("S3-39", "S3-42", "S3-43", "I-04")
def test_a_session_with_the_figures_of_the_sources(home: Path) -> None:
    assert cost(home, "--by", "session", "--session", "T5") == dedent("""\
            calls  tokens in  cached  tokens out     cost                uncached
        T5      9     15,921  12,810         525  $0.0140  derived  $0.0371 2.64×

        derived: tokens that the services reported, at list prices
        output is 37% of the cost
        6.7× the last call's input was sent in all
        """)


def test_the_whole_stands_below_several(home: Path) -> None:
    lines = cost(home, "--by", "session").splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["T5", "pd-v2-unlimited-s3", "all"]
    assert "94%" in cost(home, "--session", "pd-v2-unlimited-s3")
    (model,) = cost(home).splitlines()[1:2]
    assert model.split()[:2] == ["anthropic/claude-sonnet-5", "14"]


def test_json_says_the_same(home: Path) -> None:
    out = json.loads(cost(home, "--by", "session", "--session", "T5", "--json"))
    assert (out["by"], out["rows"][0]["name"], len(out["rows"])) == ("session", "T5", 1)
    assert (out["total"]["cost"], out["total"]["usd"], out["total"]["full"]) == (14_034_000, 0.014034, 37_092_000)
    assert (round(out["total"]["resent_ratio"], 1), round(out["total"]["full_ratio"], 2)) == (6.7, 2.64)
    turns = json.loads(cost(home, "--by", "turn", "--session", "T5", "--json"))
    assert [call["input"] for call in turns["calls"]] == [row["input"] for row in turns["rows"]]
    assert len(turns["calls"]) == 9


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger:
        for outcome, attempts in (("end", 1), ("overloaded", 4)):
            ledger.add(
                Entry(
                    started="2026-11-30T08:00:00.000Z",
                    session="s",
                    provider="p",
                    model="m",
                    outcome=outcome,
                    attempts=attempts,
                )
            )
    lines = cost(tmp_path, "--ledger", str(tmp_path / "l.db")).splitlines()
    assert lines[1].split() == ["p/m", "2", "0", "0", "0", "?"]
    assert lines[3:] == [
        "5 requests were sent for 2 calls; what failed ones cost is not known",
        "1 of 2 calls did not come to their end",
        "what 2 of 2 calls cost is not known: the sum is without them",
    ]


def test_no_ledger_is_no_error_and_makes_none(tmp_path: Path) -> None:
    assert cost(tmp_path) == f"no calls in {tmp_path / 'ledger.db'}\n"
    assert json.loads(cost(tmp_path, "--json")) == {
        "ledger": str(tmp_path / "ledger.db"),
        "by": "model",
        "rows": [],
        "total": None,
    }
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="there is no ledger"):
        cost(tmp_path, "--ledger", str(tmp_path / "other.db"))


def test_since_a_day(home: Path) -> None:
    assert cost(home, "--since", "2026-12-01") == f"no calls in {home / 'ledger.db'}\n"
    assert cost(home, "--since", "2026-11-30") == cost(home)


@pytest.mark.parametrize(
    ("nanodollars", "shown"),
    [
        (0, "$0.0000"),
        (52, "$0.000000052"),
        (52_000, "$0.000052"),
        (566_000, "$0.00057"),
        (999_999, "$0.00100"),
        (14_034_000, "$0.0140"),
        (999_960_000, "$1.0000"),
        (1_234_567_000_000, "$1,234.57"),
    ],
)
def test_amounts_have_as_many_digits_as_it_takes(nanodollars: int, shown: str) -> None:
    assert dollars(nanodollars) == shown
