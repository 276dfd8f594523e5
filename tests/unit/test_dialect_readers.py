"""Guards the rows of clients that cannot read all of their wire: each rests on a source, says something, and is about one client."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.dialect.readers import EVERY, Reader, reader, rows


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.agent)
def test_a_row_names_its_source_and_says_something(row: Reader) -> None:
    assert len(row.source) > 10
    assert row != msgspec.structs.replace(EVERY, agent=row.agent, source=row.source)
    assert (reader(f"{row.agent}python/1.0"), reader(f"x {row.agent}")) == (row, EVERY)


def test_no_row_stands_before_another() -> None:
    names = [row.agent for row in rows()]
    assert [(a, b) for a in names for b in names if a is not b and b.startswith(a)] == []


def test_a_sign_of_life_is_a_whole_event() -> None:
    signs = [row.alive for row in rows() if row.alive]
    assert signs == [b'event: keepalive\ndata: {"type":"keepalive"}\n\n']
