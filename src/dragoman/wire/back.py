"""What a request was changed by on its way, undone in its answer, whole or streamed: forms of schemas, and namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.errors import RemoteError
from dragoman.types.content import Content, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, StreamEvent
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.reply import Reply
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.schema.fit import names_of
from dragoman.wire.schema.reverse import Reverse


def needed(exchange: Exchange) -> bool:
    """Whether there is anything to undo."""
    return bool(exchange.reverse or exchange.namespaces) or exchange.answer is not None


def undone(reply: Reply, exchange: Exchange, notes: Notes) -> Reply:
    """A reply as the caller's own schemas mean it. Text that is not changed is kept byte for byte, broken JSON too; each
    change is told, and is no loss. The reply itself where nothing changes."""
    if not needed(exchange):
        return reply
    back = _Back(exchange, notes)
    message = back.message(reply.message, ())
    others = [
        msgspec.structs.replace(other, message=back.message(other.message, ("others", at)))
        for at, other in enumerate(reply.others or ())
    ]
    return msgspec.structs.replace(reply, message=message, others=tuple(others) or None)


class Undoing:
    """The same for a stream. What a schema changed is known only when it is whole, so the pieces of such a block wait
    for its end and go out as one; a stream that ends before gives them as they came. All other events pass at once."""

    def __init__(self, exchange: Exchange, notes: Notes) -> None:
        self._back = _Back(exchange, notes)
        self._held: dict[int, tuple[Content, list[Delta]]] = {}

    def feed(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        """Events for events."""
        out: list[StreamEvent] = []
        for event in events:
            match event:
                case BlockStart():
                    out.append(self._start(event))
                case Delta() if event.index in self._held:
                    self._held[event.index][1].append(event)
                case BlockEnd():
                    out += self._end(event)
                case Finish() | Failure():
                    out += [piece for _, pieces in self._held.values() for piece in pieces]
                    self._held.clear()
                    out.append(event)
                case _:
                    out.append(event)
        return out

    def _start(self, event: BlockStart) -> BlockStart:
        if self._back.of(event.block) is not None:
            self._held[event.index] = (event.block, [])
        block = self._back.block(event.block, ("message", "content", event.index))
        return event if block is event.block else msgspec.structs.replace(event, block=block)

    def _end(self, event: BlockEnd) -> list[StreamEvent]:
        path = ("message", "content", event.index)
        if event.block is not None and (block := self._back.block(event.block, path)) is not event.block:
            event = msgspec.structs.replace(event, block=block)
        if event.index not in self._held:
            return [event]
        begun, pieces = self._held.pop(event.index)
        made = self._back.text("".join(piece.text for piece in pieces), begun, path)
        if made is None:
            return [*pieces, event]
        return [msgspec.structs.replace(pieces[0], text=made), event]


class _Back:
    """One exchange's way back for a text or a call."""

    def __init__(self, exchange: Exchange, notes: Notes) -> None:
        self._reverse = exchange.reverse
        self._answer = exchange.answer
        self._namespaces = exchange.namespaces
        self._notes = notes

    def of(self, block: Content) -> Reverse | None:
        """What undoes this block's text."""
        if isinstance(block, Text):
            return self._answer
        if isinstance(block, ToolCall) and block.kind == "function":
            return next(
                (self._reverse[name] for name in names_of(block.name, block.namespace) if name in self._reverse), None
            )
        return None

    def message(self, message: Message, path: Path) -> Message:
        made = [self.block(block, (*path, "message", "content", at)) for at, block in enumerate(message.content)]
        return msgspec.structs.replace(message, content=tuple(made))

    def block(self, block: Content, path: Path) -> Content:
        """The block undone; itself where nothing changes."""
        match block:
            case ToolCall():
                made = self.text(block.arguments, block, path)
                return self._known(block if made is None else msgspec.structs.replace(block, arguments=made))
            case Text() if (made := self.text(block.text, block, path)) is not None:
                return msgspec.structs.replace(block, text=made)
            case _:
                return block

    def _known(self, call: ToolCall) -> ToolCall:
        known = self._namespaces.get(call.name) if call.namespace is None else None
        return call if known is None else msgspec.structs.replace(call, namespace=known[0], name=known[1])

    def text(self, text: str, block: Content, path: Path) -> str | None:
        """The JSON text that the caller's schema means; None where nothing changes."""
        reverse = self.of(block)
        if reverse is None or not text.strip():
            return None
        try:
            value, found = jsonio.decode(text.encode("utf-8", "replace"))
            made: Any = reverse(value)
        except RemoteError:
            return None  # no JSON, or too deep to look at: it stays as it came
        if made == value:
            return None
        place = (*path, "arguments" if isinstance(block, ToolCall) else "text")
        self._notes.taken += [msgspec.structs.replace(note, path=place) for note in found]
        self._notes.add(place, "substituted", "put back into the form of the caller's own schema", loss=False)
        return jsonio.text(made)
