"""Guards what `dragoman run` keeps of its cost: a row a call in the user's ledger and a line at the end, or nothing if so
wished; a ledger that fails stops no work."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.accounts import Accounts
from dragoman.client import Model
from dragoman.errors import UsageError
from dragoman.money import Ledger
from dragoman.money.batch import Batch
from dragoman.testing import FakeClock, FakeProvider
from unit.cli_run.command import dragoman

SCRIPT = [{"text": "Hello", "usage": {"input": 1000, "output": 100, "cache_read": 800}}]


def env(fake: FakeProvider, file: Path) -> dict[str, str]:
    return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{fake.url}/v1", "DRAGOMAN_LEDGER": str(file)}


@pytest.mark.req("I-04")
def test_a_run_is_in_the_ledger_and_tells_its_cost(tmp_path: Path) -> None:
    file = tmp_path / "my.db"
    with FakeProvider("chat", script=SCRIPT) as fake:
        asked = ("run", "hi", "--model", "openai/gpt-5.2", "--tools", "none")
        done = dragoman(*asked, home=tmp_path, env=env(fake, file))
        silent = dragoman(*asked, "--no-ledger", home=tmp_path, env=env(fake, file))
    with Ledger(file, create=False) as ledger:
        (entry,) = ledger.entries()
    assert (entry.provider, entry.model, entry.input, entry.label) == ("openai", "gpt-5.2", 1000, "derived")
    assert done.stderr == (
        "1 step · 1000 tokens in (800 cached) · 100 tokens out\n$0.0019 derived, $0.0032 without a cache (1.67×)\n"
    )
    assert silent.stderr == "1 step · 1000 tokens in (800 cached) · 100 tokens out\n"
    assert (done.returncode, silent.returncode) == (0, 0)


def test_nothing_is_told_of_what_has_no_price(tmp_path: Path) -> None:
    accounts = Accounts({"DRAGOMAN_LEDGER": str(tmp_path / "l.db")})
    with (
        FakeProvider(script=SCRIPT) as fake,
        Model(fake.spec, env={}, observers=accounts.observers, clock=FakeClock()) as model,
    ):
        model.chat("hi")
    accounts.close()
    assert accounts.told == ""


def test_a_ledger_that_cannot_be_opened_is_told_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "l.db").write_bytes(b"no ledger " * 100)
    for path in (tmp_path / "l.db", tmp_path / "l.db" / "below.db"):
        accounts = Accounts({"DRAGOMAN_LEDGER": str(path)})
        accounts.close()
        assert accounts.told.startswith("the calls are not in the ledger: ")
        assert accounts.observers == ()


def test_the_calls_of_a_server_are_written_together_and_the_last_of_them_at_its_end(tmp_path: Path) -> None:
    file = tmp_path / "l.db"
    accounts = Accounts({"DRAGOMAN_LEDGER": str(file)}, many=True)
    with (
        FakeProvider(script=SCRIPT * 3) as fake,
        Model(fake.spec, env={}, observers=accounts.observers, clock=FakeClock()) as model,
    ):
        for _ in range(3):
            model.chat("hi")
    accounts.close()
    with Ledger(file, create=False) as ledger:
        assert [(entry.input, entry.output) for entry in ledger.entries()] == [(1000, 100)] * 3


def test_calls_that_could_not_be_written_are_told_with_the_next(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    batch = Batch(ledger, moment=60)
    with FakeProvider(script=SCRIPT * 2) as fake, Model(fake.spec, env={}, observers=[batch]) as model:
        model.chat("hi")
        ledger.close()
        with pytest.raises(UsageError, match="closed database"):
            batch.close()
        (note,) = model.outcome("hi").notes
        assert "the observer Batch failed" in note.reason
    with pytest.raises(UsageError):
        batch.close()


@pytest.mark.parametrize("accounts", [Accounts({"DRAGOMAN_LEDGER": "off"}), Accounts({}, wanted=False)])
def test_turned_off_there_is_none(accounts: Accounts) -> None:
    accounts.close()
    assert (accounts.observers, accounts.told) == ((), "")
