"""Events to a Responses stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.collect import Collector
from dragoman.types.content import Content, HostedCall, Reasoning, Refusal, Text
from dragoman.types.events import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Start,
    StreamEvent,
    UsageUpdate,
)
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.opaque import Bag, bag, marks
from dragoman.types.reply import Stop
from dragoman.wire import sse
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.responses.errors import encode_failure
from dragoman.wire.responses.grow import (
    BEGUN,
    CALLS,
    EVENT_BAG,
    GROWS,
    PIECE,
    REASONING,
    Block,
    Item,
    Slot,
    emptied,
    numbered,
    texts,
)
from dragoman.wire.responses.items import To, complete, continues, encode_block, encode_message, is_part, name
from dragoman.wire.responses.parts import WIRE, encode_part, is_annotation
from dragoman.wire.responses.reply import encode_envelope

NO_PROBS: Bag = {"logprobs": []}
LAST = {"completed": "response.completed", "failed": "response.failed"}


class ResponsesStreamEncoder:
    """Writes the order by which strict clients assemble: created, in_progress, then each item added, its parts added,
    filled and done, the item done; one id an item, one number an event; last the response, its output the items that
    were done (evidence §D). A message item waits for the event after its end, since a further part may follow."""

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        self._dialect = dialect
        self._exchange = exchange
        self._notes = Notes()
        self._envelope = Collector()
        self._origin: Origin | None = None
        self._ours = False
        self._number = 0
        self._items = 0
        self._blocks: dict[int, Block] = {}
        self._message: Item | None = None
        self._done: dict[int, Bag] = {}
        self._content: dict[int, Content] = {}
        self._ended = False

    @property
    def notes(self) -> list[Note]:
        """What the stream so far could not say."""
        return self._notes.taken

    def encode(self, event: StreamEvent) -> bytes:
        """The wire's events for one of ours; empty when it adds nothing here."""
        if self._ended:
            return b""
        if type(event) is Delta and event.opaque is not None:
            self._notes.piece(event, WIRE)
        if type(event) is Delta and event.text and not self._ours:
            block = self._blocks.get(event.index)
            if block is not None and (self._message is None or self._message is block.item):
                written = block.again(event, self._number)
                if written is not None:
                    self._number += 1
                    return written
        if isinstance(event, KeepAlive):
            return sse.COMMENT
        out = self._settle(event)
        match event:
            case Delta():
                return out + self._delta(event)
            case BlockStart():
                return out + self._start_block(event)
            case BlockEnd():
                return out + self._end_block(event)
            case Patch():
                return out + self._patch(event)
            case Start():
                return out + self._start(event)
            case UsageUpdate():
                self._envelope.feed(event)
                return out
            case Finish():
                return out + self._finish(event)
            case Failure():
                return out + self._failure(event)
            case Raw():
                return out + self._raw(event)

    def close(self) -> bytes:
        """The end of the events; a stream that was cut stays cut."""
        self._ended = True
        return b""

    # --- the envelope

    def _start(self, event: Start) -> bytes:
        self._envelope.feed(event)
        self._origin = event.origin
        self._ours = event.origin is not None and event.origin.wire == WIRE
        opening = ["response.created", "response.in_progress"]
        begun = marks(event.opaque, WIRE).get("begun")
        if begun is not None:
            opening = [begun, *(step for step in ("response.queued", "response.in_progress") if step != begun)]
        out = b""
        for step in opening:
            status = "queued" if begun is not None and step != "response.in_progress" else "in_progress"
            response = self._response(Stop(reason="pause", raw=status), Notes())
            out += self._write(step, response={**response, "status": status, "usage": None})
        return out

    def _finish(self, event: Finish) -> bytes:
        out = self._close_all()
        self._envelope.feed(event)
        response = self._response(event.stop, self._notes)
        word = LAST.get(str(response.get("status", "completed")), "response.incomplete")
        self._ended = True
        return out + self._write(word, response=response, **bag(event.opaque, WIRE).get(EVENT_BAG, {}))

    def _failure(self, event: Failure) -> bytes:
        self._envelope.feed(event)
        error, reason = encode_failure(event.code, event.message)
        response = {"usage": None, **self._response(Stop(reason="error", raw="failed"), self._notes)}
        self._ended = True
        out = self._write("error", **error)
        return out + self._write("response.failed", response={**response, "status": "failed", "error": reason})

    def _response(self, stop: Stop, notes: Notes) -> Bag:
        said = self._envelope.reply
        notes.leftovers(said.message.opaque, WIRE, ("message",))
        content = tuple(self._content[index] for index in sorted(self._content))
        message = Message(role="assistant", content=content, origin=self._origin)
        output = [self._done[index] for index in sorted(self._done)]
        reply = replace(said, message=message, stop=stop)
        return encode_envelope(reply, output, (self._dialect, self._exchange, notes))

    def _raw(self, event: Raw) -> bytes:
        if event.wire != WIRE or not isinstance(event.payload, dict):
            self._notes.add(("events",), "dropped", f"event {event.name!r} of the {event.wire} wire has no place here")
            return b""
        return self._verbatim(event.payload, self._blocks.get(-1 if event.index is None else event.index))

    def _verbatim(self, payload: Mapping[str, Any], block: Block | None) -> bytes:
        """An event as it came, its number and its item's place made ours."""
        left = {key: value for key, value in payload.items() if key not in ("type", "sequence_number")}
        if block is not None and "output_index" in left:
            left["output_index"] = block.item.index
        return self._write(str(payload.get("type", "")), **left)

    # --- items and their blocks

    def _start_block(self, event: BlockStart) -> bytes:
        block, place = event.block, ("message", "content", event.index)
        item = self._message
        out = b""
        if item is not None and item.index == self._items - 1 and continues(item.blocks[0].begun, block, joins=True):
            out += self._close_part(item.blocks[-1])
        else:
            shell = self._shell(block, place)
            if shell is None:
                return b""
            item = Item(self._items, shell)
            self._items += 1
            self._message = item if item.type == "message" and is_part(block) else self._message
            out += self._write("response.output_item.added", output_index=item.index, item=shell)
        begun = self._blocks[event.index] = Block(event, item)
        item.blocks.append(begun)
        item.growing += 1
        if is_part(block):
            out += self._write_part("response.content_part.added", begun, emptied(block))
        for slot, text in texts(block):
            out += self._say(begun, slot, text) if text else b""
        return out

    def _shell(self, block: Content, place: tuple[str | int, ...]) -> Bag | None:
        """An item as it is added: nothing in it yet. None, with a note, when this wire has none for the block."""
        if is_part(block):
            shell = encode_message([(0, emptied(block))], (), self._to(Notes()))
            if shell is not None:
                shell["content"] = []
        else:
            shell = encode_block(emptied(block), Message(role="assistant", content=()), place, self._to(Notes()))
        if shell is None:
            encode_block(block, Message(role="assistant", content=()), place, self._to(self._notes))
            return None
        shell |= bag(block.opaque, WIRE).get(BEGUN, {})
        self._complete(shell, self._items)
        if not self._ours and "status" in shell:
            shell["status"] = "in_progress"
        return shell

    def _delta(self, event: Delta) -> bytes:
        block = self._blocks.get(event.index)
        if block is None or not (event.text or event.opaque):
            return b""
        if event.field == "payload":
            piece = bag(event.opaque, WIRE).get(PIECE)
            return self._verbatim(piece, block) if isinstance(piece, dict) else b""
        left = bag(event.opaque, WIRE) if self._ours else None
        return self._say(block, (event.field, event.part), event.text, left)

    def _patch(self, event: Patch) -> bytes:
        block = self._blocks.get(event.index)
        if block is None:
            return b""
        block.feed(event)
        if event.citation is None or not is_annotation(event.citation) or block.closed:
            return b""
        place = {**block.place, "content_index": block.number, "annotation_index": block.citations}
        block.citations += 1
        return self._write("response.output_text.annotation.added", annotation=event.citation, **place)

    def _end_block(self, event: BlockEnd) -> bytes:
        block = self._blocks.get(event.index)
        if block is None or event.index in self._content:
            return b""
        out = b""
        if event.block is not None and type(event.block) is not type(block.begun):
            event = BlockEnd(index=event.index)
        for slot, text in texts(event.block) if event.block is not None else ():
            said = block.said.get(slot, 0)
            if len(text) > said or (slot[0] == "summary" and slot not in block.said):
                out += self._say(block, slot, text[said:])
        block.feed(event)
        final = self._content[event.index] = block.block()
        out += self._close_part(block)
        item = block.item
        item.growing -= 1
        if is_part(block.begun):
            return out + (b"" if item.growing or item is self._message else self._close_item(item))
        if item.type in CALLS and not isinstance(final, HostedCall):
            prefix, key = CALLS[item.type]
            told = {"name": final.name} if item.type == "function_call" and not self._ours else {}
            out += self._write(f"{prefix}.done", **block.place, **{key: final.arguments}, **told)
        return out + self._close_item(item)

    def _settle(self, event: StreamEvent) -> bytes:
        """Close the message item that waited, unless `event` belongs to it or says nothing of items."""
        item = self._message
        if item is None or item.growing or isinstance(event, UsageUpdate | Start):
            return b""
        if isinstance(event, BlockStart) and continues(item.blocks[0].begun, event.block, joins=True):
            return b""
        if isinstance(event, Patch | Delta | BlockEnd) and any(block.index == event.index for block in item.blocks):
            return b""
        self._message = None
        return self._close_item(item)

    def _close_all(self) -> bytes:
        out = b""
        for index in list(self._blocks):
            out += self._end_block(BlockEnd(index=index))
        if self._message is not None:
            out += self._close_item(self._message)
        return out

    def _close_item(self, item: Item) -> bytes:
        """The item whole."""
        group = [(block.index, self._content[block.index]) for block in item.blocks]
        to = self._to(self._notes)
        if is_part(item.blocks[0].begun):
            written = encode_message(group, ("message",), to)
        else:
            at, block = group[0]
            message = Message(role="assistant", content=(), origin=self._origin)
            written = encode_block(block, message, ("message", "content", at), to)
        written = {**(written or {"type": item.type}), "id": item.id}
        self._complete(written, item.index)
        self._done[item.index] = written
        return self._write("response.output_item.done", output_index=item.index, item=written)

    # --- parts and their texts

    def _say(self, block: Block, slot: Slot, text: str, left: Bag | None = None) -> bytes:
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
            return self._write(f"{word}.delta", **block.place, **told, delta=text, **left)
        self._number += 1
        return block.stencil(f"{word}.delta", place, left or {}).fill(text, self._number - 1)

    def _shown(self, block: Block, slot: Slot) -> Slot:
        """Where a piece of reasoning is shown: as it was said, or text too as a part of the summary."""
        if self._ours or not self._dialect.reasoning_as_summary or slot[0] != "text":
            return slot
        return "summary", 1 + max((part for field, part in block.said if field == "summary"), default=-1)

    def _turn(self, block: Block, slot: Slot) -> bytes:
        """Go on to another part of a reasoning item."""
        if block.open == slot:
            return b""
        out = self._close_part(block)
        block.open, block.closed = slot, False
        return out + self._write_reasoning("added", block, "")

    def _close_part(self, block: Block) -> bytes:
        """The end of the part that is open: its whole text, then the part."""
        if block.closed:
            return b""
        begun, place = block.begun, block.place
        if isinstance(begun, Reasoning):
            if block.open is None:
                return b""
            text = block.text(block.open)
            word, number = REASONING[block.open[0]]
            out = self._write(f"{word}.done", **place, **{number: block.open[1]}, text=text)
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
            extra = {"logprobs": left.get("logprobs", [])} if "logprobs" in left or not self._ours else {}
            words = {"content_index": block.number, "text": final.text, **extra}
            out = self._write("response.output_text.done", **place, **words)
        elif isinstance(final, Refusal):
            out = self._write("response.refusal.done", **place, content_index=block.number, refusal=final.text)
        return out + self._write_part("response.content_part.done", block, final)

    def _write_part(self, word: str, block: Block, content: Content) -> bytes:
        part = encode_part(content, "assistant", self._dialect, Notes(), ())
        if part is not None and part.get("type") == "output_text" and not self._ours:
            part.setdefault("annotations", [])
        return self._write(word, **block.place, content_index=block.number, part=part)

    def _write_reasoning(self, step: str, block: Block, text: str) -> bytes:
        field, part = block.open or ("text", 0)
        if field == "summary":
            word, told = "reasoning_summary_part", {"summary_index": part}
            value = {"type": "summary_text", "text": text}
        else:
            word, told, value = "content_part", {"content_index": part}, {"type": "reasoning_text", "text": text}
        return self._write(f"response.{word}.{step}", **block.place, **told, part=value)

    def _to(self, notes: Notes) -> To:
        seed = None if self._ours else self._exchange.seed
        return To(self._dialect, notes, self._origin or Origin(wire=WIRE), seed)

    def _complete(self, item: Bag, index: int) -> None:
        (name if self._ours else complete)(item, self._exchange.seed, index)

    def _write(self, word: str, **fields: Any) -> bytes:
        self._number += 1
        return numbered(word, self._number - 1, fields)
