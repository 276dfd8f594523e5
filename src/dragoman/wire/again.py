"""An event that says what the one before it said, but for its text: read without reading the rest anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any

import msgspec

from dragoman.types.note import Path
from dragoman.wire.sse import Sse, lead

MARK = "\U000f1e1d"  # stands for a text; a character of private use
NUMBER = 80_706_050_403_020  # stands for a number
DIGITS = 18  # of a number that every parser reads
TEXT = "~text"  # the name of the text among the holes
LINE = b"\n"

_encode = msgspec.json.encode
_decode = msgspec.json.decode
_string = msgspec.json.Decoder(str).decode


class Again:
    """The bytes of one event around its text, and around figures that differ in each event and say nothing.

    Exact, whatever a server writes there: bytes that equal an event's everywhere but in places where it has a whole
    JSON string (or digits), and have a whole string (or digits) in those places, are the same JSON but for these values.
    """

    __slots__ = ("_head", "_lead", "_name", "_places", "_tail", "said")

    def __init__(self, name: str | None, pieces: Sequence[bytes], holes: Sequence[str]) -> None:
        self._name, self._lead = name, lead(name)
        self._head, self._tail = self._lead + pieces[0], pieces[-1]
        self._places = tuple(zip(holes, (*pieces[1:-1], b""), strict=True))  # each hole, and what follows it
        self.said: dict[str, str] = {}  # the strings of the free keys of the event that was read last

    def read(self, frame: bytes | Sse) -> str | None:
        """The text of an event that is like this one; None for any other."""
        if not isinstance(frame, bytes):
            if frame.data is None or frame.name != self._name:
                return None
            frame = self._lead + frame.data
        at, end = len(self._head), len(frame) - len(self._tail)
        if end < at or not frame.startswith(self._head) or not frame.endswith(self._tail):
            return None
        text: str | None = None
        for key, after in self._places:
            stop = frame.find(after, at, end) if after else end
            if stop < 0:
                return None
            literal = frame[at:stop]
            at = stop + len(after)
            if not key:
                if not literal.isdigit() or len(literal) > DIGITS or (len(literal) > 1 and literal.startswith(b"0")):
                    return None
                continue
            if LINE in literal:  # around the string: another line of the event, which may be no data
                return None
            try:
                string = _string(literal)
            except (msgspec.MsgspecError, UnicodeError):
                return None
            if key == TEXT:
                text = string
            else:
                self.said[key] = string
        return text


def learn(name: str | None, data: bytes, value: Mapping[str, Any], place: Path, free: Sequence[str]) -> Again | None:
    """What to look for after an event of these bytes, parsed as `value`: its text stands at `place`, the values of the
    keys `free` at its top may be any. None where that cannot be told from the bytes for certain."""
    if LINE in data:  # several lines of data: the same bytes in one frame would not be the same event
        return None
    holes = [place, *((key,) for key in free if key in value)]
    cuts: list[tuple[int, int, str]] = []
    for hole in holes:
        found = _find(data, str(hole[-1]), _at(value, hole))
        if found is None:
            return None
        key = TEXT if hole is place else str(hole[-1])
        cuts.append((*found, key if type(_at(value, hole)) is str else ""))
    cuts.sort()
    pieces: list[bytes] = []
    at = 0
    for start, stop, _ in cuts:
        pieces.append(data[at:start])
        at = stop
    pieces.append(data[at:])
    if not all(pieces) or not _is_same(pieces, cuts, value, holes):
        return None
    return Again(name, pieces, [key for _, _, key in cuts])


def _find(data: bytes, key: str, said: Any) -> tuple[int, int] | None:
    """Where the value of a key stands, if it stands in one place only."""
    if type(said) is not str and type(said) is not int:
        return None
    for literal in (_encode(said), dumps(said).encode()):
        for colon in (b":", b": "):
            whole = _encode(key) + colon + literal
            at = data.find(whole)
            if at >= 0:
                stop = at + len(whole)
                return None if data.find(whole, at + 1) >= 0 else (stop - len(literal), stop)
    return None


def _is_same(
    pieces: Sequence[bytes], cuts: Sequence[tuple[int, int, str]], value: Mapping[str, Any], holes: Sequence[Path]
) -> bool:
    """The proof: with other values in the holes the bytes say the same but for these values."""
    marks = [_encode(MARK if key else NUMBER) for _, _, key in cuts]
    marked = b"".join(part for pair in zip(pieces, [*marks, b""], strict=True) for part in pair)
    try:
        read: Any = _decode(marked)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    for hole in holes:
        holder = _at(read, hole[:-1])
        said = _at(value, hole)
        if holder[hole[-1]] != (NUMBER if type(said) is int else MARK):
            return False
        holder[hole[-1]] = said
    return read == value


def _at(value: Any, place: Path) -> Any:
    for step in place:
        value = value[step]
    return value
