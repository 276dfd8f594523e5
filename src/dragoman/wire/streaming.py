"""What all stream decoders share: events framed, parsed and ended the same way on every wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.errors import ApiError, DragomanError, RemoteError
from dragoman.types.codes import RETRYABLE
from dragoman.types.events import Delta, Failure, Finish, KeepAlive, StreamEvent
from dragoman.types.note import Note, Path
from dragoman.types.reply import Usage
from dragoman.wire import jsonio
from dragoman.wire.again import Again, learn
from dragoman.wire.back import Undoing, needed
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.sse import Sse, SseReader, parsed

BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and white space may stand before either form
CUT = "the stream ended before its last signal"
FRUITLESS = 8  # so many events looked alike and none was: this server changes more than the text


class SseDecoder:
    """Bytes in, events out; a wire says what one parsed event means (`take`) and how its stream ends (`finish`).

    Exactly one Finish or Failure is emitted and nothing after it. A body that is no event stream but one JSON object
    (a server that does not stream, an error inside a 200) is read whole at `close`.

    Most events of a stream differ in their text alone. Once two in a row made one block grow, those that follow and look
    the same are read by `Again`; any other event ends that.
    """

    free: tuple[str, ...] = ()  # keys at the top of an event whose value means nothing: a number or a string

    def __init__(self, exchange: Exchange) -> None:
        self._notes = Notes()
        self.notes: list[Note] = self._notes.taken
        self._undoing = Undoing(exchange, self._notes) if needed(exchange) else None
        self.out: list[StreamEvent] = []
        self.ended = False
        self._reader = SseReader()
        self._whole: list[bytes] | None = None
        self._begun = False
        self._head: list[bytes] = []
        self._size = 0
        self._count = 0
        self._again: Again | None = None
        self._grown: Delta | None = None
        self._learned = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Events completed by `data`; empty after the end."""
        if not self._begun and not self.ended:
            significant = data.lstrip(BLANK)
            self._head.append(data)
            if not significant:
                return self._wait(len(data))
            data, self._head = b"".join(self._head), []
            self._begun = True
            if significant.startswith((b"{", b"[")):
                self._whole, self._size = [], 0
        if self._whole is not None:
            self._whole.append(data)
            return self._wait(len(data))
        if self.ended:
            return []
        try:
            for frame in self._reader.frames(data):
                if self._again is None or not self._goes_on(self._again, frame):
                    for event in parsed(frame):
                        self._take(event, last=False)
                    if self.ended:
                        break
        except DragomanError as error:
            self.fail(error)
        return self._drain()

    def close(self) -> list[StreamEvent]:
        """The end of the bytes: what was still open, then Finish if the wire's last signal came, else Failure."""
        if self._whole is not None:
            return self._read_whole(b"".join(self._whole))
        try:
            for event in self._reader.close():
                self._take(event, last=True)
        except DragomanError as error:
            self.fail(error)
        events = self._drain()
        if not self.ended:
            self._finish_or_fail()
            events += self._drain()
        return events

    def take(self, name: str | None, value: Mapping[str, Any]) -> None:
        """One event of the wire."""
        raise NotImplementedError

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        """Where the text of an event stands that was just taken and gave one Delta. None when the same event with
        another text, which says something, might give or change more than that Delta's text."""
        return None

    def grow(self, last: Delta, text: str, said: Mapping[str, str]) -> None:
        """The event that gave `last` came again with another text; `said` has the strings of its `free` keys too."""
        self.out.append(replace(last, text=text))

    def take_marker(self, text: str) -> bool:
        """A data line that is no JSON but a marker of the wire; True when it was one."""
        return False

    def finish(self) -> Finish | None:
        """The Finish, with what is still open closed first, or None when the wire's last signal has not come."""
        raise NotImplementedError

    def whole(self, body: bytes) -> Iterable[StreamEvent]:
        """The events of a whole reply that came where a stream was expected. May raise ApiError or RemoteError."""
        raise NotImplementedError

    def usage(self) -> Usage | None:
        """Usage so far, for a Failure."""
        return None

    def unread(self, path: Path, value: Any) -> None:
        """Tell of a value of a kind that nothing can be read from; a null says nothing."""
        if value is not None:
            self._notes.add(path, "dropped", f"{jsonio.kind(value)} came where this wire says something else")

    def end(self) -> None:
        """The wire's last signal is here: emit the Finish now."""
        if not self.ended:
            self._finish_or_fail()

    def fail(self, error: DragomanError) -> None:
        """Emit a Failure; the stream is over."""
        if self.ended:
            return
        self.ended = True
        retryable, status = error.code in RETRYABLE, None
        if isinstance(error, ApiError):
            retryable, status = error.retryable, error.detail.status or None
        failure = Failure(
            code=error.code, message=error.message, status=status, retryable=retryable, usage=self.usage()
        )
        self.out.append(failure)

    def _wait(self, more: int) -> list[StreamEvent]:
        """Nothing can be told of what came so far; what is held of it has a limit."""
        self._size += more
        if self._size > jsonio.MAX_BYTES:
            self._head, self._whole = [], None if self._whole is None else []
            self.fail(RemoteError("too_large", f"a body of more than {jsonio.MAX_BYTES} bytes"))
        return self._drain()

    def _finish_or_fail(self) -> None:
        finish = self.finish()
        if finish is None:
            self.fail(RemoteError("incomplete", CUT))
            return
        self.ended = True
        self.out.append(finish)

    def _take(self, sse: Sse, *, last: bool) -> None:
        if self.ended:
            return
        if sse.data is None:
            self.out.append(KeepAlive())
            return
        text = sse.data.strip()
        if text.startswith(b":"):  # a comment that a proxy wrapped up as data
            self.out.append(KeepAlive())
            return
        if not text or self.take_marker(text.decode("utf-8", "replace")):
            return
        place = ("events", self._count)
        self._count += 1
        try:
            value, found = jsonio.decode(text)
        except RemoteError as error:
            if last:  # the cut went through this event
                return
            raise RemoteError(error.code, error.message, place) from None
        self.notes += found
        if not isinstance(value, dict):
            raise RemoteError("bad_shape", f"expected an object, got {jsonio.kind(value)}", place)
        before = len(self.out)
        try:
            self.take(sse.name, value)
        except RemoteError as error:
            raise RemoteError(error.code, error.message, place) from None
        grown = self.out[before] if len(self.out) == before + 1 else None
        self._learn(sse.name, text, value, grown if type(grown) is Delta and grown.text else None)

    def _goes_on(self, again: Again, frame: bytes | Sse) -> bool:
        """Whether an event was the last one with another text; then it is done with."""
        last, text = self._grown, again.read(frame)
        if not text or last is None:
            return False
        self._count += 1
        self._learned = 0
        self.grow(last, text, again.said)
        return True

    def _learn(self, name: str | None, data: bytes, value: Mapping[str, Any], grown: Delta | None) -> None:
        last, self._grown, self._again = self._grown, grown, None
        if last is None or grown is None or self._learned == FRUITLESS:
            return
        if (last.index, last.field, last.part) != (grown.index, grown.field, grown.part):
            return
        place = self.growth(value)
        if place is not None:
            self._learned += 1
            self._again = learn(name, data, value, place, self.free)

    def _read_whole(self, body: bytes) -> list[StreamEvent]:
        if self.ended:
            return []
        try:
            self.out += self.whole(body)
            self.ended, self._undoing = True, None  # a whole reply was undone where it was read
        except DragomanError as error:
            self.fail(error)
        return self._drain()

    def _drain(self) -> list[StreamEvent]:
        out, self.out = self.out, []
        return out if self._undoing is None else self._undoing.feed(out)
