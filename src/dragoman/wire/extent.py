"""Where a JSON object or array that arrives in pieces ends, without reading it."""

from __future__ import annotations

import re

OUTSIDE = re.compile(r'["{}\[\]]')
INSIDE = re.compile(r'["\\]')
SAYS = re.compile(r"\S")


class Extent:
    """`split` each piece: what lies within the first object or array, and what lies beyond it. Linear in the text.

    `closed` once the last bracket came. Text that is no object never closes, and all of it lies within.
    """

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def split(self, text: str) -> tuple[str, str]:
        """`text` in two: within, and beyond."""
        if self.closed:
            return "", text
        end = self.end(text)
        return text[:end], text[end:]

    def end(self, text: str, at: int = 0) -> int:
        """Where what lies within ends in `text`, which is read from `at` on: its own end while nothing is closed."""
        if self._escaped and at < len(text):
            self._escaped = False
            at += 1
        while match := (INSIDE if self._in_string else OUTSIDE).search(text, at):
            at = match.end()
            if self._step(match[0]):
                return at
            if match[0] == "\\":
                self._escaped = at == len(text)
                at += 1
        return len(text)

    def _step(self, mark: str) -> bool:
        """Take one mark in; True when it closes the whole."""
        if mark == '"':
            self._in_string = not self._in_string
        elif not self._in_string:
            self._depth += 1 if mark in "{[" else -1
            self.closed = self._depth == 0 and mark in "}]"
        return self.closed


def objects(text: str) -> list[str] | None:
    """The objects or arrays that stand one after another in `text`; None when anything else does, or one is cut."""
    found: list[str] = []
    end = 0
    while said := SAYS.search(text, end):
        extent, start = Extent(), said.start()
        end = extent.end(text, start)
        if not extent.closed or text[start] not in "{[":
            return None
        found.append(text[start:end])
    return found
