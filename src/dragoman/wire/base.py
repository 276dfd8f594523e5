"""The codec interface: what a wire is, and the values that pass through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.events import Delta, StreamEvent
from dragoman.types.note import Action, Note, Path
from dragoman.types.opaque import MARKS, Opaque
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire.harmless import HARMLESS, unasked
from dragoman.wire.schema.reverse import Reverse

T = TypeVar("T")

HEADERS: Path = ("headers",)  # where the headers that belong to a request stand, in notes


class Http(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request or a part of it: `path` is relative to the base address and holds the query."""

    method: str = "POST"
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header, whatever its case; None when absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """What the answer's codec must know about the question: made by the request codec, given to the reply codec.

    A plain value, so that it can be stored with a paused run. `wire`: the one on which the question was said, if it was.
    `names` and `ids` map wire to ours; `reverse`, by the caller's name of a tool, and `answer` undo what was changed in
    their schemas; `namespaces` give a tool's namespace and name by the name it went under; `echo` holds request
    fields that a reply repeats; `custom` the custom tools sent as functions; `offered` every tool name offered;
    `seed` and `now` are the source of synthesised ids and times, passed in by the edge.
    """

    wire: str | None = None
    stream: bool = False
    model: str | None = None
    provider: str | None = None
    names: Mapping[str, str] = {}
    ids: Mapping[str, str] = {}
    reverse: Mapping[str, Reverse] = {}
    answer: Reverse | None = None
    namespaces: Mapping[str, tuple[str, str]] = {}
    echo: Mapping[str, Any] = {}
    custom: frozenset[str] = frozenset()
    offered: tuple[str, ...] = ()
    output_tool: str | None = None
    include_usage: bool | None = None
    seed: str = ""
    now: int = 0

    @property
    def as_said(self) -> bool:
        """Whether an answer can be given to the caller as it came: no name and no schema of his was changed."""
        return not (self.names or self.reverse or self.namespaces) and self.answer is None


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A request ready to be sent, what its answer's codec must know, and what was lost."""

    http: Http
    exchange: Exchange
    notes: tuple[Note, ...] = ()


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a client sent it, in the middle format."""

    request: Request
    exchange: Exchange
    notes: tuple[Note, ...] = ()


class Decoded(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A value read from a wire, and what could not be kept of it."""

    value: T
    notes: tuple[Note, ...] = ()


class Encoded(msgspec.Struct, frozen=True, kw_only=True):
    """A body written for a wire, and what it could not say."""

    body: bytes
    notes: tuple[Note, ...] = ()


class Peek(msgspec.Struct, frozen=True, kw_only=True):
    """What routing needs of a request, read without its messages. `carriers`: its bytes hold another wire's state."""

    model: str | None
    stream: bool
    carriers: bool = False


class StreamDecoder(Protocol):
    """Bytes of a stream in, events out. Exactly one Finish or Failure comes, at the latest from `close`."""

    @property
    def notes(self) -> list[Note]: ...
    def feed(self, data: bytes) -> list[StreamEvent]: ...
    def close(self) -> list[StreamEvent]: ...


class StreamEncoder(Protocol):
    """Events in, bytes of a stream out, in the wire's own legal order."""

    @property
    def notes(self) -> list[Note]: ...
    def encode(self, event: StreamEvent) -> bytes: ...
    def close(self) -> bytes: ...


class Wire(Protocol):
    """A format: ten pure functions. None of them raises anything but our errors on foreign input."""

    @property
    def id(self) -> str: ...

    def peek(self, http: Http, dialect: Dialect) -> Peek: ...
    def readdress(self, http: Http, model: str, dialect: Dialect) -> Http: ...

    def encode_request(self, request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing: ...
    def decode_reply(self, body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]: ...
    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder: ...
    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError: ...

    def decode_request(self, http: Http, dialect: Dialect, exchange: Exchange) -> Incoming: ...
    def encode_reply(self, reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded: ...
    def stream_encoder(self, dialect: Dialect, exchange: Exchange) -> StreamEncoder: ...
    def encode_error(self, error: ApiError, dialect: Dialect) -> tuple[int, tuple[tuple[str, str], ...], bytes]: ...


class Notes:
    """Gathers notes during one conversion; `at` the place being converted."""

    def __init__(self) -> None:
        self.taken: list[Note] = []
        self._told: set[Note] | None = None  # made when there is something to tell
        self._piece: Opaque | None = None

    def add(self, path: Path, action: Action, reason: str, *, loss: bool = True) -> None:
        """Tell one thing, once: a stream may do it with every event."""
        note = Note(path=path, action=action, reason=reason, loss=loss)
        if self._told is None:
            self._told = set()
        if note not in self._told:
            self._told.add(note)
            self.taken.append(note)

    def leftovers(self, opaque: Opaque | None, wire: str, path: Path) -> None:
        """One note for each leftover of another wire that `wire` has no place for (architecture §6).

        Explicit nulls, empty values and the keys of `harmless.py` say nothing that could be lost.
        """
        for other, left in (opaque or {}).items():
            if other != wire:
                self._leftovers(left, other, wire, path)

    def piece(self, event: Delta, wire: str) -> None:
        """The leftovers of a piece of a stream; what the piece before it shares with it was told then."""
        if event.opaque is not self._piece:
            self._piece = event.opaque
            self.leftovers(event.opaque, wire, ("message", "content", event.index))

    def _leftovers(self, left: Mapping[str, Any], other: str, wire: str, path: Path) -> None:
        for key, value in left.items():
            if key in HARMLESS.get(other, ()):
                continue
            if key != MARKS and key.startswith(MARKS) and isinstance(value, dict):  # of an object nested in this one
                self._leftovers(value, other, wire, (*path, key.removeprefix(MARKS)))
            elif not key.startswith(MARKS) and value not in (None, "", [], {}):
                idle = unasked(other, key, value)
                why = "asks for what happens without it" if idle else f"has no place on the {wire} wire"
                loss = not idle and path != HEADERS  # a header speaks to its own wire's server
                self.add((*path, key), "dropped", f"`{key}` of the {other} wire {why}", loss=loss)

    def done(self) -> tuple[Note, ...]:
        """All notes so far; where a thing was dropped whole that note alone, none of a place within it."""
        if not self.taken:
            return ()
        gone = {note.path for note in self.taken if note.action == "dropped" and note.loss}
        if not gone:
            return tuple(self.taken)
        kept = (note for note in self.taken if not any(note.path[:end] in gone for end in range(1, len(note.path))))
        return tuple(kept)


class Fields:
    """A shallow copy of a JSON object from which a codec takes what it models; `left` is the leftovers.

    A key is taken only when its value is of the kind the field holds: explicit nulls and wrong types stay behind.
    """

    __slots__ = ("left", "marks")

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.left: dict[str, Any] = dict(value)
        self.left.pop(MARKS, None)  # ours alone: a body's own key of this name would be read as marks
        self.marks: dict[str, Any] = {}

    def take(self, key: str, kind: type[T]) -> T | None:
        """The value of `key` when it is of `kind` (bool is no int), else None and it stays."""
        value = self.left.get(key)
        if type(value) is kind:
            del self.left[key]
            return value
        return None

    def number(self, key: str) -> float | int | None:
        """An int or a float."""
        value = self.left.get(key)
        if type(value) is int or type(value) is float:
            del self.left[key]
            return value
        return None

    def choice(self, key: str, allowed: tuple[str, ...]) -> Any:
        """A string that is one of `allowed`."""
        return self.left.pop(key) if self.left.get(key) in allowed else None

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings."""
        value = self.left.get(key)
        if type(value) is list and all(type(item) is str for item in value):
            del self.left[key]
            return tuple(value)
        return None

    def opaque(self, wire: str) -> Opaque | None:
        """What was not taken, with the marks made; the end of this object's use."""
        if self.marks:
            self.left[MARKS] = self.marks
        return {wire: self.left} if self.left else None


def own(opaque: Opaque | None, wire: str) -> dict[str, Any]:
    """The leftovers of `wire` without our own keys."""
    left = opaque.get(wire) if opaque else None
    return {key: value for key, value in left.items() if not key.startswith(MARKS)} if left else {}
