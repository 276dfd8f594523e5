"""Events to a messages stream."""

from __future__ import annotations

from collections import deque
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.collect import MESSAGE_BAG
from dragoman.types.content import Content, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Patch, Raw, Start, StreamEvent
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, bag, marks, nested, restore
from dragoman.wire import jsonio, sse
from dragoman.wire.base import Exchange, Notes, own
from dragoman.wire.emitting import EventEncoder
from dragoman.wire.messages.errors import encode_error
from dragoman.wire.messages.grow import BlockWriter, write
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.messages.reply import envelope
from dragoman.wire.messages.stops import encode_stop
from dragoman.wire.messages.usage import encode_usage

BlockEvent = BlockStart | Delta | Patch | BlockEnd | Raw


class MessagesStreamEncoder(EventEncoder):
    """Writes the stream a strict client accepts: blocks one after the other from index 0, input `{}` at the start of a
    call, one signature before the end of its block, usage first and last (evidence §D).

    Blocks of other wires may grow at the same time: what comes for a second one waits until the first has ended.
    """

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._writer: BlockWriter | None = None
        self._held: dict[int, list[BlockEvent]] = {}
        self._turns: deque[int] = (
            deque()
        )  # what is held, in order: a dict looks for its first key past all that are gone
        self._done: set[int] = set()
        self._count = 0
        self._message = Message(role="assistant", content=())
        self._calls: list[Content] = []
        self._first: Bag = {}
        self._begun = False

    def encode(self, event: StreamEvent) -> bytes:
        writer = self._writer
        if type(event) is Delta and writer is not None and writer.source == event.index and not self._ended:
            written = writer.again(event)
            if written is not None:
                return written
        return super().encode(event)

    def delta(self, event: Delta) -> bytes:
        return self._begin() + self._serial(event)

    def block_start(self, event: BlockStart) -> bytes:
        return self._begin() + self._serial(event)

    def block_end(self, event: BlockEnd) -> bytes:
        return self._begin() + self._serial(event)

    def patch(self, event: Patch) -> bytes:
        return self._begin() + self._serial(event)

    def _begin(self) -> bytes:
        return b"" if self._begun else self.start(Start())

    def start(self, event: Start) -> bytes:
        self._begun = True
        self._notes.leftovers(event.opaque, WIRE, ())
        for wire, left in (event.opaque or {}).items():
            self._notes.leftovers({wire: nested(left, MESSAGE_BAG)}, WIRE, ("message",))
        if event.created is not None:
            self._notes.add(("created",), "dropped", "a reply of this wire does not say when it was made", loss=False)
        self._message = Message(role="assistant", content=(), origin=event.origin)
        usage = encode_usage(event.usage, self._dialect, Notes())
        self._first = usage if event.usage is not None and WIRE in (event.usage.opaque or {}) else {}
        message = envelope(event.id, event.model, self._exchange, ours=False)
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return write("message_start", {"message": restore(message, bag(event.opaque, WIRE))})

    def _serial(self, event: BlockEvent) -> bytes:
        """Write an event, and when a block ended what waits, up to a block that is still growing."""
        out = [self._take(event)]
        while self._writer is None and self._held:
            out += [self._take(held) for held in self._held.pop(self._turns.popleft())]
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
            if index not in self._held:
                self._turns.append(index)
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

    def finish(self, event: Finish) -> bytes:
        out = [self._begin()]
        while self._writer is not None:
            out.append(self._serial(BlockEnd(index=self._writer.source)))
        self._notes.leftovers(event.opaque, WIRE, ())
        left, places = own(event.opaque, WIRE), marks(event.opaque, WIRE)
        beside = {name: {key: left.pop(key) for key in keys if key in left} for name, keys in places.items()}
        message = Message(role="assistant", content=tuple(self._calls), origin=self._message.origin)
        delta = restore(encode_stop(event.stop, message, self._notes, ("stop",)), left)
        said = event.usage if event.usage is not None and bag(event.usage.opaque, WIRE) else self._usage
        usage = encode_usage(said, self._dialect, self._notes, self._first)
        out.append(write("message_delta", {"delta": delta, "usage": usage, **beside.get("message_delta", {})}))
        return b"".join([*out, write("message_stop", beside.get("message_stop", {}))])

    def failure(self, event: Failure) -> bytes:
        _, _, body = encode_error(ApiError(event.code, event.message), self._dialect)
        return sse.write(body, "error")

    def raw(self, event: Raw) -> bytes:
        """An event that nobody modelled: of a block in its place, of the reply as it came."""
        if event.wire != WIRE:
            return super().raw(event)
        if event.index is not None:
            return self._begin() + self._serial(event)
        payload: Any = event.payload
        return sse.write(jsonio.encode(payload), event.name)

    def alive(self) -> bytes:
        return write("ping", {}) if self._begun else sse.COMMENT  # a ping first is out of order
