"""Lines of JSON from bytes: CR, LF or CRLF line ends, any split, nothing decoded before it is whole."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import RemoteError
from dragoman.wire.jsonio import MAX_BYTES
from dragoman.wire.sse import BOM, Sse


class LineReader:
    """`feed` bytes, get whole lines, each as an event without a name; `close` gives the last, which may lack its end.

    Blank lines are nothing. Work is linear in the bytes fed. Raises RemoteError too_large when one line exceeds
    `max_bytes`.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._begun = False

    def feed(self, chunk: bytes) -> list[Sse]:
        """Lines completed by `chunk`."""
        if b"\r" in chunk:  # no JSON text holds one as it stands
            chunk = chunk.replace(b"\r", b"\n")
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        found: list[Sse] = []
        for piece in rest:
            found += self.close()
            self._keep(piece)
        return found

    def frames(self, chunk: bytes) -> Sequence[bytes | Sse]:
        """The same: a line is an event as it stands."""
        return self.feed(chunk)

    def close(self) -> list[Sse]:
        """The line left open, if any."""
        line, self._pieces, self._size = b"".join(self._pieces), [], 0
        if not self._begun and line:
            self._begun = True
            line = line.removeprefix(BOM)
        line = line.strip()
        return [Sse(None, line)] if line else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise RemoteError("too_large", f"one line of more than {self._max_bytes} bytes")
        if piece:
            self._pieces.append(piece)


def write(line: bytes) -> bytes:
    """One line as bytes; `line` must hold no line end (compact JSON never does)."""
    return line + b"\n"
