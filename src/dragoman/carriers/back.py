"""On the way back from a client: every carried run restored, every key taken off, whatever was altered left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.carriers.out import KEY_DIGITS, wants
from dragoman.carriers.store import Carrier
from dragoman.types.content import Content, Reasoning, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag
from dragoman.types.request import Request
from dragoman.wire.base import Notes
from dragoman.wire.carrier import PREFIX, State, is_carrier, unpack


def uncarry_request(request: Request, wire: str, carrier: Carrier | None, notes: Notes) -> Request:
    """A client's request with every carried run back in its place, and our keys off the call ids.

    A value that is missing, altered, forged or unknown degrades to "no reasoning state", with a note; without a
    carrier every value is unknown.
    """
    messages: list[Message] = []
    for at, message in enumerate(request.messages):
        restorer = _Restorer(wire, carrier, notes)
        for inner, block in enumerate(message.content):
            restorer.take(block, ("messages", at, "content", inner))
        content = (*restorer.content, *restorer.later)
        same = content == message.content
        messages.append(message if same else msgspec.structs.replace(message, content=content))
    return msgspec.structs.replace(request, messages=tuple(messages))


def carries(request: Request, wire: str) -> bool:
    """Whether a client's request has a value or a key of ours in any slot; without one there is nothing to restore."""
    for message in request.messages:
        for block in message.content:
            kind = type(block)
            if kind is Text:  # most blocks are
                continue
            if kind is ToolCall:
                found = PREFIX in block.id  # type: ignore[union-attr]
            elif kind is ToolResult:
                found = PREFIX in block.call_id  # type: ignore[union-attr]
            else:
                found = kind is Reasoning and bool(_values(block, wire))
            if found:
                return True
    return False


class _Restorer:
    """The blocks of one message, with what they carried."""

    def __init__(self, wire: str, carrier: Carrier | None, notes: Notes) -> None:
        self._wire = wire
        self._carrier = carrier
        self._notes = notes
        self._since = 0  # where what the client said since the last call begins
        self._returned: list[Content] = []
        self.content: list[Content] = []
        self.later: list[Content] = []  # what came back in a slot before a call and had stood after it

    def take(self, block: Content, path: Path) -> None:
        """Add one block, or what it stands for."""
        match block:
            case ToolCall():
                bare, key = _split(block.id)
                if key is not None:
                    self._restore_before(key, path)
                    block = msgspec.structs.replace(block, id=bare)
                self.content.append(block)
                self._since = len(self.content)
            case ToolResult():
                bare, key = _split(block.call_id)
                self.content.append(block if key is None else msgspec.structs.replace(block, call_id=bare))
            case _:
                self.content += self._restored(block, path)

    def _restored(self, block: Content, path: Path) -> list[Content]:
        values = _values(block, self._wire)
        if not values:
            return [block]
        states = [self._opened(value) for value in values]
        known = [state for state in states if state is not None]
        if len(known) < len(states):
            self._notes.add(path, "dropped", "this reasoning state is not one we gave out, or was altered")
        returned = [restored for state in known for restored in _with_origin(state, self._wire)]
        self._returned += returned
        return returned

    def _restore_before(self, key: str, path: Path) -> None:
        """What stood before a call, in its order. Where the client has changed its text since, the text is the client's
        and the rest stands before it."""
        store = None if self._carrier is None else self._carrier.store
        state = None if store is None else self._opened(store.get(key))
        if state is None:
            self._notes.add(path, "dropped", "the reasoning state of this call is no longer stored")
            return
        said = self.content[self._since :]
        kept = _with_origin(state, self._wire)
        if _text(kept) != _text(said):
            carried = [block for block in kept if wants(block, self._wire)]
            kept = [*carried, *(block for block in said if not wants(block, self._wire))]
        self.later = [block for block in self.later if block not in kept]  # it stood before this call, not after all
        self.later += [block for block in said if block in self._returned and block not in kept]
        self.content[self._since :] = kept

    def _opened(self, value: str | None) -> State | None:
        return None if value is None or self._carrier is None else unpack(value, self._carrier.key)


def _split(id: str) -> tuple[str, str | None]:
    """An id without our key, and the key."""
    bare, found, key = id.rpartition(PREFIX)
    return (bare, key) if found and len(key) == KEY_DIGITS else (id, None)


def _values(block: Content, wire: str) -> list[str]:
    """The carrier values in the slots of a block."""
    left = bag(block.opaque, wire) if isinstance(block, Reasoning) else {}
    found: list[Any] = [left.get(key) for key in ("signature", "encrypted_content", "data")]
    details = left.get("reasoning_details")
    found += [item.get("data") for item in details if isinstance(item, dict)] if isinstance(details, list) else []
    return [value for value in found if is_carrier(value)]


def _with_origin(state: State, wire: str) -> list[Content]:
    """The blocks of a state, with who made those that only their maker understands."""
    return [
        msgspec.structs.replace(block, origin=block.origin or state.origin) if wants(block, wire) else block
        for block in state.blocks
    ]


def _text(blocks: Sequence[Content]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Text) and block.text)
