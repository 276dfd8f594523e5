"""Ids that nobody said: made from the exchange's seed and a position, so a replayed run gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from dragoman.errors import LocalError

MAX_ROUNDS = 64
LEGAL = re.compile("[A-Za-z0-9_-]*")
ILLEGAL = re.compile("[^A-Za-z0-9_-]")


def made_id(prefix: str, seed: str, position: int = 0) -> str:
    """`prefix` and 24 hexadecimal digits."""
    digest = sha256(f"{prefix}|{seed}|{position}".encode()).hexdigest()
    return prefix + digest[:24]


class Renamer:
    """Ids or names made legal for a wire: the same text always becomes the same legal text, and no two become one.

    `given` maps each text that had to change to what it became (dialects §8d). `limit` 0 is no limit; `taken` are texts
    that stay what they are.
    """

    def __init__(self, limit: int = 0, taken: Iterable[str] = ()) -> None:
        self.given: dict[str, str] = {}
        self._limit = limit
        self._taken: dict[str, str] = {text: text for text in taken}

    def __call__(self, text: str) -> str:
        """`text` itself where it is legal and free, else a legal text with a digest of it at its end. No text stays
        none: there is nothing to tell it by."""
        if not text:
            return text
        if self._limit == 0 and LEGAL.fullmatch(text) and self._taken.setdefault(text, text) == text:
            return text
        if text in self.given:
            return self.given[text]
        legal = text if LEGAL.fullmatch(text) else ILLEGAL.sub("_", text)
        made, size = legal, 8
        if legal != text or (self._limit and len(text) > self._limit):
            made = self._digested(legal, text, size)
        while self._taken.get(made, text) != text:
            size += 4
            made = self._digested(legal, text, size)
        self._taken[made] = text
        if made != text:
            self.given[text] = made
        return made

    def _digested(self, legal: str, text: str, size: int) -> str:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:size]
        head = legal[: self._limit - size - 1] if self._limit else legal
        return f"{head}_{digest}"


class IdFitter:
    """Call ids made to match a server's pattern: the same id always the same, and no two become one.

    A replacement is `length` letters and digits, which every pattern that is known allows (dialects §8d).
    """

    def __init__(self, pattern: str, length: int) -> None:
        self._legal = re.compile(pattern)
        self._length = length
        self._taken: dict[str, str] = {}

    def __call__(self, id: str) -> str:
        """`id` itself where it matches and is free, else its replacement."""
        made, round = id, 0
        while not self._legal.fullmatch(made) or self._taken.get(made, id) != id:
            made = sha256(f"{id}|{round}".encode("utf-8", "surrogatepass")).hexdigest()[: self._length]
            round += 1
            if round > MAX_ROUNDS:
                raise LocalError("bad_shape", f"no call id of {self._length} letters and digits matches this dialect")
        self._taken[made] = id
        return made
