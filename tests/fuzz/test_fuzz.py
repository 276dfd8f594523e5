"""Guards law L6 by brute force: inputs broken at random, a fixed seed, and every input that once broke us."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from fuzz.run import Input, broken, check, handmade, recorded

FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))
INPUTS = 12_000


def test_handmade_bodies_broken_at_random_give_values_or_our_errors() -> None:
    assert list(check(islice(broken(Random(1), handmade()), INPUTS))) == []


@pytest.mark.corpus
def test_recordings_broken_at_random_give_values_or_our_errors(shared: Path) -> None:
    assert list(check(islice(broken(Random(2), recorded()), INPUTS))) == []


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_once_broke_us_does_so_no_more(file: Path) -> None:
    said = json.loads(file.read_text(encoding="utf-8"))
    one = Input(said["op"], said["from"], said["to"], said["body"].encode("utf-8", "surrogatepass"))
    assert list(check([one])) == []


def test_the_fuzzer_sees_a_fault_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.translate.request", lambda *_: 1 / 0)
    one = Input("request", "chat", "chat", b"{}")
    assert [find.error for find in check([one])] == ["ZeroDivisionError: division by zero"]
