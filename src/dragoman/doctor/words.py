"""How two texts differ: by a time, by an id, by a number, or by their words."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

Manner: TypeAlias = Literal["timestamp", "id", "number", "words"]
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# Every repetition is bounded: these run over whatever was sent.
TIME = re.compile(
    r"\d{4}[-/.年]\s?\d{1,2}(?:[-/.月]\s?\d{1,2}日?)?(?:[T ]?\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?"
    r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
    r"|\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:\s?[ap]m)?"
    rf"|(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{{0,6}},?\s{{1,2}})?(?:\d{{1,2}}\.?\s{{1,2}})?(?:{MONTHS})[a-z]{{0,6}}\.?"
    rf"(?:\s{{1,2}}\d{{1,2}}(?:st|nd|rd|th)?)?,?\s{{1,2}}\d{{4}}"
    rf"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:{MONTHS})[a-z]{{0,6}}\.?\s{{1,2}}\d{{1,2}}"
    r"|\b1[5-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?\b",
    re.IGNORECASE,
)
ID = re.compile(r"\b(?=[\w-]{0,64}\d)(?=[\w-]{0,64}[A-Za-z_-])[\w-]{6,128}\b|\b[0-9a-f]{8,128}\b")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LONG = 200_000  # letters of a text beyond which only its words are looked at
SHOWN, BEFORE = 32, 12  # letters of an excerpt, and how many of them stand before the difference


class Difference(NamedTuple):
    """Where two texts begin to differ, how, and a piece of either there."""

    at: int
    manner: Manner
    old: str
    new: str


def difference(old: str, new: str) -> Difference:
    """How two texts that are not equal differ. A time that stands in several places is one difference."""
    at = _shared(old, new)
    manner: Manner = "words"
    masked = (old, new) if max(len(old), len(new)) <= LONG else ("", "x")
    for name, pattern in (("timestamp", TIME), ("id", ID), ("number", NUMBER)):
        masked = (pattern.sub("\0", masked[0]), pattern.sub("\0", masked[1]))
        if masked[0] == masked[1]:
            manner = name  # type: ignore[assignment]
            break
    begin = max(at - BEFORE, 0)
    return Difference(at, manner, old[begin : begin + SHOWN], new[begin : begin + SHOWN])


def _shared(old: str, new: str) -> int:
    """The length of the beginning that two texts share."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
