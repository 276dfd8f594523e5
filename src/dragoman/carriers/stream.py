"""The same for events, while they come."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.carriers.out import Packer
from dragoman.carriers.store import Carrier
from dragoman.types.collect import Collector
from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Patch, Raw, Start, StreamEvent
from dragoman.types.note import Note
from dragoman.wire.base import Notes

OfBlock = BlockStart | Delta | Patch | BlockEnd


class CarryStream:
    """`feed` each event, get what the client's encoder shall see. Readable reasoning flows on live; what comes for another
    block while a carried one is open waits until that one has ended."""

    def __init__(self, wire: str, carrier: Carrier) -> None:
        self._wire = wire
        self._carrier = carrier
        self._notes = Notes()
        self._packer: Packer | None = None
        self._run = Collector()
        self._before = Collector()  # everything since the last call, for clients that return nothing but its id
        self._calls: set[int] = set()
        self._carried: set[int] = set()
        self._live: set[int] = set()
        self._waiting: list[StreamEvent] = []
        self._indices: dict[int, int] = {}
        self._ids: dict[int, str] = {}
        self._open: int | None = None
        self._said: tuple[int, int] | None = None

    @property
    def notes(self) -> list[Note]:
        """What travels hidden, and what could not."""
        return self._notes.taken

    def feed(self, event: StreamEvent) -> list[StreamEvent]:
        """Events for the client's encoder."""
        if type(event) is Delta and not self._live and event.index not in self._carried:  # nearly all of a stream
            if self._wire == "chat" and self._packer is not None:
                self._record(event)
            return [self._moved(event, event.index)]
        if isinstance(event, Start) and (event.origin is None or event.origin.wire != self._wire):
            self._packer = Packer(self._wire, self._carrier, event.origin, self._notes)
        if self._packer is None or isinstance(event, Start):
            return [event]
        if isinstance(event, OfBlock):
            self._record(event)
        match event:
            case BlockStart() if self._packer.wants(event.block):
                return self._begin(event, self._packer)
            case Delta() | Patch() | BlockEnd() | Raw() if event.index in self._carried:
                return self._take(event)
            case BlockStart() | Delta() | Patch() | BlockEnd() | Raw() if self._live:
                self._waiting.append(event)
                return []
            case Finish() | Failure():
                self._live.clear()
                return [*self._released(), *self._flush(self._packer), event]
            case _:
                return self._pass(event, self._packer)

    def _record(self, event: OfBlock) -> None:
        if self._wire != "chat":
            return
        if isinstance(event, BlockStart) and isinstance(event.block, ToolCall):
            self._calls.add(event.index)
        elif event.index not in self._calls:
            self._before.feed(event)

    def _begin(self, event: BlockStart, packer: Packer) -> list[StreamEvent]:
        """A block that travels: one reasoning block of the client's wire stands for it and its neighbours."""
        out = self._released()
        self._carried.add(event.index)
        self._live.add(event.index)
        self._run.feed(event)
        packer.tell(("message", "content", event.index))
        if self._open is None:
            self._open = self._next(event.index)
            out.append(BlockStart(index=self._open, block=packer.opening()))
        return out

    def _take(self, event: Delta | Patch | BlockEnd | Raw) -> list[StreamEvent]:
        """What happens to a block that travels: kept, and its words shown."""
        if isinstance(event, Raw):
            return []
        self._run.feed(event)
        if isinstance(event, BlockEnd):
            self._live.discard(event.index)
            return self._released()
        if not isinstance(event, Delta) or event.field not in ("text", "summary") or not event.text:
            return []
        place = (event.index, event.part if event.field == "summary" else -1)
        begins = self._said is not None and self._said != place
        self._said = place
        return self._show(f"\n{event.text}" if begins else event.text)

    def _show(self, text: str) -> list[StreamEvent]:
        if self._open is None:
            return []
        return [Delta(index=self._open, field="summary" if self._wire == "responses" else "text", text=text)]

    def _released(self) -> list[StreamEvent]:
        """What waited for a carried block to end."""
        if self._live or self._packer is None:
            return []
        waiting, self._waiting = self._waiting, []
        return [told for event in waiting for told in self._pass(event, self._packer)]

    def _pass(self, event: StreamEvent, packer: Packer) -> list[StreamEvent]:
        """What the client's wire can say itself, under its new index."""
        if isinstance(event, BlockStart):
            out, block = self._flush(packer), event.block
            if isinstance(block, ToolCall):
                block = packer.keyed(block, self._before.reply.message.content)
                self._ids[event.index] = block.id
                self._before = Collector()
            return [*out, BlockStart(index=self._next(event.index), block=block)]
        if isinstance(event, Delta | Patch | BlockEnd | Raw) and event.index is not None:
            return [self._moved(event, event.index)]
        return [event]

    def _moved(self, event: Any, source: int) -> Any:
        index = self._indices.get(source, source)
        moved = event if index == source else msgspec.structs.replace(event, index=index)
        if isinstance(event, BlockEnd) and isinstance(event.block, ToolCall) and source in self._ids:
            return msgspec.structs.replace(moved, block=msgspec.structs.replace(event.block, id=self._ids[source]))
        return moved

    def _flush(self, packer: Packer) -> list[StreamEvent]:
        """The end of a run: its state, and the block that stood for it."""
        if self._open is None:
            return []
        out: list[StreamEvent] = []
        if self._said is None and packer.unspoken:
            out += self._show(packer.unspoken)
        state = packer.slot(self._run.reply.message.content)
        if state is not None:
            out.append(Patch(index=self._open, opaque=state))
        out.append(BlockEnd(index=self._open))
        self._open, self._said, self._run = None, None, Collector()
        return out

    def _next(self, source: int) -> int:
        self._indices[source] = len(self._indices)
        return self._indices[source]
