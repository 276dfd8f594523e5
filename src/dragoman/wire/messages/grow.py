"""One block of a messages stream while it is written."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.types.content import (
    Content,
    Foreign,
    HostedCall,
    HostedResult,
    Media,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from dragoman.types.events import BlockStart, Delta, Patch, Raw
from dragoman.types.note import Path
from dragoman.types.opaque import Bag, Opaque, bag, marks
from dragoman.wire import jsonio, sse
from dragoman.wire.base import Notes, own
from dragoman.wire.messages.blocks import encode_hosted, encode_reasoning, is_own_kind, thought
from dragoman.wire.messages.calls import encode_call
from dragoman.wire.messages.parts import WIRE, encode_part, is_citation
from dragoman.wire.stencil import Stencil

Payload = tuple[str, Bag]
NULL = "null"
GAP = "\n\n"  # between the parts of a summary

# The middle format's block and the delta that its text comes in.
DELTAS: dict[type, tuple[str, str]] = {
    Text: ("text_delta", "text"),
    Reasoning: ("thinking_delta", "thinking"),
    ToolCall: ("input_json_delta", "partial_json"),
    HostedCall: ("input_json_delta", "partial_json"),
}


class BlockWriter:
    """Gives the wire's events of one block. A text or a thought of another wire is announced only when it says
    something, since clients send blocks back and this wire refuses empty ones.

    `written` is 1 when the block was announced, so that indexes stay without gaps; `source` is its index in the events.
    """

    def __init__(self, event: BlockStart, index: int, notes: Notes) -> None:
        self.source = event.index
        self.written = 0
        self._index = index
        self._notes = notes
        self._path: Path = ("message", "content", event.index)
        self._block: Content = _as_text(event.block, notes, self._path)
        self._entry: Bag | None = None
        self._dropped = False
        self._said = False
        self._part = 0
        self._custom: list[str] = []
        self._head = ""
        self._citations: list[Any] = []
        self._signature = ""
        self._noted: Opaque | None = None  # the leftovers of the last piece, most often those of the next
        self._stencil: Stencil | None = None

    def start(self) -> list[Payload]:
        """The announcement, unless it waits for something to say, and what the start already holds."""
        block = self._block
        match block:
            case Text():
                held = block.text
                self._citations = [item for item in block.citations or () if is_citation(item)]
                entry = self._text_entry(block)
                waits = not marks(block.opaque, WIRE).get("empty")
            case Reasoning():
                held = thought(block)
                entry = self._thinking_entry(block)
                waits = not is_own_kind(block)
            case ToolCall():
                held, waits, entry = block.arguments, False, self._call_entry(block)
            case HostedCall():
                held, waits = block.arguments or "", False
                entry = encode_hosted(msgspec.structs.replace(block, arguments="{}"), self._notes, self._path)
            case HostedResult():
                held, waits, entry = "", False, encode_hosted(block, self._notes, self._path)
            case _:
                held, waits, entry = "", False, encode_part(block, self._notes, self._path)
        if entry is None:
            self._dropped = True
            return []
        self._entry = entry
        if marks(block.opaque, WIRE).get("input") == "start" and isinstance(block, ToolCall | HostedCall):
            entry["input"], held, self._said = msgspec.Raw((block.arguments or "{}").encode()), "", True
        out = [] if waits else self._announce()
        return out + (self._say(held, {}) if held else [])

    def delta(self, event: Delta) -> list[Payload]:
        """A piece of the block's text."""
        if self._dropped or type(self._block) not in DELTAS:
            return []
        left = own(event.opaque, WIRE)
        self._notes.piece(event, WIRE)
        if marks(event.opaque, WIRE).get("unsaid"):
            self._said = True
            return []
        if event.field in ("data", "payload") or (not event.text and not self.written):
            return []
        text = event.text
        if event.field == "summary" and event.part != self._part:
            self._part = event.part
            text = GAP + text if self._said else text
        return self._say(text, left)

    def again(self, event: Delta) -> bytes | None:
        """The bytes of a piece that only adds its text to what was said before it; None for any other."""
        field, opaque, stencil = event.field, event.opaque, self._stencil or self._cut_stencil()
        if stencil is None or not event.text or field in ("data", "payload"):
            return None
        if field == "summary" and event.part != self._part:
            return None
        if opaque is not None and opaque is not self._noted:
            if WIRE in opaque:
                return None
            self._notes.piece(event, WIRE)
            self._noted = opaque
        return stencil.fill(event.text)

    def _cut_stencil(self) -> Stencil | None:
        """What pieces of the block are written by, once one was."""
        block = self._block
        custom = isinstance(block, ToolCall) and block.kind == "custom"
        if custom or not self._said or not self.written or type(block) not in DELTAS:
            return None
        kind, key = DELTAS[type(block)]
        self._stencil = Stencil(
            lambda text, _: b"".join(write(*said) for said in self._delta({"type": kind, key: text}))
        )
        return self._stencil

    def patch(self, event: Patch) -> list[Payload]:
        """A citation in this wire's form, or the signature, which waits for the end."""
        if self._dropped:
            return []
        out: list[Payload] = []
        if event.citation is not None and is_citation(event.citation):
            out = self._announce() + self._delta({"type": "citations_delta", "citation": event.citation})
        elif event.citation is not None:
            self._notes.add((*self._path, "citations"), "dropped", "these citations are in another wire's form")
        self._notes.leftovers(event.opaque, WIRE, self._path)
        self._signature = own(event.opaque, WIRE).get("signature") or self._signature
        return out

    def raw(self, event: Raw) -> list[Payload]:
        """An event that only this wire knows, within its block."""
        if not self.written or not isinstance(event.payload, dict):
            return []
        left = {key: item for key, item in event.payload.items() if key != "type"}
        return [(event.name, {**left, "index": self._index})]

    def end(self, final: Content | None) -> list[Payload]:
        """What only the final block says, the citations and the signature, and the end of an announced block."""
        if self._dropped:
            return []
        out: list[Payload] = []
        if final is not None:
            self._notes.leftovers(_beyond(final.opaque, self._block.opaque), WIRE, self._path)
        if final is not None and not isinstance(self._block, Foreign):
            out += self._say_final(_as_text(final, Notes(), self._path))
        out += self._end_of_input()
        for item in self._citations:
            out += self._announce() + self._delta({"type": "citations_delta", "citation": item})
        if self._signature:
            delta = {"type": "signature_delta", "signature": self._signature}
            out += self._announce() + self._delta(delta)
        if not self.written:
            kind = "thought" if isinstance(self._block, Reasoning) else "text"
            loss = isinstance(self._block, Reasoning)
            self._notes.add(self._path, "dropped", f"a {kind} without words", loss=loss)
            return out
        return [*out, ("content_block_stop", {"index": self._index})]

    def _end_of_input(self) -> list[Payload]:
        """What waited of a call's arguments; a custom tool's text as the one string of its function."""
        block, held = self._block, self._head
        if isinstance(block, ToolCall) and block.kind == "custom":
            held = jsonio.text({"input": "".join(self._custom)})
        elif held.strip() in ("", NULL):
            if isinstance(block, ToolCall) and not self._said:
                reason = "no arguments are an empty object here"
                self._notes.add((*self._path, "arguments"), "substituted", reason, loss=False)
            return []
        return self._delta({"type": "input_json_delta", "partial_json": held})

    def _say_final(self, final: Content) -> list[Payload]:
        if isinstance(final, Reasoning):
            self._signature = own(final.opaque, WIRE).get("signature") or self._signature
        if self._said or self._head:
            return []
        text = final.arguments if isinstance(final, ToolCall | HostedCall) else getattr(final, "text", None)
        if isinstance(final, Reasoning):
            text = thought(final)
        return self._say(text, {}) if text else []

    def _say(self, text: str, left: Bag) -> list[Payload]:
        if isinstance(self._block, ToolCall) and self._block.kind == "custom":
            self._custom.append(text)
            self._said = True
            return []
        if type(self._block) not in DELTAS:
            return []
        if isinstance(self._block, ToolCall) and not self._said:
            text, self._head = self._head + text, ""
            if text.strip() and NULL.startswith(text.strip()):  # it may become `null`, which is no input
                self._head = text
                return []
        self._said = self._said or bool(text)
        kind, key = DELTAS[type(self._block)]
        return self._announce() + self._delta({"type": kind, key: text, **left})

    def _announce(self) -> list[Payload]:
        if self.written or self._entry is None:
            return []
        self.written = 1
        return [("content_block_start", {"index": self._index, "content_block": self._entry})]

    def _delta(self, delta: Bag) -> list[Payload]:
        return [("content_block_delta", {"index": self._index, "delta": delta})]

    def _text_entry(self, block: Text) -> Bag:
        spelled = {WIRE: {"~": {"empty": True}, **own(block.opaque, WIRE)}}
        others = {wire: left for wire, left in (block.opaque or {}).items() if wire != WIRE}
        citations = None if block.citations is None else ()
        if len(self._citations) != len(block.citations or ()):
            self._notes.add((*self._path, "citations"), "dropped", "these citations are in another wire's form")
            citations = () if self._citations else None
        empty = msgspec.structs.replace(block, text="", citations=citations, opaque={**others, **spelled})
        return encode_part(empty, self._notes, self._path) or {}

    def _thinking_entry(self, block: Reasoning) -> Bag:
        self._notes.leftovers(block.opaque, WIRE, self._path)
        text = None if block.text is None and not block.summary else ""
        entry = encode_reasoning(msgspec.structs.replace(block, text=text, summary=None))
        if entry.get("signature"):
            self._signature, entry["signature"] = entry["signature"], ""
        return entry

    def _call_entry(self, call: ToolCall) -> Bag:
        return encode_call(msgspec.structs.replace(call, arguments="{}"), self._notes, self._path) | {"input": {}}


def write(name: str, payload: Bag) -> bytes:
    """One event."""
    return sse.write(jsonio.encode({"type": name, **payload}), name)


def _as_text(block: Content, notes: Notes, path: Path) -> Content:
    """A refusal, and a sound with its words, are texts here."""
    if isinstance(block, Refusal):
        notes.add(path, "substituted", "this wire has no refusal block: its words became a text", loss=False)
        return Text(text=block.text, cache=block.cache, opaque=block.opaque)
    if isinstance(block, Media) and block.transcript is not None:
        notes.add(path, "substituted", f"this wire holds no {block.kind}: its transcript became a text")
        return Text(text=block.transcript)
    return block


def _beyond(opaque: Opaque | None, before: Opaque | None) -> Opaque:
    """The leftovers of a final block that its start did not hold yet."""
    return {
        wire: {key: value for key, value in left.items() if bag(before, wire).get(key) != value}
        for wire, left in (opaque or {}).items()
    }
