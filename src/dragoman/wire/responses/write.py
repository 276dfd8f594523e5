"""The events of a Responses stream as they are numbered and written, and the texts of its blocks part by part."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Reasoning, Refusal, Text
from dragoman.types.opaque import Bag, bag
from dragoman.wire.base import Notes
from dragoman.wire.responses.grow import CALLS, GROWS, REASONING, Block, Slot, numbered
from dragoman.wire.responses.items import is_part
from dragoman.wire.responses.parts import WIRE, encode_part

NO_PROBS: Bag = {"logprobs": []}


class EventWriter:
    """One number an event; within an item each part is opened, filled and closed. `ours`: the reply came from this wire,
    so that nothing is added that it did not say."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.ours = False
        self.number = 0

    def write(self, word: str, fields: Bag) -> bytes:
        """One event, with the next number."""
        self.number += 1
        return numbered(word, self.number - 1, fields)

    def say(self, block: Block, slot: Slot, text: str, left: Bag | None = None) -> bytes:
        """A piece of a block, with the opening of its part where it is the first."""
        field, part = slot
        if field not in GROWS.get(type(block.begun), ()):
            return b""
        block.grow(slot, text)
        if block.closed:
            return b""
        match block.begun:
            case Text():
                left = NO_PROBS if left is None else left
                return self._piece(block, "response.output_text", ("content_index", block.number), text, left)
            case Refusal():
                return self._piece(block, "response.refusal", ("content_index", block.number), text, left)
            case Reasoning():
                out = self._turn(block, self._shown(block, slot))
                word, number = REASONING[block.open[0] if block.open else field]
                place = (number, block.open[1] if block.open else part)
                return out + (self._piece(block, word, place, text, left) if text else b"")
            case _ if block.item.type in CALLS and text:
                return self._piece(block, CALLS[block.item.type][0], None, text, left)
            case _:
                return b""

    def _piece(self, block: Block, word: str, place: tuple[str, int] | None, text: str, left: Bag | None) -> bytes:
        """The event of a piece: most of a stream is that."""
        if left and left is not NO_PROBS:
            told = {} if place is None else dict([place])
            return self.write(f"{word}.delta", {**block.place, **told, "delta": text, **left})
        self.number += 1
        return block.stencil(f"{word}.delta", place, left or {}).fill(text, self.number - 1)

    def _shown(self, block: Block, slot: Slot) -> Slot:
        """Where a piece of reasoning is shown: as it was said, or text too as a part of the summary."""
        if self.ours or not self._dialect.reasoning_as_summary or slot[0] != "text":
            return slot
        return "summary", block.parts

    def _turn(self, block: Block, slot: Slot) -> bytes:
        """Go on to another part of a reasoning item."""
        if block.open == slot:
            return b""
        out = self.close_part(block)
        block.open, block.closed = slot, False
        return out + self._write_reasoning("added", block, "")

    def close_part(self, block: Block) -> bytes:
        """The end of the part that is open: its whole text, then the part."""
        if block.closed:
            return b""
        begun, place = block.begun, block.place
        if isinstance(begun, Reasoning):
            if block.open is None:
                return b""
            text = block.text(block.open)
            word, number = REASONING[block.open[0]]
            out = self.write(f"{word}.done", {**place, number: block.open[1], "text": text})
            out += self._write_reasoning("done", block, text)
            block.open = None
            return out
        if not is_part(begun):
            return b""
        block.closed = True
        final = block.block()
        out = b""
        if isinstance(final, Text):
            left = bag(final.opaque, WIRE)
            extra = {"logprobs": left.get("logprobs", [])} if "logprobs" in left or not self.ours else {}
            words = {"content_index": block.number, "text": final.text, **extra}
            out = self.write("response.output_text.done", {**place, **words})
        elif isinstance(final, Refusal):
            words = {"content_index": block.number, "refusal": final.text}
            out = self.write("response.refusal.done", {**place, **words})
        return out + self.part("done", block, final)

    def part(self, step: str, block: Block, content: Content) -> bytes:
        """A part of a message, added or done."""
        part = encode_part(content, "assistant", self._dialect, Notes(), ())
        if part is not None and part.get("type") == "output_text" and not self.ours:
            part.setdefault("annotations", [])
        told = {**block.place, "content_index": block.number, "part": part}
        return self.write(f"response.content_part.{step}", told)

    def _write_reasoning(self, step: str, block: Block, text: str) -> bytes:
        field, part = block.open or ("text", 0)
        if field == "summary":
            word, told = "reasoning_summary_part", {"summary_index": part}
            value = {"type": "summary_text", "text": text}
        else:
            word, told, value = "content_part", {"content_index": part}, {"type": "reasoning_text", "text": text}
        return self.write(f"response.{word}.{step}", {**block.place, **told, "part": value})
