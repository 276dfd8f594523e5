"""An event that is written again and again with another text: encoded once, then filled in."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

MARK = "\U000f1e1d"  # stands for the text; a character of private use
NUMBER = 80_706_050_403_020  # stands for the number

_encode = msgspec.json.Encoder().encode
_TEXT, _NUMBER = _encode(MARK), _encode(NUMBER)


class Stencil:
    """The bytes that `write` gives for a text and a number, whatever they are, at the price of the text alone.

    `write` depends on nothing else that changes, and puts the number, if at all, before the text. Where its other words
    hold a mark of ours it is asked each time.
    """

    __slots__ = ("_head", "_middle", "_tail", "_write")

    def __init__(self, write: Callable[[str, int], bytes]) -> None:
        self._write = write
        self._head, _, rest = write(MARK, NUMBER).rpartition(_NUMBER)
        self._middle, found, self._tail = rest.partition(_TEXT)
        if not found or _NUMBER in self._head or _TEXT in self._head or _TEXT in self._tail:
            self._tail = b""

    def fill(self, text: str, number: int = 0) -> bytes:
        """The event with this text and number."""
        try:
            if not self._tail:
                return self._write(text, number)
            if not self._head:
                return self._middle + _encode(text) + self._tail
            return b"%b%d%b%b%b" % (self._head, number, self._middle, _encode(text), self._tail)
        except ValueError:  # no Unicode: told as ever
            return self._write(text, number)
