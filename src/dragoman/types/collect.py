"""From events to a reply, in linear time, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from dragoman.types.content import Content, HostedCall, Media, Reasoning, Refusal, Text, ToolCall, replaced
from dragoman.types.events import (
    BlockEnd,
    BlockStart,
    Delta,
    DeltaField,
    Event,
    Failure,
    Finish,
    Patch,
    Start,
    UsageUpdate,
)
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, Opaque
from dragoman.types.reply import Reply, Stop, Usage

MESSAGE_BAG = "~message"  # in the leftovers of Start and Finish: what belongs to the message, not to the envelope
UNSAID = 64  # parts of a summary that may be missing between others, as places of their own
TEXT_FIELDS: tuple[DeltaField, ...] = ("text", "arguments", "data", "transcript")


class Collector:
    """Gathers one stream: `feed` each event, read `reply` at any time. Strings are joined once, when asked for."""

    def __init__(self) -> None:
        self.failure: Failure | None = None
        self.usage: Usage | None = None
        self._start = Start()
        self._finish: Finish | None = None
        self._slots: dict[int, _Slot] = {}
        self._opaque: Opaque = {}

    def feed(self, event: Event) -> None:
        """Take one event in; events of no bearing on the reply (Raw, KeepAlive) are passed over."""
        match event:
            case Delta():
                self.grow(event.index, (event.field, event.part), event.text)
            case BlockStart():
                self._slots[event.index] = _Slot(event.block)
            case Patch():
                self._slot(event.index).patch(event)
            case BlockEnd():
                self._slot(event.index).final = event.block
            case Start():
                self._start = event
                self._envelope(event.usage, event.opaque)
            case UsageUpdate():
                self._envelope(event.usage, None)
            case Finish():
                self._finish = event
                self._envelope(event.usage, event.opaque)
            case Failure():
                self.failure = event
                self._envelope(event.usage, event.opaque)
            case _:
                pass

    def grow(self, index: int, place: tuple[DeltaField, int], text: str) -> None:
        """Take a Delta in, by what it says: the block's index, the field and its part, the text."""
        pieces = self._slot(index).pieces
        if place in pieces:
            pieces[place].append(text)
        else:
            pieces[place] = [text]

    @property
    def reply(self) -> Reply:
        """The reply so far. Without a Finish its stop is `error` after a Failure, else `cancelled` (C-29)."""
        start, opaque = self._start, {wire: dict(left) for wire, left in self._opaque.items()}
        said = {wire: left.pop(MESSAGE_BAG) for wire, left in opaque.items() if isinstance(left.get(MESSAGE_BAG), dict)}
        message = Message(
            role="assistant",
            content=tuple(self._slots[index].block() for index in sorted(self._slots)),
            origin=start.origin,
            opaque=said or None,
        )
        return Reply(
            message=message,
            stop=self._stop(),
            usage=self.usage,
            id=start.id,
            model=start.model,
            created=start.created,
            opaque={wire: left for wire, left in opaque.items() if left} or None,
        )

    def _stop(self) -> Stop:
        if self._finish is not None:
            return self._finish.stop
        if self.failure is not None:
            return Stop(reason="error", raw=self.failure.code, detail=self.failure.message)
        return Stop(reason="cancelled")

    def _slot(self, index: int) -> _Slot:
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = _Slot(Text(text=""))
        return slot

    def _envelope(self, usage: Usage | None, opaque: Opaque | None) -> None:
        self.usage = merge_usage(self.usage, usage)
        self._opaque = _merge_opaque(self._opaque, opaque) or {}


class _Slot:
    """One block while it grows."""

    def __init__(self, block: Content) -> None:
        self.start: Any = block
        self.final: Any = None
        self.pieces: dict[tuple[DeltaField, int], list[str]] = {}
        self.citations: list[Any] = []
        self.opaque: Opaque | None = None

    def patch(self, event: Patch) -> None:
        if event.citation is not None:
            self.citations.append(event.citation)
        self.opaque = _merge_opaque(self.opaque, event.opaque)

    def block(self) -> Content:
        grown = self.start if self.final is None else self.final
        changes: dict[str, Any] = {}
        for field in TEXT_FIELDS:
            pieces = self.pieces.get((field, 0))
            if pieces and hasattr(self.start, field):
                changes[field] = (getattr(self.start, field) or "") + "".join(pieces)
        parts = {part: pieces for (field, part), pieces in self.pieces.items() if field == "summary"}
        if parts and isinstance(grown, Reasoning):
            changes["summary"] = tuple("".join(parts.get(part, ())) for part in _numbers(parts))
        if self.citations and isinstance(grown, Text) and self.final is None:
            changes["citations"] = (*(grown.citations or ()), *self.citations)
        if changes:
            grown = msgspec.structs.replace(grown, **changes)
        if self.final is None and self.opaque:
            grown = replaced(grown, _merge_opaque(grown.opaque, self.opaque))
        return grown


def _numbers(parts: Collection[int]) -> Iterable[int]:
    """The numbers of parts, those that nobody said between them too; a server's number is no reason to make as many."""
    most = max(parts) + 1
    return range(most) if most <= len(parts) + UNSAID else sorted(parts)


def collect(events: Iterable[Event]) -> Reply:
    """The reply that a whole sequence of events adds up to."""
    collector = Collector()
    for event in events:
        collector.feed(event)
    return collector.reply


def explode(reply: Reply) -> Iterator[Event]:
    """The events that add up to `reply`: one delta a field. Choices beyond the first have no events."""
    message = reply.message
    opaque = reply.opaque
    if message.opaque:
        opaque = dict(opaque or {})
        for wire, left in message.opaque.items():
            opaque[wire] = {**opaque.get(wire, {}), MESSAGE_BAG: left}
    yield Start(id=reply.id, model=reply.model, created=reply.created, origin=message.origin, opaque=opaque)
    for index, block in enumerate(message.content):
        emptied, deltas = _deltas(index, block)
        yield BlockStart(index=index, block=emptied)
        yield from deltas
        yield BlockEnd(index=index, block=block)
    yield Finish(stop=reply.stop, usage=reply.usage)


def merge_usage(old: Usage | None, new: Usage | None) -> Usage | None:
    """Usage said twice: the later figure wins, key by key; a key not said again stays."""
    if old is None or new is None:
        return new or old
    later = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    if old.opaque and new.opaque:
        later["opaque"] = _merge_opaque(old.opaque, new.opaque)
    return msgspec.structs.replace(old, **later)


def _deltas(index: int, block: Content) -> tuple[Content, list[Event]]:
    match block:
        case Text() | Refusal():
            return msgspec.structs.replace(block, text=""), [Delta(index=index, text=block.text)]
        case Reasoning():
            parts = enumerate(block.summary or ())
            deltas: list[Event] = [Delta(index=index, field="summary", text=text, part=part) for part, text in parts]
            if block.text:
                deltas.append(Delta(index=index, text=block.text))
            summary = None if block.summary is None else ()
            text = None if block.text is None else ""
            return msgspec.structs.replace(block, text=text, summary=summary), deltas
        case ToolCall():
            delta = Delta(index=index, field="arguments", text=block.arguments)
            return msgspec.structs.replace(block, arguments=""), [delta]
        case HostedCall(arguments=str(arguments)):
            delta = Delta(index=index, field="arguments", text=arguments)
            return msgspec.structs.replace(block, arguments=""), [delta]
        case Media(data=str(data)) if block.kind == "audio":
            return msgspec.structs.replace(block, data=""), [Delta(index=index, field="data", text=data)]
        case _:
            return block, []


def _merge_opaque(old: Opaque | None, new: Opaque | None) -> Opaque | None:
    if not old or not new:
        return new or old
    merged: Opaque = dict(old)
    for wire, left in new.items():
        merged[wire] = _merge_bag(merged.get(wire, {}), left)
    return merged


def _merge_bag(old: Bag, new: Bag) -> Bag:
    merged = {**old, **new}
    for key in ("~", MESSAGE_BAG):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            merged[key] = {**before, **after}
    return merged
