"""Server-sent events from bytes: CR, LF or CRLF line ends, any split, nothing decoded before it is whole."""

from __future__ import annotations

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

    def feed(self, chunk: bytes) -> list[Sse]:
        """Events completed by `chunk`."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._grow(len(chunk))
        events: list[Sse] = []
        if not self._begun and not self._line and chunk and not BOM.startswith(chunk[:1]):
            self._begun = True
        if self._begun and not self._data and self._name is None and not any(self._line):
            chunk = self._take_events(chunk, events)
            self._line = []
            if not chunk:
                return events
        first, *rest = chunk.split(b"\n")
        self._line.append(first)
        for line in rest:
            self._take_line(b"".join(self._line), events)
            self._line = [line]
        return events

    def close(self) -> list[Sse]:
        """The event left open by the end of the stream, if any."""
        events: list[Sse] = []
        line, self._line = b"".join(self._line), []
        if line:
            self._take_line(line, events)
        self._take_line(b"", events)
        return events

    def _take_events(self, chunk: bytes, events: list[Sse]) -> bytes:
        """The events that end within a chunk which begins with one; gives what is left. Almost all are one line of data,
        at most behind one with a name: these are seen as they stand, any other goes line by line."""
        *whole, rest = chunk.split(b"\n\n")
        name, lead = None, b""  # the last event's, which most often is the next one's too
        for event in whole:
            if not lead or not event.startswith(lead):
                name, lead = _lead(event)
            data = event[len(lead) :]
            if lead and b"\n" not in data:
                events.append(Sse(name, data))
                continue
            for line in event.split(b"\n"):
                self._take_line(line, events)
            self._take_line(b"", events)
        if whole:
            self._size = 0
        return rest

    def _take_line(self, line: bytes, events: list[Sse]) -> None:
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

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            raise RemoteError("too_large", f"one event of more than {self._max_bytes} bytes")


def _lead(event: bytes) -> tuple[str | None, bytes]:
    """The name of an event and all that stands before its data; nothing when it is written in any other way."""
    if event.startswith(b"data: "):
        return None, b"data: "
    name, found, _ = event.partition(b"\ndata: ")
    if not found or not name.startswith(b"event: ") or b"\n" in name:
        return None, b""
    return name[7:].decode("utf-8", "replace"), name + found


def write(data: bytes, name: str | None = None) -> bytes:
    """One event as bytes; `data` must hold no line end (compact JSON never does)."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + data + b"\n\n"


COMMENT = b": keep-alive\n\n"
