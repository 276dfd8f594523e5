"""Guards what people see: recorded replies of three wires, plain and streamed, read as the oracle reads them (issue 1)."""

from __future__ import annotations

import pytest

from matrix import judge, misses, reader, recordings

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("name", recordings.WIRES)
def test_replies_are_read_right(name: str, streamed: bool) -> None:
    share = judge.read_right(name, streamed)
    known = {id for id in misses.READ if id in _ids(name, streamed)}
    assert set(share.missed) == known, {id: told for id, told in share.missed.items() if id not in known}
    assert share.right >= 0.98 * share.total


@pytest.mark.parametrize("name", recordings.WIRES)
def test_refusals_keep_their_status_and_say_something(name: str) -> None:
    refused = [entry for entry in recordings.entries(name) if entry["status"] >= 400]
    told = {entry["id"]: reader.error(entry) for entry in refused}
    assert refused
    assert [id for id, error in told.items() if not error.message.strip()] == []
    assert {id: error.status for id, error in told.items()} == {entry["id"]: entry["status"] for entry in refused}


def _ids(name: str, streamed: bool) -> set[str]:
    return {entry["id"] for entry in recordings.judged(name) if recordings.is_stream(entry) is streamed}
