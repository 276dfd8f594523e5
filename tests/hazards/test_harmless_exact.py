"""Guards against a value of another type that is called harmless because Python's `==` holds a boolean for a number."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.wire.base import Notes
from dragoman.wire.harmless import UNASKED


def lost(wire: str, key: str, value: Any) -> list[bool]:
    """Whether each note of a leftover that goes to another wire is a loss."""
    notes = Notes()
    notes.leftovers({wire: {key: value}}, "none of ours", ())
    return [note.loss for note in notes.done()]


def twins(value: Any) -> list[Any]:
    """What `==` holds for `value` and JSON does not."""
    match value:
        case bool():
            return [int(value), float(value)]
        case 0 | 1:
            return [bool(value)]
        case list():
            return [[twin] for item in value for twin in twins(item)]
        case dict():
            return [{**value, key: twin} for key, item in value.items() for twin in twins(item)]
        case _:
            return []


KNOWN = [(wire, key, value) for wire, keys in UNASKED.items() for key, values in keys.items() for value in values]
TWINS = [(wire, key, twin) for wire, key, value in KNOWN for twin in twins(value)]


@pytest.mark.parametrize(("wire", "key", "value"), KNOWN)
def test_what_happens_unasked_is_told_and_no_loss(wire: str, key: str, value: Any) -> None:
    assert lost(wire, key, value) == [False]


@pytest.mark.parametrize(("wire", "key", "twin"), TWINS)
def test_an_equal_value_of_another_type_is_a_loss(wire: str, key: str, twin: Any) -> None:
    assert lost(wire, key, twin) == [True]


@pytest.mark.parametrize(
    ("wire", "key", "value", "loss"),
    [
        ("chat", "repetition_penalty", 1.0, False),
        ("chat", "repetition_penalty", 1.1, True),
        ("chat", "repetition_penalty", True, True),
        ("chat", "min_p", 0.0, False),
        ("chat", "min_p", False, True),
        ("chat", "exclude", 0, True),
        ("chat", "modalities", ["text", "audio"], True),
        ("messages", "citations", {"enabled": False, "further": 1}, True),
        ("messages", "citations", {"enabled": 0}, True),
        ("messages", "context_management", {"edits": [[]]}, True),
        ("responses", "background", 0, True),
        ("responses", "background", 0.0, True),
        ("responses", "truncation", ["disabled"], True),
    ],
)
def test_numbers_are_one_type_and_booleans_another(wire: str, key: str, value: Any, loss: bool) -> None:
    assert lost(wire, key, value) == [loss]
