"""Server-sent events from bytes: CR, LF or CRLF line ends, any split, nothing decoded before it is whole."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.errors import RemoteError
from dragoman.wire.jsonio import MAX_BYTES

BOM = b"\xef\xbb\xbf"


class Sse(msgspec.Struct, frozen=True):
    """One event: its name, if said, and its data; data None is a comment, sent to keep the connection alive."""

    name: str | None
    data: bytes | None


class SseReader:
    """`feed` bytes, get whole events; `close` gives the one that the end of the stream cut its blank line from.

    Lines end at CR, LF and CRLF only: U+2028 and its like are text. Work is linear in the bytes fed.
    Raises RemoteError too_large when one event exceeds `max_bytes`.
    Rules: the WHATWG event-stream grammar; dialects §8g for what servers send beside it.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name: str | None = None
        self._size = 0
        self._after_cr = False
        self._begun = False
        self._rests = False  # whether the next byte begins an event

    def feed(self, chunk: bytes) -> list[Sse]:
        """Events completed by `chunk`."""
        return [event for frame in self.frames(chunk) for event in parsed(frame)]

    def frames(self, chunk: bytes) -> list[bytes | Sse]:
        """The same, but what begins and ends within the chunk is given as it stands, for `parsed`."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._size += len(chunk)
        if self._size > self._max_bytes:
            raise RemoteError("too_large", f"one event of more than {self._max_bytes} bytes")
        if not self._begun and not self._line and chunk and not BOM.startswith(chunk[:1]):
            self._begun = self._rests = True
        found: list[bytes | Sse] = []
        if self._rests:
            *whole, chunk = chunk.split(b"\n\n")
            found += whole
            if whole:
                self._size = 0
            if not chunk:
                return found
        self._take_lines(chunk, found)
        return found

    def close(self) -> list[Sse]:
        """The event left open by the end of the stream, if any."""
        events: list[Any] = []
        line, self._line = b"".join(self._line), []
        if line:
            self._take_line(line, events)
        self._take_line(b"", events)
        return events

    def _take_lines(self, chunk: bytes, events: list[Any]) -> None:
        first, *rest = chunk.split(b"\n")
        self._line.append(first)
        for line in rest:
            self._take_line(b"".join(self._line), events)
            self._line = [line]
        self._rests = self._begun and not self._data and self._name is None and not any(self._line)
        if self._rests:
            self._line = []

    def _take_line(self, line: bytes, events: list[Any]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(BOM)
        if not line:
            if self._data:
                events.append(Sse(self._name, b"\n".join(self._data)))
            self._data, self._name, self._size = [], None, 0
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif not field:
            events.append(Sse(None, None))


def parsed(frame: bytes | Sse) -> list[Sse]:
    """The events of what stood before a blank line. Almost always it is one line of data, at most behind one with a name."""
    if isinstance(frame, Sse):
        return [frame]
    name, found, data = frame.partition(b"data: ")
    if found and b"\n" not in data:
        if not name:
            return [Sse(None, data)]
        if name.startswith(b"event: ") and name.find(b"\n") == len(name) - 1:
            return [Sse(name[7:-1].decode("utf-8", "replace"), data)]
    reader = SseReader()
    reader.frames(b"\n")  # what may stand before the first event only does not stand here
    return [*reader.feed(frame + b"\n"), *reader.close()]


def write(data: bytes, name: str | None = None) -> bytes:
    """One event as bytes; `data` must hold no line end (compact JSON never does)."""
    return lead(name) + data + b"\n\n"


def lead(name: str | None) -> bytes:
    """What stands before the data of an event. A name that holds a line end cannot be said: its data still has it."""
    if name is None or "\n" in name or "\r" in name:
        return b"data: "
    return b"event: " + name.encode() + b"\ndata: "


COMMENT = b": keep-alive\n\n"
