"""Tool calls that arrive in pieces: which piece belongs to which call, on every wire that does not say it cleanly."""

from __future__ import annotations

from typing import Any

from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Patch, StreamEvent
from dragoman.types.opaque import Bag
from dragoman.wire import jsonio
from dragoman.wire.base import Notes
from dragoman.wire.ids import made_id

MISSING = frozenset({None, "", "null"})  # ids that say nothing (dialects §8d)


class _Slot:
    def __init__(self, key: int | None, position: int) -> None:
        self.key = key
        self.position = position
        self.id: str | None = None
        self.name = ""
        self.index: int | None = None
        self.held: list[str] = []
        self.left: Bag = {}
        self.kind: Any = "function"


class Assembler:
    """Pieces in, events out. A piece goes to the call of its index, unless it brings a new id and a name (servers that
    count every call as 0); then to the call of its id; then to the call that is open (dialects §1.1).

    Arguments are never parsed here: a call is whole when its stream ends, not when its text happens to parse.
    `next_index` gives the index of a new block.
    """

    def __init__(self, wire: str, next_index: Any, seed: str) -> None:
        self._wire = wire
        self._next_index = next_index
        self._seed = seed
        self._slots: list[_Slot] = []

    def __bool__(self) -> bool:
        return bool(self._slots)

    def take(self, piece: tuple[Any, Any, Any, Any], kind: str, left: Bag, notes: Notes) -> list[StreamEvent]:
        """Events for one piece: (index, id, name, arguments), each as it came."""
        key, id, name, arguments = piece
        id = id if isinstance(id, str | int) else None
        slot = self._find(key if type(key) is int else None, id, name)
        if slot.id is None and id not in MISSING:
            slot.id = str(id)
        text = arguments if isinstance(arguments, str) else "" if arguments is None else jsonio.text(arguments)
        if slot.index is not None:
            out: list[StreamEvent] = [Delta(index=slot.index, field="arguments", text=text)] if text else []
            return [*out, Patch(index=slot.index, opaque={self._wire: left})] if left else out
        slot.kind = kind
        slot.name += name if isinstance(name, str) else ""
        slot.left |= left
        slot.held.append(text)
        return self._open(slot, notes) if slot.name else []

    def close(self, notes: Notes) -> list[StreamEvent]:
        """The end of all calls; one whose name never came is told all the same, under no name."""
        out: list[StreamEvent] = []
        for slot in self._slots:
            if slot.index is None:
                out += self._open(slot, notes)
        return out + [BlockEnd(index=slot.index) for slot in self._slots if slot.index is not None]

    def _open(self, slot: _Slot, notes: Notes) -> list[StreamEvent]:
        """The start of a call, and the arguments that came before its name."""
        index: int = self._next_index()
        slot.index = index
        if slot.id is None:
            slot.id = made_id("call_", self._seed, slot.position)
            notes.add(("message", "content", index, "id"), "synthesised", "a tool call without an id", loss=False)
        opaque = {self._wire: dict(slot.left)} if slot.left else None
        call = ToolCall(id=slot.id, name=slot.name, arguments="", kind=slot.kind, opaque=opaque)
        held = "".join(slot.held)
        start = BlockStart(index=index, block=call)
        return [start, Delta(index=index, field="arguments", text=held)] if held else [start]

    def _find(self, key: int | None, id: Any, name: Any) -> _Slot:
        known = [slot for slot in self._slots if slot.id == id] if id not in MISSING else []
        if known:
            return known[-1]
        brings_new = bool(name) and id not in MISSING
        by_index = [slot for slot in self._slots if key is not None and slot.key == key]
        if by_index and not (brings_new and by_index[-1].id is not None):
            return by_index[-1]
        last = self._slots[-1] if self._slots else None
        if (
            last is not None
            and not by_index
            and key is None
            and not brings_new
            and not (name and last.index is not None)
        ):
            return last
        if last is not None and not by_index and not name and id in MISSING:
            return last
        slot = _Slot(key, len(self._slots))
        self._slots.append(slot)
        return slot
