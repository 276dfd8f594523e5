"""The ledger: a row a call, in one SQLite file that several processes and threads may write at once."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.client.observe import Exchanged
from dragoman.engine.store import home
from dragoman.errors import UsageError
from dragoman.money.entry import Entry, entry
from dragoman.money.prices import PriceOf, catalogued
from dragoman.money.schema import MIGRATIONS, NAMES, TOTALS, VERSION
from dragoman.money.totals import Totals

By: TypeAlias = Literal["model", "day", "session", "turn"]
WAIT = 10.0  # seconds for which another writer may hold the file
COLUMNS = Entry.__struct_fields__
ROW = f"({', '.join('?' * len(COLUMNS))})"
AT_ONCE = 999 // len(COLUMNS)  # rows of one statement: older SQLite takes no more values in one


def _insert(rows: int) -> str:
    return f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES {', '.join([ROW] * rows)}"


INSERT, INSERT_MANY = _insert(1), _insert(AT_ONCE)


ENV = "DRAGOMAN_LEDGER"


def path_of(env: Mapping[str, str]) -> Path | None:
    """Where the user's ledger is: the file of DRAGOMAN_LEDGER, else in our data folder; None where that says `off`."""
    said = env.get(ENV, "").strip()
    if said.lower() == "off":
        return None
    return Path(said) if said else home(env) / "ledger.db"


class Ledger:
    """Writes each call of a model that it observes: `Model(…, observers=[ledger])`.

    `path` is made, readable by its owner alone, where there is none. Calls belong to `session`, or to one of the
    ledger's own that begins now. Prices are the catalogue's, or `price_of`'s. What was said is never written. Raises
    UsageError for a file that is no ledger, one of a newer version, and one that cannot be made or written.
    """

    def __init__(
        self, path: Path | str, *, session: str | None = None, price_of: PriceOf = catalogued, create: bool = True
    ) -> None:
        self.path = _path(path)
        began = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        self.session = session or f"{began}-{secrets.token_hex(3)}"
        self._price_of = price_of
        self._lock = Lock()
        if not create and not self.path.exists():
            raise UsageError("usage", f"there is no ledger at {self.path}")
        self._prepare()
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            try:
                _migrate(self._db, self.path)
            except BaseException:
                self._db.close()
                raise

    def __call__(self, seen: Exchanged) -> None:
        """Write a call that has ended. Raises UsageError where the file cannot be written."""
        self.add(self.row(seen))

    def row(self, seen: Exchanged) -> Entry:
        """What is written of a call."""
        return entry(seen, self.session, self._price_of)

    def of(self, session: str) -> Callable[[Exchanged], None]:
        """An observer that writes here under another session."""
        return lambda seen: self.add(entry(seen, session, self._price_of))

    def add(self, *rows: Entry) -> None:
        """Write rows: all of them, or none. Raises UsageError where the file cannot be written."""
        values = [msgspec.structs.astuple(row) for row in rows]
        with self._lock, self._errors():
            if len(values) == 1:
                self._db.execute(INSERT, values[0])
            elif values:
                self._all(values)

    def _all(self, values: list[tuple[Any, ...]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            # each statement lets other threads run and must then wait for them: as few as can be
            whole = len(values) - len(values) % AT_ONCE
            for at in range(0, whole, AT_ONCE):
                self._db.execute(INSERT_MANY, tuple(chain.from_iterable(values[at : at + AT_ONCE])))
            self._db.executemany(INSERT, values[whole:])
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def entries(self, *, session: str | None = None, since: datetime | None = None) -> list[Entry]:
        """The calls in the order in which they were written."""
        where, values = _where(session, since)
        rows = self._rows(f"SELECT {', '.join(COLUMNS)} FROM calls {where} ORDER BY id", values)
        return [Entry(**dict(zip(COLUMNS, row, strict=True))) for row in rows]

    def totals(
        self, by: By | None = None, *, session: str | None = None, since: datetime | None = None
    ) -> list[Totals]:
        """Sums by what calls have in common, those that were written first at first; of all of them where `by` is not
        said: one, or none where there is no call. A day is one of UTC.
        """
        where, values = _where(session, since)
        rows = self._rows(TOTALS.format(name=NAMES[by], where=where), values)
        return [Totals(**dict(zip(Totals.__struct_fields__, row, strict=True))) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, session={self.session!r})"

    def _rows(self, query: str, values: tuple[str, ...]) -> list[tuple[Any, ...]]:
        with self._lock, self._errors():
            return self._db.execute(query, values).fetchall()

    def _prepare(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise UsageError("usage", f"the ledger {self.path}: {error.strerror}") from None

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UsageError("usage", f"the ledger {self.path}: {error}") from None


def _path(said: Any) -> Path:
    if not isinstance(said, str | Path) or "\0" in str(said):
        raise UsageError("usage", f"a ledger's path is {said!r}: pass the name of a file")
    return Path(said)


def _where(session: str | None, since: datetime | None) -> tuple[str, tuple[str, ...]]:
    said = {"session = ?": session, "started >= ?": None if since is None else _utc(since)}
    kept = {test: value for test, value in said.items() if value is not None}
    return f"WHERE {' AND '.join(kept)}" if kept else "", tuple(kept.values())


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version's form; several processes may try at once."""
    _write_ahead(db)
    db.execute("BEGIN IMMEDIATE")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise UsageError(
                "usage", f"the ledger {path} has version {version}, this dragoman knows {VERSION}: upgrade it"
            )
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _write_ahead(db: sqlite3.Connection) -> None:
    """Readers and one writer at a time. The switch itself waits for nobody, so it is asked for until it is made."""
    end = time.monotonic() + WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
