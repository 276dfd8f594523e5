"""Guards the ledger (I-04, S3-37 to S3-39, S3-42): a row a call whatever became of it, over real sockets, from many
writers; sums by model, day, session and turn; never a word of what was said."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.client import AsyncModel, Exchanged, Model
from dragoman.errors import ApiError, Cancelled, UsageError
from dragoman.money import Ledger, Totals, price_list, prices
from dragoman.money.entry import Entry, used
from dragoman.money.estimate import tokens
from dragoman.money.ledger import AT_ONCE, path_of
from dragoman.testing import FakeClock, FakeProvider
from dragoman.types import Delta, Reply, Request, Stop, Timing, Usage, assistant, explode, user
from scenes import write

WIRES = ("chat", "responses", "messages")
USAGE = {"input": 929, "output": 31, "cache_read": 890}
PRICES = price_list({"fake": prices(input=2, output=10, cache_read="0.20", cache_write="2.50", date="2026-09-26")})


def at(folder: Path, **more: Any) -> Ledger:
    return Ledger(folder / "ledger.db", session="s", price_of=PRICES, **more)


def watched(ledger: Ledger, **more: Any) -> dict[str, Any]:
    return {"env": {}, "observers": [ledger], "clock": FakeClock(), "retry": "plain", **more}


def row(fake: FakeProvider, **more: Any) -> Entry:
    said: dict[str, Any] = {
        "started": "2027-01-15T08:00:00.000Z",
        "session": "s",
        "provider": fake.url.removeprefix("http://"),
        "model": "fake",
        "wire": fake.wire.id,
        "outcome": "end",
        **USAGE,
        "fresh_cost": 78_000,
        "cache_read_cost": 178_000,
        "cache_write_cost": 0,
        "output_cost": 310_000,
        "cost": 566_000,
        "label": "derived",
        "full": 2_168_000,
        "prices": "given by you 2026-09-26",
        "first_event": 0.0,
        "first_text": 0.0,
        "total": 0.0,
    }
    return Entry(**{**said, **more})


@pytest.mark.req("S3-31", "S3-33", "S3-38", "I-04")
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_is_a_row_streamed_or_not_sync_or_async(wire: str, tmp_path: Path) -> None:
    async def awaited(stream: bool) -> None:
        async with AsyncModel(fake.spec, **watched(ledger)) as model:
            await model.chat(Request(messages=(user("hi"),), stream=stream or None))

    with FakeProvider(wire, script=[{"text": "Hello", "usage": USAGE}]) as fake, at(tmp_path) as ledger:
        with Model(fake.spec, **watched(ledger)) as model:
            model.chat("hi")
            list(model.stream("hi"))
        asyncio.run(awaited(stream=False))
        asyncio.run(awaited(stream=True))
        silent = {"cache_write": None, "reasoning": None}  # wires that say so say 0
        rows = ledger.entries()
        assert {(entry.cache_write or 0, entry.reasoning or 0) for entry in rows} == {(0, 0)}
        assert [msgspec.structs.replace(entry, **silent) for entry in rows] == [row(fake)] * 4


def test_what_retries_took_is_counted(tmp_path: Path) -> None:
    script = [{"text": "Hello", "usage": USAGE}]
    with FakeProvider(quirks=["overloaded:2"], script=script) as fake, at(tmp_path) as ledger:
        with Model(fake.spec, **watched(ledger)) as model:
            model.chat("hi")
        (entry,) = ledger.entries()
        assert (entry.attempts, entry.cost, entry.total) == (3, 566_000, 3.0)
        assert ledger.totals()[0].attempts == 3


def test_a_call_that_failed_is_a_row_that_claims_no_cost(tmp_path: Path) -> None:
    with FakeProvider(quirks=["bad-request"]) as fake, at(tmp_path) as ledger:
        with Model(fake.spec, **watched(ledger)) as model, pytest.raises(ApiError):
            model.chat("hi")
        assert ledger.entries() == [
            Entry(
                started="2027-01-15T08:00:00.000Z",
                session="s",
                provider=fake.url.removeprefix("http://"),
                model="fake",
                wire="chat",
                outcome="invalid_request",
                total=0.0,
            )
        ]
        assert ledger.totals() == [Totals(name="all", calls=1, attempts=1, failed=1, unpriced=1)]


@pytest.mark.case("USE-009")
@pytest.mark.parametrize("wire", WIRES)
def test_what_came_before_a_cancel_is_billed_and_called_an_estimate(wire: str, tmp_path: Path) -> None:
    script = [{"text": "word " * 400, "usage": {"input": 5000, "output": 500}}]
    with FakeProvider(wire, script=script) as fake, at(tmp_path) as ledger:
        with Model(fake.spec, **watched(ledger)) as model, model.stream("hi") as stream:
            for event in stream:
                if isinstance(event, Delta):
                    break
        (entry,) = ledger.entries()
    assert (entry.outcome, entry.label) == ("cancelled", "estimated")
    assert entry.output is not None and 1 <= entry.output <= 500
    assert (entry.input, entry.counted) == (tokens(msgspec.json.encode(fake.seen[0].body).decode()), "input output")
    assert "usage.output: not reported: counted by us" in entry.said


@pytest.mark.case("USE-009")
def test_what_the_service_had_said_by_then_is_kept() -> None:
    said = Reply(
        message=assistant("word " * 20), stop=Stop(reason="cancelled"), usage=Usage(input=5000, cache_read=40, output=1)
    )
    seen = Exchanged(
        request=Request(),
        target=None,
        http_body=None,
        reply=said,
        error=Cancelled(),
        notes=(),
        attempts=(),
        timing=Timing(),
        started=datetime(2026, 11, 30, tzinfo=UTC),
    )
    assert used(seen) == (Usage(input=5000, cache_read=40, output=25), ("output",))
    ended = msgspec.structs.replace(seen, error=None)
    assert used(ended) == (said.usage, ())
    assert used(msgspec.structs.replace(seen, reply=None)) == (None, ())


def test_where_no_price_is_known_tokens_are_kept_and_no_cost_is_made_up(tmp_path: Path) -> None:
    with FakeProvider(script=[{"text": "a", "usage": USAGE}]) as fake, Ledger(tmp_path / "l.db", session="s") as ledger:
        with Model(fake.spec, **watched(ledger)) as model:
            model.chat("hi")
        (entry,) = ledger.entries()
        assert (entry.input, entry.cost, entry.label, entry.prices) == (929, None, None, None)
        assert ledger.totals()[0].unpriced == 1


def test_a_model_of_this_process_is_free(tmp_path: Path) -> None:
    class Echo:
        def stream(self, request: Request) -> Any:
            return iter(explode(Reply(message=request.messages[-1], stop=Stop(reason="end"))))

    with at(tmp_path) as ledger, Model(Echo(), **watched(ledger)) as model:
        model.chat("Hello there, local one")
        (entry,) = ledger.entries()
    assert (entry.provider, entry.model, entry.wire, entry.cost) == ("local", "local", None, 0)
    assert (entry.counted, entry.label) == ("input output", "estimated")


@pytest.mark.req("S3-39", "S3-42", "S3-43", "S3-52")
def test_the_scenes_in_a_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in ("T5", "pd-v2-unlimited-s3"):
            write(ledger, name)
        t5, thinking = ledger.totals("session")
        assert (t5.name, t5.calls, t5.input, t5.last_input) == ("T5", 9, 15921, 2389)
        assert (f"{t5.resent_ratio:.1f}", f"{t5.full_ratio:.2f}") == ("6.7", "2.64")
        assert (f"{t5.cost / 1e9:.4f}", f"{t5.full / 1e9:.4f}") == ("0.0140", "0.0371")
        assert (thinking.name, f"{thinking.output_share:.0%}") == ("pd-v2-unlimited-s3", "94%")
        turns = ledger.totals("turn", session="T5")
        assert [turn.name for turn in turns] == [f"T5 {number}" for number in range(1, 10)]
        assert sum(turn.cost for turn in turns) == t5.cost
        both = ledger.totals()[0]
        assert both.cost == t5.cost + thinking.cost


def plain(session: str, **more: Any) -> Entry:
    return Entry(
        **{
            "started": "2026-11-30T08:00:00.000Z",
            "session": session,
            "provider": "p",
            "model": "m",
            "outcome": "end",
            **more,
        }
    )


def test_sums_by_what_calls_have_in_common(tmp_path: Path) -> None:
    with at(tmp_path) as ledger:
        ledger.add(plain("b", cost=5, label="reported", total=1.5))
        ledger.add(plain("a", cost=7, label="derived", started="2026-12-01T00:00:00.000Z"))
        ledger.add(plain("b", model="n", cost=1, label="reported", outcome="timeout"))
        names = {
            by: [(sums.name, sums.calls, sums.cost) for sums in ledger.totals(by)] for by in ("model", "day", "session")
        }
        assert names == {
            "model": [("p/m", 2, 12), ("p/n", 1, 1)],
            "day": [("2026-11-30", 2, 6), ("2026-12-01", 1, 7)],
            "session": [("b", 2, 6), ("a", 1, 7)],
        }
        assert [(sums.label, sums.failed) for sums in ledger.totals("session")] == [("reported", 1), ("derived", 0)]
        since = datetime(2026, 12, 1, tzinfo=UTC)
        assert [entry.session for entry in ledger.entries(since=since)] == ["a"]
        assert ledger.totals(session="nobody") == []


def test_sessions_have_names_of_their_own(tmp_path: Path) -> None:
    with FakeProvider() as fake, Ledger(tmp_path / "l.db") as one, Ledger(tmp_path / "l.db") as other:
        for observer in (one, other, one.of("mine")):
            with Model(fake.spec, **{**watched(one), "observers": [observer]}) as model:
                model.chat("hi")
        assert one.session != other.session
        assert [entry.session for entry in other.entries()] == [one.session, other.session, "mine"]


def test_nothing_that_was_said_is_in_the_file(tmp_path: Path) -> None:
    key, said = "sk-planted-0123456789", "Xylophon"
    env = {"DRAGOMAN_API_KEY": key}
    with FakeProvider(script=[f"{said} zurück"]) as fake, at(tmp_path) as ledger:
        with Model(fake.spec, **watched(ledger, env=env)) as model:
            model.chat(f"{said} bitte", system=f"{said}!")
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert fake.seen[0].headers["authorization"] == "***"
    assert b"2027-01-15" in held
    assert said.encode() not in held and key.encode() not in held


@pytest.mark.skipif(os.name != "posix", reason="modes of files are a POSIX thing")
def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    with at(tmp_path / "new"):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


WRITER = """
import sys
from dragoman.money import Ledger
from dragoman.money.entry import Entry, used
from dragoman.money.estimate import tokens
with Ledger(sys.argv[1]) as ledger:
    for number in range(50):
        ledger.add(Entry(started="2026-11-30T08:00:00.000Z", session=sys.argv[2], provider="p", model="m", outcome="end", cost=1))
"""


def test_several_processes_and_threads_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in ("one", "two")]
    with Ledger(path) as ledger:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ledger.add, [plain("threads", cost=1)] * 50))
        assert [writer.wait() for writer in writers] == [0, 0]
        sums = {sums.name: sums.cost for sums in ledger.totals("session")}
    assert sums == {"one": 50, "two": 50, "threads": 50}


def test_a_file_is_opened_again_with_what_is_in_it(tmp_path: Path) -> None:
    for _ in range(2):
        with at(tmp_path) as ledger:
            ledger.add(plain("s"))
    with at(tmp_path, create=False) as ledger:
        assert ledger.entries() == [plain("s")] * 2


@pytest.mark.parametrize("count", [0, 1, 2, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5])
def test_rows_that_are_written_together_stand_in_their_order(tmp_path: Path, count: int) -> None:
    rows = [plain("s", cost=number, model=f"模型 {number}") for number in range(count)]
    with at(tmp_path) as ledger:
        ledger.add(*rows)
        assert ledger.entries() == rows


def test_of_rows_that_cannot_all_be_written_none_is(tmp_path: Path) -> None:
    rows: list[Any] = [plain("s", cost=number) for number in range(2 * AT_ONCE)]
    rows.append(msgspec.structs.replace(plain("s"), started=None))
    with at(tmp_path) as ledger:
        with pytest.raises(UsageError, match="NOT NULL constraint failed"):
            ledger.add(*rows)
        assert ledger.entries() == []


def test_a_newer_ledger_is_not_touched(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "ledger.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match=r"has version 99, this dragoman knows 1: upgrade it$"):
        at(tmp_path)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"hello " * 1000)
    with pytest.raises(UsageError, match="file is not a database"):
        at(tmp_path)
    with pytest.raises(UsageError, match="there is no ledger at"):
        Ledger(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_ledger_that_cannot_be_written_breaks_no_call(tmp_path: Path) -> None:
    with FakeProvider() as fake, at(tmp_path) as ledger, Model(fake.spec, **watched(ledger)) as model:
        ledger.close()
        outcome = model.outcome("hi")
    assert outcome.reply.text == "hi"
    assert ["ledger" in note.reason and "closed" in note.reason for note in outcome.notes] == [True]


def test_where_the_users_ledger_is(tmp_path: Path) -> None:
    assert path_of({"DRAGOMAN_HOME": str(tmp_path)}) == tmp_path / "ledger.db"
    assert path_of({"DRAGOMAN_HOME": str(tmp_path), "DRAGOMAN_LEDGER": "/else/where.db"}) == Path("/else/where.db")
    assert path_of({"DRAGOMAN_LEDGER": "off"}) is None
