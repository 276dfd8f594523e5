"""On the way to a client: each run of blocks that its wire cannot say becomes one reasoning block that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from dragoman.carriers.store import Carrier
from dragoman.types.base import Origin
from dragoman.types.content import Content, Foreign, HostedCall, HostedResult, Reasoning, ToolCall
from dragoman.types.note import Path
from dragoman.types.opaque import Opaque
from dragoman.types.reply import Reply
from dragoman.wire.base import Notes
from dragoman.wire.carrier import PREFIX, State, pack

KEY_DIGITS = 16
NOT_SHOWN = "(reasoning not shown)"  # some clients of Messages drop a thinking block whose text is empty


def carry_reply(reply: Reply, wire: str, carrier: Carrier, notes: Notes) -> Reply:
    """`reply` as a client of `wire` can hold it: its unsayable runs packed. The same reply when it is of that wire."""
    origin = reply.message.origin
    if origin is not None and origin.wire == wire:
        return reply
    packer = Packer(wire, carrier, origin, notes)
    content: list[Content] = []
    run: list[Content] = []
    before: list[Content] = []  # everything since the last call
    for at, block in enumerate(reply.message.content):
        if packer.wants(block):
            packer.tell(("message", "content", at))
            run.append(block)
        else:
            content += packer.block(run)
            run = []
            content.append(packer.keyed(block, before) if isinstance(block, ToolCall) else block)
        before = [] if isinstance(block, ToolCall) else [*before, block]
    content += packer.block(run)
    return msgspec.structs.replace(reply, message=msgspec.structs.replace(reply.message, content=tuple(content)))


class Packer:
    """Packs the runs of one reply for clients of one wire."""

    def __init__(self, wire: str, carrier: Carrier, origin: Origin | None, notes: Notes) -> None:
        self.wire = wire
        self._carrier = carrier
        self._origin = origin
        self._notes = notes

    def wants(self, block: Content) -> bool:
        """Whether a block of another wire loses something that only a carrier keeps."""
        return wants(block, self.wire)

    def tell(self, path: Path) -> None:
        """Note that a block travels."""
        self._notes.add(path, "moved", f"travels in a reasoning block of the {self.wire} wire", loss=False)

    def opening(self) -> Reasoning:
        """The reasoning block that stands for a run, before a word of it is known."""
        return Reasoning(summary=()) if self.wire == "responses" else Reasoning(text="")

    def block(self, run: Sequence[Content]) -> list[Content]:
        """A run as one reasoning block of the client's wire; nothing when there is none."""
        if not run:
            return []
        text = "\n".join(line for block in run for line in readable(block))
        opaque = self.slot(run)
        if self.wire == "responses":
            return [Reasoning(summary=(text,) if text else (), opaque=opaque)]
        return [Reasoning(text=text or self.unspoken, opaque=opaque)]

    @property
    def unspoken(self) -> str:
        """The text of a run without a readable word."""
        return NOT_SHOWN if self.wire == "messages" else ""

    def slot(self, run: Sequence[Content]) -> Opaque | None:
        """The leftovers that hold a run, where clients of the wire echo it."""
        value = self._sealed(run)
        return None if value is None else {self.wire: _slot(self.wire, value)}

    def keyed(self, call: ToolCall, before: Sequence[Content]) -> ToolCall:
        """A call whose id tells where what stood before it is kept, for clients that return nothing but ids."""
        store = self._carrier.store
        if self.wire != "chat" or store is None or not any(map(self.wants, before)):
            return call
        value = self._sealed(before)
        if value is None:
            return call
        key = sha256(value.encode()).hexdigest()[:KEY_DIGITS]
        store.put(key, value)
        return msgspec.structs.replace(call, id=call.id + PREFIX + key)

    def _sealed(self, blocks: Sequence[Content]) -> str | None:
        value = pack(State(blocks=tuple(blocks), origin=self._origin), self._carrier.key)
        if value is None:
            self._notes.add(("message", "opaque"), "dropped", "this reasoning state is too large to travel")
        return value


def wants(block: Content, wire: str) -> bool:
    """Whether a client of `wire` cannot say a block of another wire."""
    if isinstance(block, Foreign):
        return block.wire != wire
    return isinstance(block, Reasoning | HostedCall | HostedResult)


def readable(block: Content) -> list[str]:
    """The words of a block that a person may read: its summaries, then its text."""
    if not isinstance(block, Reasoning):
        return []
    return [text for text in (*(block.summary or ()), block.text) if text]


def _slot(wire: str, value: str) -> dict[str, Any]:
    """Where `value` stands on a reasoning block of `wire` (docs/architecture.md, "Carriers")."""
    match wire:
        case "messages":
            return {"signature": value}
        case "responses":
            return {"encrypted_content": value}
        case _:
            return {"reasoning_details": [{"type": "reasoning.encrypted", "data": value, "format": PREFIX, "index": 0}]}
