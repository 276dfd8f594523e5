"""Events to a messages stream."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.collect import MESSAGE_BAG, merge_usage
from dragoman.types.content import Content, ToolCall
from dragoman.types.events import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Start,
    StreamEvent,
    UsageUpdate,
)
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.opaque import Bag, bag, marks, restore
from dragoman.types.reply import Usage
from dragoman.wire import jsonio, sse
from dragoman.wire.base import Exchange, Notes, own
from dragoman.wire.messages.errors import encode_error
from dragoman.wire.messages.grow import BlockWriter, write
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.messages.reply import envelope
from dragoman.wire.messages.stops import encode_stop
from dragoman.wire.messages.usage import encode_usage

BlockEvent = BlockStart | Delta | Patch | BlockEnd | Raw


class MessagesStreamEncoder:
    """Writes the stream a strict client accepts: blocks one after the other from index 0, input `{}` at the start of a
    call, one signature before the end of its block, usage first and last (evidence §D).

    Blocks of other wires may grow at the same time: what comes for a second one waits until the first has ended.
    """

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        self._dialect = dialect
        self._exchange = exchange
        self._notes = Notes()
        self._writer: BlockWriter | None = None
        self._held: dict[int, list[BlockEvent]] = {}
        self._done: set[int] = set()
        self._count = 0
        self._message = Message(role="assistant", content=())
        self._calls: list[Content] = []
        self._first: Bag = {}
        self._usage: Usage | None = None
        self._told: set[str] = set()
        self._begun = False
        self._ended = False

    @property
    def notes(self) -> list[Note]:
        """What the stream so far could not say."""
        return self._notes.taken

    def encode(self, event: StreamEvent) -> bytes:
        """The events of one event; empty when it adds nothing here or waits."""
        if self._ended:
            return b""
        if type(event) is Delta and self._writer is not None and self._writer.source == event.index:
            written = self._writer.again(event)
            if written is not None:
                return written
        match event:
            case Start():
                return self._start(event)
            case BlockStart() | Delta() | Patch() | BlockEnd():
                return self._begin() + self._serial(event)
            case UsageUpdate():
                self._usage = merge_usage(self._usage, event.usage)
                return b""
            case Finish():
                return self._begin() + self._finish(event)
            case Failure():
                self._ended = True
                _, _, body = encode_error(ApiError(event.code, event.message), self._dialect)
                return sse.write(body, "error")
            case Raw():
                return self._raw(event)
            case KeepAlive():
                return write("ping", {}) if self._begun else sse.COMMENT  # a ping first is out of order

    def close(self) -> bytes:
        """The end of the events; a stream that was cut stays cut."""
        self._ended = True
        return b""

    def _begin(self) -> bytes:
        return b"" if self._begun else self._start(Start())

    def _start(self, event: Start) -> bytes:
        self._begun = True
        self._notes.leftovers(event.opaque, WIRE, ())
        for wire, left in (event.opaque or {}).items():
            self._notes.leftovers({wire: left.get(MESSAGE_BAG, {})}, WIRE, ("message",))
        if event.created is not None:
            self._notes.add(("created",), "dropped", "a reply of this wire does not say when it was made", loss=False)
        self._message = Message(role="assistant", content=(), origin=event.origin)
        self._usage = merge_usage(self._usage, event.usage)
        usage = encode_usage(event.usage, self._dialect, Notes())
        self._first = usage if event.usage is not None and WIRE in (event.usage.opaque or {}) else {}
        message = envelope(event.id, event.model, self._exchange, ours=False)
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return write("message_start", {"message": restore(message, own(event.opaque, WIRE))})

    def _serial(self, event: BlockEvent) -> bytes:
        """Write an event, and when a block ended what waits, up to a block that is still growing."""
        out = [self._take(event)]
        while self._writer is None and self._held:
            index = next(iter(self._held))
            out += [self._take(held) for held in self._held.pop(index)]
        return b"".join(out)

    def _take(self, event: BlockEvent) -> bytes:
        """Write an event of the open block; let one of another block wait for its turn."""
        index = event.index
        assert index is not None
        if self._writer is not None and self._writer.source == index:
            return self._grow(self._writer, event)
        if isinstance(event, BlockStart):
            if self._writer is None:
                return self._open(event)
            self._held[index] = [event]
        elif index in self._held:
            self._held[index].append(event)
        elif index in self._done and isinstance(event, Patch):
            self._notes.add(("message", "content", index), "dropped", "it came after its block had ended")
        return b""

    def _open(self, event: BlockStart) -> bytes:
        self._writer = BlockWriter(event, self._count, self._notes)
        if isinstance(event.block, ToolCall):
            self._calls.append(event.block)
        return self._events(self._writer.start())

    def _grow(self, writer: BlockWriter, event: BlockEvent) -> bytes:
        match event:
            case Delta():
                return self._events(writer.delta(event))
            case Patch():
                return self._events(writer.patch(event))
            case Raw():
                return self._events(writer.raw(event))
            case BlockEnd():
                out = self._events(writer.end(event.block))
                self._count += writer.written
                self._done.add(writer.source)
                self._writer = None
                return out
            case BlockStart():
                return b""

    def _events(self, payloads: list[tuple[str, Bag]]) -> bytes:
        return b"".join(write(name, payload) for name, payload in payloads)

    def _finish(self, event: Finish) -> bytes:
        out: list[bytes] = []
        while self._writer is not None:
            out.append(self._serial(BlockEnd(index=self._writer.source)))
        self._ended = True
        self._notes.leftovers(event.opaque, WIRE, ())
        left, places = own(event.opaque, WIRE), marks(event.opaque, WIRE)
        beside = {name: {key: left.pop(key) for key in keys if key in left} for name, keys in places.items()}
        message = Message(role="assistant", content=tuple(self._calls), origin=self._message.origin)
        delta = restore(encode_stop(event.stop, message, self._notes, ("stop",)), left)
        self._usage = merge_usage(self._usage, event.usage)
        said = event.usage if event.usage is not None and bag(event.usage.opaque, WIRE) else self._usage
        usage = encode_usage(said, self._dialect, self._notes, self._first)
        out.append(write("message_delta", {"delta": delta, "usage": usage, **beside.get("message_delta", {})}))
        return b"".join([*out, write("message_stop", beside.get("message_stop", {}))])

    def _raw(self, event: Raw) -> bytes:
        if event.wire != WIRE:
            reason = f"event {event.name!r} of the {event.wire} wire has no place here"
            if reason not in self._told:  # once a stream, not once an event
                self._told.add(reason)
                self._notes.add(("events",), "dropped", reason)
            return b""
        if event.index is not None:
            return self._begin() + self._serial(event)
        payload: Any = event.payload
        return sse.write(jsonio.encode(payload), event.name)
