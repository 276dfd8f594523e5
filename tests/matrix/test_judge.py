"""Guards the judge's own eye: it must see a difference where there is one, and none where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from matrix import judge
from matrix.oracle import Call, Reading, Usage

READING = Reading("text", "thought", "no", (Call("add", {"a": 1}), Call("sub", "{")), Usage(9, 8, 7))


@pytest.mark.parametrize(
    "other",
    [
        replace(READING, text="text "),
        replace(READING, reasoning=""),
        replace(READING, refusal=""),
        replace(READING, calls=READING.calls[::-1]),
        replace(READING, calls=(Call("add", {"a": True}), READING.calls[1])),
        replace(READING, calls=(READING.calls[0], Call("sub", {}))),
        replace(READING, usage=Usage(9, 8, 8)),
        replace(READING, failed=True),
    ],
)
def test_each_difference_is_seen(other: Reading) -> None:
    assert len(judge.compare(READING, other)) == 1


def test_equal_readings_are_equal() -> None:
    one = Reading(calls=(Call("add", {"a": 1, "b": 2.0}),))
    assert judge.compare(one, Reading(calls=(Call("add", {"b": 2, "a": 1.0}),))) == []


def test_a_text_that_starts_with_think_may_be_read_either_way() -> None:
    said = Reading(text="<think>\nhm\n</think>\n\nyes")
    assert judge.compare(said, said) == []
    assert judge.compare(said, Reading(text="yes", reasoning="hm")) == []
    assert judge.compare(said, Reading(text="yes")) != []


def test_json_differences_are_told_with_their_place() -> None:
    went_in = {"a": [1, {"b": True}], "c": None, "d": "x"}
    assert judge.paths(went_in, {"d": "x", "c": None, "a": [1.0, {"b": True}]}) == []
    assert judge.paths(went_in, {"a": [1, {"b": 1}], "d": "y", "e": 0}) == [
        ".a[1].b true became 1",
        ".c lost (null)",
        '.d "x" became "y"',
        ".e added (0)",
    ]
