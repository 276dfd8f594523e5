"""Reasoning state through a client of another wire: hidden in a slot that client echoes, restored when it comes back.

A run of blocks that the client's wire cannot say (reasoning with its signatures, hosted calls and results, unknown
blocks) becomes one reasoning block of that wire, whose slot holds the run. Chat clients surely return nothing but
tool call ids: there the first call's id gets a short key, and the state lies in a store that the edge passes in.
A value that is missing, altered, forged or unknown degrades to "no reasoning state", with a note (architecture §6.2).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Protocol

import msgspec

from dragoman.types.base import Origin
from dragoman.types.collect import Collector
from dragoman.types.content import Content, Foreign, HostedCall, HostedResult, Reasoning, ToolCall, ToolResult
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Patch, Start, StreamEvent
from dragoman.types.message import Message
from dragoman.types.opaque import bag
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire.base import Notes
from dragoman.wire.carrier import PREFIX, State, is_carrier, pack, unpack

KEY_DIGITS = 16
NOT_SHOWN = "(reasoning not shown)"  # some clients drop a thinking block whose text is empty


class Store(Protocol):
    """Where the state of chat clients lies between requests; shared by several nodes if it wants to be."""

    def put(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> str | None: ...


class MemoryStore:
    """The default store: bounded, oldest out first."""

    def __init__(self, entries: int = 10_000, characters: int = 256 * 1024 * 1024) -> None:
        self._entries, self._characters, self._size = entries, characters, 0
        self._values: OrderedDict[str, str] = OrderedDict()

    def put(self, key: str, value: str) -> None:
        """Keep `value`, and let the oldest go when there is no room."""
        self._size += len(value) - len(self._values.pop(key, ""))
        self._values[key] = value
        while self._values and (len(self._values) > self._entries or self._size > self._characters):
            _, gone = self._values.popitem(last=False)
            self._size -= len(gone)

    def get(self, key: str) -> str | None:
        """The value of `key`, which becomes the youngest."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """The edge's secret key, and its store; without a store chat clients get the bonus slots only."""

    key: bytes
    store: Any = None

    def __repr__(self) -> str:
        return "Carrier(key=hidden)"


def carry_reply(reply: Reply, wire: str, carrier: Carrier, notes: Notes) -> Reply:
    """`reply` as a client of `wire` can hold it: its unsayable runs packed. The same reply when it is of that wire."""
    origin = reply.message.origin
    if origin is not None and origin.wire == wire:
        return reply
    packer = _Packer(wire, carrier, origin)
    content: list[Content] = []
    for at, block in enumerate(reply.message.content):
        if packer.wants(block):
            notes.add(
                ("message", "content", at), "moved", f"travels in a reasoning block of the {wire} wire", loss=False
            )
            packer.add(block)
            continue
        content += packer.flush()
        content.append(packer.key_into(block))
    content += packer.flush()
    return msgspec.structs.replace(reply, message=msgspec.structs.replace(reply.message, content=tuple(content)))


class CarryStream:
    """The same for events: `feed` each, get what the client's encoder shall see. Readable reasoning flows on live."""

    def __init__(self, wire: str, carrier: Carrier) -> None:
        self._wire = wire
        self._carrier = carrier
        self._packer: _Packer | None = None
        self._gather = Collector()
        self._carried: set[int] = set()
        self._indices: dict[int, int] = {}
        self._count = 0
        self._open: int | None = None
        self._spoke = False

    def feed(self, event: StreamEvent) -> list[StreamEvent]:
        """Events for the client's encoder."""
        match event:
            case Start():
                if event.origin is None or event.origin.wire != self._wire:
                    self._packer = _Packer(self._wire, self._carrier, event.origin)
                return [event]
            case BlockStart() if self._packer is not None:
                return self._begin(event, self._packer)
            case Delta() | Patch() | BlockEnd() if event.index in self._carried:
                return self._carried_event(event)
            case Delta() | Patch() | BlockEnd():
                return [msgspec.structs.replace(event, index=self._indices.get(event.index, event.index))]
            case Finish() | Failure() if self._packer is not None:
                return [*self._flush(self._packer), event]
            case _:
                return [event]

    def _begin(self, event: BlockStart, packer: _Packer) -> list[StreamEvent]:
        if packer.wants(event.block):
            self._carried.add(event.index)
            self._gather.feed(event)
            opened: list[StreamEvent] = []
            if self._open is None:
                self._open = self._next(event.index)
                opened.append(BlockStart(index=self._open, block=packer.opening()))
            return opened
        out = self._flush(packer)
        index = self._next(event.index)
        return [*out, BlockStart(index=index, block=packer.key_into(event.block))]

    def _carried_event(self, event: Delta | Patch | BlockEnd) -> list[StreamEvent]:
        self._gather.feed(event)
        if isinstance(event, Delta) and event.field in ("text", "summary") and event.text and self._open is not None:
            self._spoke = True
            field = "summary" if self._wire == "responses" else "text"
            return [Delta(index=self._open, field=field, text=event.text)]
        return []

    def _flush(self, packer: _Packer) -> list[StreamEvent]:
        if self._open is None:
            return []
        index, self._open = self._open, None
        for block in self._gather.reply.message.content:
            packer.add(block)
        self._gather = Collector()
        out: list[StreamEvent] = []
        closed = packer.flush()
        if not self._spoke and self._wire == "messages":
            out.append(Delta(index=index, text=NOT_SHOWN))
        self._spoke = False
        state = closed[0].opaque if closed else None
        return [*out, Patch(index=index, opaque=state), BlockEnd(index=index)]

    def _next(self, source: int) -> int:
        self._indices[source] = self._count
        self._count += 1
        return self._count - 1


def uncarry_request(request: Request, wire: str, carrier: Carrier, notes: Notes) -> Request:
    """A client's request with every carried run back in its place, and our keys off the call ids."""
    messages: list[Message] = []
    for at, message in enumerate(request.messages):
        content: list[Content] = []
        for inner, block in enumerate(message.content):
            path = ("messages", at, "content", inner)
            content += _restored(block, wire, carrier, (notes, path))
        messages.append(
            message if content == list(message.content) else msgspec.structs.replace(message, content=tuple(content))
        )
    return msgspec.structs.replace(request, messages=tuple(messages))


class _Packer:
    """One run of blocks on its way into one slot."""

    def __init__(self, wire: str, carrier: Carrier, origin: Origin | None) -> None:
        self._wire = wire
        self._carrier = carrier
        self._origin = origin
        self._run: list[Content] = []
        self._pending: str | None = None

    def wants(self, block: Content) -> bool:
        """Whether a block of another wire loses something that only a carrier keeps."""
        return isinstance(block, Reasoning | HostedCall | HostedResult) or (
            isinstance(block, Foreign) and block.wire != self._wire
        )

    def add(self, block: Content) -> None:
        self._run.append(block)

    def opening(self) -> Reasoning:
        """The reasoning block, before a word of it is known."""
        return Reasoning(summary=()) if self._wire == "responses" else Reasoning(text="")

    def flush(self) -> list[Content]:
        """The run as one reasoning block of the client's wire; nothing when there is none."""
        run, self._run = self._run, []
        if not run:
            return []
        value = pack(State(blocks=tuple(run), origin=self._origin), self._carrier.key)
        text = "\n".join(filter(None, (_readable(block) for block in run)))
        if self._wire == "chat" and value is not None:
            self._pending = value
        opaque = None if value is None else {self._wire: slot(self._wire, value)}
        if self._wire == "responses":
            return [Reasoning(summary=(text,) if text else (), opaque=opaque)]
        return [Reasoning(text=text or NOT_SHOWN, opaque=opaque)]

    def key_into(self, block: Content) -> Content:
        """The first call after a run gets the key of its state, for clients that return nothing but ids."""
        store = self._carrier.store
        if self._pending is None or store is None or not isinstance(block, ToolCall):
            return block
        key = sha256(self._pending.encode()).hexdigest()[:KEY_DIGITS]
        store.put(key, self._pending)
        self._pending = None
        return msgspec.structs.replace(block, id=block.id + PREFIX + key)


def slot(wire: str, value: str) -> dict[str, Any]:
    """Where `value` stands on a reasoning block of `wire` (docs/architecture.md, "Carriers")."""
    match wire:
        case "messages":
            return {"signature": value}
        case "responses":
            return {"encrypted_content": value}
        case _:
            return {"reasoning_details": [{"type": "reasoning.encrypted", "data": value, "format": PREFIX, "index": 0}]}


def _values(block: Content, wire: str) -> Iterable[str]:
    left = bag(block.opaque, wire)
    for key in ("signature", "encrypted_content", "data"):
        if is_carrier(left.get(key)):
            yield left[key]
    details = left.get("reasoning_details")
    for item in details if isinstance(details, list) else ():
        if isinstance(item, dict) and is_carrier(item.get("data")):
            yield item["data"]


def _restored(block: Content, wire: str, carrier: Carrier, at: tuple[Notes, Any]) -> list[Content]:
    notes, path = at
    if isinstance(block, ToolCall | ToolResult):
        return _without_key(block, carrier, at)
    found = list(_values(block, wire))
    if not found:
        return [block]
    state = unpack(found[0], carrier.key)
    if state is None:
        notes.add(path, "dropped", "this reasoning state is not one we gave out, or was altered")
        return []
    return _with_origin(state)


def _without_key(block: ToolCall | ToolResult, carrier: Carrier, at: tuple[Notes, Any]) -> list[Content]:
    notes, path = at
    field = "id" if isinstance(block, ToolCall) else "call_id"
    id, found, key = getattr(block, field).rpartition(PREFIX)
    if not found or len(key) != KEY_DIGITS:
        return [block]
    bare = msgspec.structs.replace(block, **{field: id})
    if isinstance(block, ToolResult) or carrier.store is None:
        return [bare]
    value = carrier.store.get(key)
    state = None if value is None else unpack(value, carrier.key)
    if state is None:
        notes.add(path, "dropped", "the reasoning state of this call is no longer stored")
        return [bare]
    return [*_with_origin(state), bare]


def _with_origin(state: State) -> list[Content]:
    return [msgspec.structs.replace(block, origin=block.origin or state.origin) for block in state.blocks]


def _readable(block: Content) -> str:
    if not isinstance(block, Reasoning):
        return ""
    return block.text or "\n".join(block.summary or ())
