"""Events to a chat stream."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.collect import MESSAGE_BAG
from dragoman.types.content import Content, Reasoning, Refusal, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Patch, Start
from dragoman.types.opaque import Bag, Opaque, bag, listed, marks, nested
from dragoman.types.reply import Usage
from dragoman.wire.base import Exchange, own
from dragoman.wire.chat.calls import is_legacy, note_unsaid_call
from dragoman.wire.chat.chunks import ChunkEncoder
from dragoman.wire.chat.parts import WIRE, is_annotation, note_phase, own_nested
from dragoman.wire.chat.reply import CHOICE
from dragoman.wire.chat.stops import encode_stop
from dragoman.wire.chat.usage import encode_usage
from dragoman.wire.stencil import Stencil


class ChatStreamEncoder(ChunkEncoder):
    """Writes chunks a strict client accepts: the role first, one id and time throughout, a call's id and name in its
    first piece, one finish, usage when asked for, [DONE] (evidence §D)."""

    wire, kind, id = WIRE, "chat.completion.chunk", "chatcmpl-"

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._stencils: dict[str, Stencil] = {}
        self._steady: dict[int, Stencil] = {}  # by block: what its further pieces go into
        self._blocks: dict[int, Content] = {}
        self._calls: dict[int, int] = {}
        self._texts = 0
        self._said: set[int] = set()
        self._cited: dict[int, list[Any]] = {}
        self._thought: tuple[int, int] | None = None

    def start(self, event: Start) -> bytes:
        self.begin(event)
        self._stencils.clear()
        self._steady.clear()
        said = nested(bag(event.opaque, WIRE), MESSAGE_BAG)
        left = {key: value for key, value in said.items() if not key.startswith("~")}
        return self._chunk({"role": "assistant", "content": "", **left}, envelope=self._first)

    def block_start(self, event: BlockStart) -> bytes:
        block, path = event.block, ("message", "content", event.index)
        self._blocks[event.index] = block
        self._steady.pop(event.index, None)
        if not isinstance(block, Text | Reasoning | Refusal | ToolCall):
            kind = type(block).__struct_config__.tag
            self._notes.add(path, "dropped", f"a chat stream has no place for a block of type {kind}")
            return b""
        if isinstance(block, ToolCall):
            note_unsaid_call(block, self._notes, path)
            return self._call(event.index, block)
        self._notes.leftovers(block.opaque, WIRE, path)
        out = b""
        if isinstance(block, Text):
            note_phase(block, self._notes, path)
            self._texts += 1
            annotations = [item for item in block.citations or () if is_annotation(item)]
            if len(annotations) != len(block.citations or ()):
                self._notes.add((*path, "citations"), "dropped", "these citations are in another wire's form")
            if self._texts > 1 and not annotations:
                out += self._chunk({"content": "\n"})
            self._cited[event.index] = annotations
            return out + (self._say(event.index, block.text) if block.text else b"")
        if isinstance(block, Reasoning):
            for part, text in enumerate((*(block.summary or ()), block.text or "")):
                out += self._think((event.index, part), text) if text else b""
            left = own(block.opaque, WIRE)
            if left:
                self._said.add(event.index)
            return out + (self._chunk(left) if left else b"")
        return self._say(event.index, block.text) if block.text else b""

    def _call(self, index: int, call: ToolCall) -> bytes:
        self._message = msgspec.structs.replace(self._message, content=(*self._message.content, call))
        if is_legacy(call):
            return self._chunk({"function_call": {"name": call.name, "arguments": call.arguments}})
        number = self._calls[index] = len(self._calls)
        kind, key = ("custom", "input") if call.kind == "custom" else ("function", "arguments")
        nested = {"name": call.name, key: call.arguments, **own_nested(call, kind)}
        entry = {"index": number, "id": call.id, "type": kind, kind: nested}
        left = {name: value for name, value in own(call.opaque, WIRE).items() if name not in entry}
        if call.arguments:
            self._said.add(index)
        return self._chunk({"tool_calls": [entry | left]})

    def delta(self, event: Delta) -> bytes:
        if event.opaque is not None:
            self._notes.piece(event, WIRE)
        stencil = self._steady.get(event.index)
        if stencil is not None and event.text and (event.opaque is None or WIRE not in event.opaque):
            return stencil.fill(event.text)
        block = self._blocks.get(event.index)
        if not event.text or not isinstance(block, Text | Reasoning | Refusal | ToolCall):
            return b""
        left = (event.opaque or {}).get(WIRE, {})
        if isinstance(block, Reasoning):
            return self._think((event.index, event.part), event.text, left)
        return self._say(event.index, event.text, left)

    def _think(self, place: tuple[int, int], text: str, left: Bag | None = None) -> bytes:
        """A piece of reasoning; each block and each part of a summary begins on a line of its own."""
        begins = self._thought is not None and self._thought != place and not text.startswith("\n")
        self._thought = place
        return self._say(place[0], f"\n{text}" if begins else text, left)

    def _say(self, index: int, text: str, left: Bag | None = None) -> bytes:
        block = self._blocks[index]
        self._said.add(index)
        match block:
            case ToolCall():
                if left:
                    return self._chunk(self._arguments(index, block, text), choice=left)
                call = block
                self._steady[index] = Stencil(lambda text, _: self._chunk(self._arguments(index, call, text)))
                return self._steady[index].fill(text)
            case Reasoning():
                keys = listed(marks(block.opaque, WIRE), "key", str)
                if keys is None:
                    keys = [self._dialect.reasoning_shown] if self._dialect.reasoning_shown else []
                    if not keys:
                        path = ("message", "content", index)
                        self._notes.add(path, "dropped", "this dialect shows no reasoning")
                if len(keys) == 1 and not left:
                    return self._piece(keys[0], text)
                return self._chunk(dict.fromkeys(keys, text), choice=left) if keys else b""
            case _:
                key = "refusal" if isinstance(block, Refusal) else "content"
                if left:
                    return self._chunk({key: text}, choice=left)
                said = self._piece(key, text)
                self._steady[index] = self._stencils[key]
                return said

    def _piece(self, key: str, text: str) -> bytes:
        """A chunk that says a text and nothing else: most of a stream is that."""
        stencil = self._stencils.get(key)
        if stencil is None:
            stencil = self._stencils[key] = Stencil(lambda text, _: self._chunk({key: text}))
        return stencil.fill(text)

    def _arguments(self, index: int, call: ToolCall, text: str) -> Bag:
        if is_legacy(call):
            return {"function_call": {"arguments": text}}
        kind, key = ("custom", "input") if call.kind == "custom" else ("function", "arguments")
        return {"tool_calls": [{"index": self._calls[index], kind: {key: text}}]}

    def block_end(self, event: BlockEnd) -> bytes:
        """The end of a block, with the citations that its start held: they are read after the text they belong to."""
        out, annotations = self._final(event), self._cited.pop(event.index, [])
        return out + (self._chunk({"annotations": annotations}) if annotations else b"")

    def _final(self, event: BlockEnd) -> bytes:
        """What only the final block says: its text when no piece came, and a note for state of another wire."""
        begun, final = self._blocks.get(event.index), event.block
        if final is None or not isinstance(begun, Text | Reasoning | Refusal | ToolCall):
            return b""
        path = ("message", "content", event.index)
        self._notes.leftovers(_beyond(final.opaque, begun.opaque), WIRE, path)
        if event.index in self._said:
            return b""
        match final:
            case ToolCall():
                return self._say(event.index, final.arguments) if final.arguments else b""
            case Text() | Refusal():
                return self._say(event.index, final.text) if final.text else b""
            case Reasoning():
                text = final.text or "\n".join(final.summary or ())
                if text:
                    return self._think((event.index, 0), text)
                self._notes.add(path, "dropped", "reasoning without a readable word has no place on the chat wire")
            case _:
                pass
        return b""

    def patch(self, event: Patch) -> bytes:
        path = ("message", "content", event.index)
        out = b""
        if event.citation is not None:
            if is_annotation(event.citation):
                out += self._chunk({"annotations": [event.citation]})
            else:
                self._notes.add((*path, "citations"), "dropped", "these citations are in another wire's form")
        self._notes.leftovers(event.opaque, WIRE, path)
        left = own(event.opaque, WIRE)
        if left and event.index in self._calls:
            left = {"tool_calls": [{"index": self._calls[event.index], **left}]}
        return out + (self._chunk(left) if left else b"")

    def finish(self, event: Finish) -> bytes:
        self._notes.leftovers(event.opaque, WIRE, ())
        left = bag(event.opaque, WIRE)
        word = encode_stop(event.stop, self._message, self._notes, ("stop",))
        choice = {**nested(self._first, CHOICE), **nested(left, CHOICE), "finish_reason": word or "stop"}
        delta, envelope = nested(left, MESSAGE_BAG), {**self._first, **own(event.opaque, WIRE)}
        out = self._chunk(delta, choice=choice, envelope=envelope)
        return out + self.tail()

    def counted(self, usage: Usage) -> Bag:
        return encode_usage(usage, self._dialect, self._notes)

    def _chunk(self, delta: Bag, *, choice: Bag | None = None, envelope: Bag | None = None) -> bytes:
        entry = {"index": 0, "delta": delta, "finish_reason": None, **(choice or {})}
        return self.chunk(entry, envelope or {})


def _beyond(final: Opaque | None, begun: Opaque | None) -> Opaque:
    """The leftovers of a final block that its beginning did not hold."""
    return {
        wire: {key: value for key, value in left.items() if key not in bag(begun, wire)}
        for wire, left in (final or {}).items()
    }
