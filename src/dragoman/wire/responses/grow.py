"""Items and blocks while a stream is read or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dragoman.types.collect import Collector
from dragoman.types.content import Content, HostedCall, Reasoning, Refusal, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, DeltaField, Patch
from dragoman.types.opaque import Bag
from dragoman.wire import jsonio, sse
from dragoman.wire.responses.parts import type_of
from dragoman.wire.responses.places import placed
from dragoman.wire.stencil import Stencil

EVENT_BAG = "~event"  # in the leftovers of a Finish: what stood beside the response in the last event
PIECE = (
    "~piece"  # in the leftovers of a Delta of field payload: an event that tells the progress of a vendor's own tool
)
BEGUN = "~begun"  # in the leftovers of a block's start: fields its item was added with, before they were whole
# Item type → the beginning of the names of its events, and the key of its whole text.
CALLS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
    "code_interpreter_call": ("response.code_interpreter_call_code", "code"),
}
# Field of a reasoning block → the beginning of the names of its text events, and the key of the part's number.
REASONING: dict[str, tuple[str, str]] = {
    "text": ("response.reasoning_text", "content_index"),
    "summary": ("response.reasoning_summary_text", "summary_index"),
}
# Block → the fields by which it grows.
GROWS: dict[type, tuple[str, ...]] = {
    Text: ("text",),
    Refusal: ("text",),
    Reasoning: ("text", "summary"),
    ToolCall: ("arguments",),
    HostedCall: ("arguments",),
}
Slot = tuple[DeltaField, int]


class Item:
    """An output item while it is written."""

    def __init__(self, index: int, item: Bag) -> None:
        self.index = index
        self.id: str = item["id"]
        self.type = type_of(item) or ""
        self.blocks: list[Block] = []
        self.growing = 0  # how many of them have not ended


class Block:
    """A block while it grows: `open` is the part being written."""

    def __init__(self, start: BlockStart, item: Item) -> None:
        self.index = start.index
        self.begun: Any = start.block
        self.item = item
        self.number = len(item.blocks)
        self.open: Slot | None = None
        self.citations = 0
        self.closed = False
        self.parts = 0  # the first number beyond those of its summary
        self._said: dict[Slot, int] = {}
        self._parts: dict[Slot, list[str]] = {}  # of reasoning
        self._last: tuple[DeltaField, int, Stencil] | None = None
        self._further: list[str] = []  # pieces that stand where the last one stood, not gathered so far
        self._stencils: dict[tuple[str, tuple[str, int] | None, bool], Stencil] = {}
        self._collector = Collector()
        self._collector.feed(replace(start, block=emptied(start.block)))

    @property
    def place(self) -> Bag:
        """What its events say of where it stands."""
        return {"item_id": self.item.id, "output_index": self.item.index}

    @property
    def said(self) -> dict[Slot, int]:
        """How much was written of each field."""
        self._gather()
        return self._said

    def feed(self, event: BlockEnd | Patch) -> None:
        """What else is said of the block."""
        self._gather()
        self._collector.feed(event)

    def grow(self, slot: Slot, text: str) -> None:
        """A piece more of one field."""
        self._gather()
        self._said[slot] = self._said.get(slot, 0) + len(text)
        if isinstance(self.begun, Reasoning):
            self._parts.setdefault(slot, []).append(text)
            if slot[0] == "summary" and slot[1] >= self.parts:
                self.parts = slot[1] + 1
        self._collector.grow(self.index, slot, text)

    def again(self, event: Delta, number: int) -> bytes | None:
        """The event of a piece that stands where the last one stood, so that only its text is new; None for any other."""
        last = self._last
        if last is None or self.closed or event.field != last[0] or event.part != last[1]:
            return None
        self._further.append(event.text)
        return last[2].fill(event.text, number)

    def _gather(self) -> None:
        if self._further and self._last is not None:
            text, self._further = "".join(self._further), []
            self.grow((self._last[0], self._last[1]), text)

    def stencil(self, word: str, place: tuple[str, int] | None, beside: Bag) -> Stencil:
        """The event `word` of its pieces at a place within the item; `beside` is always the same, or nothing."""
        spot = (word, place, bool(beside))
        if spot not in self._stencils:
            said = {**self.place, **({} if place is None else dict([place])), "delta": ""}
            self._stencils[spot] = Stencil(
                lambda text, number: numbered(word, number, {**said, "delta": text, **beside})
            )
        if not isinstance(self.begun, Reasoning):  # its parts open and close, and may be shown elsewhere
            self._last = ("arguments" if place is None else "text", 0, self._stencils[spot])
        return self._stencils[spot]

    def block(self) -> Any:
        """The block as gathered so far."""
        self._gather()
        return self._collector.reply.message.content[0]

    def text(self, slot: Slot) -> str:
        """The text of one part of a reasoning block so far; its text, where that is shown as a part of the summary."""
        return "".join(self._parts.get(slot) or self._parts.get(("text", 0), ()))


def numbered(word: str, number: int, fields: Bag) -> bytes:
    """One event."""
    return sse.write(jsonio.encode({"type": word, "sequence_number": number, **fields}), word)


def emptied(block: Content) -> Content:
    """A block as it starts: what grows by deltas is told by deltas alone."""
    match block:
        case Text() | Refusal():
            return replace(block, text="")
        case Reasoning():
            return replace(block, text=None, summary=None if block.summary is None else ())
        case ToolCall():
            return replace(block, arguments="")
        case HostedCall(arguments=str()):
            return replace(block, arguments="")
        case _:
            return block


def texts(block: Content) -> list[tuple[Slot, str]]:
    """What deltas say of a block."""
    match block:
        case Text() | Refusal():
            return [(("text", 0), block.text)]
        case Reasoning():
            parts: list[tuple[Slot, str]] = [(("summary", at), text) for at, text in enumerate(block.summary or ())]
            return [*parts, (("text", 0), block.text)] if block.text else parts
        case ToolCall() | HostedCall():
            return [(("arguments", 0), block.arguments or "")]
        case _:
            return []


def rest(block: Content, told: Mapping[Slot, int]) -> list[tuple[Slot, str]]:
    """What a whole block says beyond what was told of each slot; a part of a summary that was never told may be empty."""
    left = _beyond(texts(block), told)
    if not left or not isinstance(block, Reasoning) or not block.summary:
        return left
    parts = {part: size for (field, part), size in told.items() if field == "summary"}
    sizes = [len(text) for text in block.summary]
    said: list[tuple[Slot, str]] = [
        (("summary", part), text) for part, text in zip(placed(parts, sizes), block.summary, strict=True)
    ]
    if sum(parts.values()) == sum(sizes):  # all of it was told, whatever it was divided into
        said = [(slot, text) for slot, text in said if not text]
    return _beyond([*said, (("text", 0), block.text or "")], told)


def numbers(blocks: Sequence[Content], told: Mapping[int, int]) -> list[int]:
    """The number of each block of a finished item; `told` has how much was said of each that had begun."""
    if len(told) == len(blocks) == 1:
        return list(told)
    return placed(told, [sum(len(text) for _, text in texts(block)) for block in blocks])


def _beyond(whole: list[tuple[Slot, str]], told: Mapping[Slot, int]) -> list[tuple[Slot, str]]:
    return [
        (slot, text[told.get(slot, 0) :])
        for slot, text in whole
        if len(text) > told.get(slot, 0) or (slot[0] == "summary" and slot not in told)
    ]
