"""The one scanner under all formats: text comes in pieces, and a format reads it as if it were all there.

A format is a generator. Where it needs more than has come it waits (it yields None), and goes on in the same place when
more is fed. So no format can tell how the text was cut, and each piece is looked at once. What it makes of the text it
yields: Said, Thought, Call or Cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import TypeAlias

import msgspec

QUOTE_OR_BRACKET = re.compile(r'["\\{}\[\]]')
SPACE = " \t\r\n"


class Said(msgspec.Struct, frozen=True):
    """Text for the user."""

    text: str


class Thought(msgspec.Struct, frozen=True):
    """Reasoning."""

    text: str


class Call(msgspec.Struct, frozen=True):
    """A whole call; `arguments` is the JSON text of an object."""

    name: str
    arguments: str


class Cut(msgspec.Struct, frozen=True):
    """A call that did not come to its end: never executed, never shown as text, and not forgotten."""

    name: str
    raw: str


Out: TypeAlias = Said | Thought | Call | Cut


class Scan:
    """What has come and was not read yet. `done` says that nothing more will come."""

    def __init__(self) -> None:
        self.done = False
        self._text = ""
        self._at = 0
        self._kept: list[str] | None = None

    def add(self, text: str) -> None:
        """More text."""
        self._text = self._text[self._at :] + text
        self._at = 0

    def unread(self, text: str) -> None:
        """Puts back what was just read."""
        self._text = text + self.ahead()
        self._at = 0

    def keep(self, read: str = "") -> None:
        """From here on what is read is kept, beginning with `read`, for a format that may find it is no call."""
        self._kept = [read]

    def kept(self) -> str:
        """All that was read since `keep`."""
        text, self._kept = "".join(self._kept or ()), None
        return text

    def ahead(self) -> str:
        """What has come and is not read yet."""
        return self._text[self._at :]

    def wait(self, size: int) -> Generator[None, None, bool]:
        """Until at least `size` characters are ahead; False when the text ends before."""
        while len(self._text) - self._at < size:
            if self.done:
                return False
            yield None
        return True

    def until(self, *marks: str) -> Generator[str | None, None, str | None]:
        """Yields the text before the first of `marks`, as it comes, and returns that mark, which is read as well.

        Returns None at the end of the text, and so always without marks. What may be the beginning of a mark is held back until it is decided.
        """
        while True:
            text = self.ahead()
            at, mark = _first(text, marks)
            if mark is not None:
                if at:
                    yield self.read(at)
                self.read(len(mark))
                return mark
            if self.done:
                if text:
                    yield self.read(len(text))
                return None
            free = len(text) - _begun(text, marks)
            if free:
                yield self.read(free)
            yield None

    def starts(self, *options: str) -> Generator[None, None, str | None]:
        """Reads and returns the longest option that stands here; None, and nothing read, when none does."""
        while True:
            text = self.ahead()
            undecided = any(option != text and option.startswith(text) for option in options)
            if self.done or not undecided:
                found = max((option for option in options if text.startswith(option)), key=len, default=None)
                if found is not None:
                    self.read(len(found))
                return found
            yield None

    def space(self) -> Generator[None, None, None]:
        """Reads white space."""
        while True:
            text = self.ahead()
            rest = text.lstrip(SPACE)
            self.read(len(text) - len(rest))
            if rest or self.done:
                return
            yield None

    def looks(self, size: int = 1) -> Generator[None, None, str]:
        """The next `size` characters, not read; fewer at the end of the text."""
        yield from self.wait(size)
        return self.ahead()[:size]

    def json(self) -> Generator[None, None, tuple[str, bool]]:
        """Reads one JSON object or array and returns its text, and whether it is whole.

        Brackets within its strings do not count. Nothing is read where none begins: ("", False).
        """
        if (yield from self.looks()) not in ("{", "["):
            return "", False
        pieces: list[str] = []
        depth, quoted, escaped = 0, False, False
        while True:
            text = self.ahead()
            at, size = 0, len(text)
            while at < size:
                if escaped:
                    escaped, at = False, at + 1
                    continue
                found = QUOTE_OR_BRACKET.search(text, at)
                if found is None:
                    at = size
                    break
                at, sign = found.end(), found.group()
                if sign == "\\":
                    escaped = quoted
                elif sign == '"':
                    quoted = not quoted
                elif not quoted:
                    depth += 1 if sign in "{[" else -1
                if depth == 0:
                    return "".join((*pieces, self.read(at))), True
            pieces.append(self.read(at))
            if self.done:
                return "".join(pieces), False
            yield None

    def read(self, size: int) -> str:
        """The next `size` characters, which have come."""
        text = self._text[self._at : self._at + size]
        self._at += size
        if self._kept is not None:
            self._kept.append(text)
        return text


Reading: TypeAlias = Generator[Out | None, None, None]
Pieces: TypeAlias = Generator[str | None, None, str | None]


def told(pieces: Pieces, kind: Callable[[str], Out]) -> Generator[Out | None, None, str | None]:
    """Pieces of text as they come, each as `kind`; returns the mark that ended them."""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return end.value
        yield None if piece is None else kind(piece)


def gathered(pieces: Pieces) -> Generator[None, None, tuple[str, str | None]]:
    """Pieces of text put together, and the mark that ended them."""
    found: list[str] = []
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return "".join(found), end.value
        if piece is None:
            yield None
        else:
            found.append(piece)


def between(pieces: Pieces) -> Generator[Out | None, None, str | None]:
    """The mark that ends a stretch between calls, where there should be white space only; words there are text."""
    text, mark = yield from gathered(pieces)
    if text.strip():
        yield Said(text)
    return mark


def _first(text: str, marks: tuple[str, ...]) -> tuple[int, str | None]:
    """The mark that begins first, the longer one of two that begin together."""
    best, found = len(text), None
    for mark in marks:
        at = text.find(mark)
        if at != -1 and (at < best or (at == best and found is not None and len(mark) > len(found))):
            best, found = at, mark
    return best, found


def _begun(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of `text` may be the beginning of a mark."""
    longest = min(len(text), max(map(len, marks), default=1) - 1)
    tail = text[len(text) - longest :]
    for start in range(longest):
        end = tail[start:]
        if any(mark.startswith(end) for mark in marks):
            return longest - start
    return 0
