"""Events to a Responses stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.collect import Collector
from dragoman.types.content import Content, HostedCall
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
from dragoman.types.opaque import Bag, bag, marks, nested, word
from dragoman.types.reply import Stop
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.emitting import EventEncoder
from dragoman.wire.responses.errors import encode_failure
from dragoman.wire.responses.grow import BEGUN, CALLS, EVENT_BAG, PIECE, Block, Item, emptied, rest, texts
from dragoman.wire.responses.items import To, complete, continues, encode_block, encode_message, is_part, name
from dragoman.wire.responses.parts import WIRE, is_annotation
from dragoman.wire.responses.reply import encode_envelope
from dragoman.wire.responses.write import EventWriter

BEGINS = ("response.created", "response.in_progress", "response.queued")
LAST = {"completed": "response.completed", "failed": "response.failed"}


class ResponsesStreamEncoder(EventEncoder):
    """Writes the order by which strict clients assemble: created, in_progress, then each item added, its parts added,
    filled and done, the item done; one id an item, one number an event; last the response, its output the items that
    were done (evidence §D). A message item waits for the event after its end, since a further part may follow."""

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._out = EventWriter(dialect)
        self._envelope = Collector()
        self._origin: Origin | None = None
        self._items = 0
        self._blocks: dict[int, Block] = {}
        self._message: Item | None = None
        self._done: dict[int, Bag] = {}
        self._content: dict[int, Content] = {}

    def encode(self, event: StreamEvent) -> bytes:
        if self._ended:
            return b""
        if type(event) is Delta:
            if event.opaque is not None:
                self._notes.piece(event, WIRE)
            block, out = self._blocks.get(event.index), self._out
            if (
                block is not None
                and event.text
                and not out.ours
                and (self._message is None or self._message is block.item)
            ):
                written = block.again(event, out.number)
                if written is not None:
                    out.number += 1
                    return written
        return self._settle(event) + super().encode(event)

    # --- the envelope

    def count(self, event: Start | UsageUpdate | Finish) -> None:
        self._envelope.feed(event)

    def start(self, event: Start) -> bytes:
        self._origin = event.origin
        self._out.ours = event.origin is not None and event.origin.wire == WIRE
        opening = ["response.created", "response.in_progress"]
        begun = word(marks(event.opaque, WIRE), "begun", BEGINS)
        if begun is not None:
            opening = [begun, *(step for step in ("response.queued", "response.in_progress") if step != begun)]
        out = b""
        for step in opening:
            status = "queued" if begun is not None and step != "response.in_progress" else "in_progress"
            response = self._response(Stop(reason="pause", raw=status), Notes())
            out += self._out.write(step, {"response": {**response, "status": status, "usage": None}})
        return out

    def finish(self, event: Finish) -> bytes:
        out = self._close_all()
        response = self._response(event.stop, self._notes)
        word = LAST.get(str(response.get("status", "completed")), "response.incomplete")
        return out + self._out.write(word, {"response": response, **nested(bag(event.opaque, WIRE), EVENT_BAG)})

    def failure(self, event: Failure) -> bytes:
        self._envelope.feed(event)
        error, reason = encode_failure(event.code, event.message)
        response = {"usage": None, **self._response(Stop(reason="error", raw="failed"), self._notes)}
        failed = {"response": {**response, "status": "failed", "error": reason}}
        return self._out.write("error", error) + self._out.write("response.failed", failed)

    def _response(self, stop: Stop, notes: Notes) -> Bag:
        said = self._envelope.reply
        notes.leftovers(said.message.opaque, WIRE, ("message",))
        content = tuple(self._content[index] for index in sorted(self._content))
        message = Message(role="assistant", content=content, origin=self._origin)
        output = [self._done[index] for index in sorted(self._done)]
        reply = replace(said, message=message, stop=stop)
        return encode_envelope(reply, output, (self._dialect, self._exchange, notes))

    def raw(self, event: Raw) -> bytes:
        if event.wire != WIRE or not isinstance(event.payload, dict):
            return super().raw(event)
        return self._verbatim(event.payload, self._blocks.get(-1 if event.index is None else event.index))

    def _verbatim(self, payload: Mapping[str, Any], block: Block | None) -> bytes:
        """An event as it came, its number and its item's place made ours."""
        left = {key: value for key, value in payload.items() if key not in ("type", "sequence_number")}
        if block is not None and "output_index" in left:
            left["output_index"] = block.item.index
        return self._out.write(str(payload.get("type", "")), left)

    # --- items and their blocks

    def block_start(self, event: BlockStart) -> bytes:
        block, place = event.block, ("message", "content", event.index)
        item = self._message
        out = b""
        if item is not None and item.index == self._items - 1 and continues(item.blocks[0].begun, block, joins=True):
            out += self._out.close_part(item.blocks[-1])
        else:
            shell = self._shell(block, place)
            if shell is None:
                return b""
            item = Item(self._items, shell)
            self._items += 1
            self._message = item if item.type == "message" and is_part(block) else self._message
            out += self._out.write("response.output_item.added", {"output_index": item.index, "item": shell})
        begun = self._blocks[event.index] = Block(event, item)
        item.blocks.append(begun)
        item.growing += 1
        if is_part(block):
            out += self._out.part("added", begun, emptied(block))
        for slot, text in texts(block):
            out += self._out.say(begun, slot, text) if text else b""
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
        shell |= nested(bag(block.opaque, WIRE), BEGUN)
        self._complete(shell, self._items)
        if not self._out.ours and "status" in shell:
            shell["status"] = "in_progress"
        return shell

    def delta(self, event: Delta) -> bytes:
        block = self._blocks.get(event.index)
        if block is None or not (event.text or event.opaque):
            return b""
        if event.field == "payload":
            piece = bag(event.opaque, WIRE).get(PIECE)
            return self._verbatim(piece, block) if isinstance(piece, dict) else b""
        left = bag(event.opaque, WIRE) if self._out.ours else None
        return self._out.say(block, (event.field, event.part), event.text, left)

    def patch(self, event: Patch) -> bytes:
        block = self._blocks.get(event.index)
        if block is None:
            return b""
        block.feed(event)
        if event.citation is None or not is_annotation(event.citation) or block.closed:
            return b""
        place = {**block.place, "content_index": block.number, "annotation_index": block.citations}
        block.citations += 1
        return self._out.write("response.output_text.annotation.added", {"annotation": event.citation, **place})

    def block_end(self, event: BlockEnd) -> bytes:
        block = self._blocks.get(event.index)
        if block is None or event.index in self._content:
            return b""
        out = b""
        if event.block is not None and type(event.block) is not type(block.begun):
            event = BlockEnd(index=event.index)
        for slot, text in rest(event.block, block.said) if event.block is not None else ():
            out += self._out.say(block, slot, text)
        block.feed(event)
        final = self._content[event.index] = block.block()
        out += self._out.close_part(block)
        item = block.item
        item.growing -= 1
        if is_part(block.begun):
            return out + (b"" if item.growing or item is self._message else self._close_item(item))
        if item.type in CALLS and not isinstance(final, HostedCall):
            prefix, key = CALLS[item.type]
            told = {"name": final.name} if item.type == "function_call" and not self._out.ours else {}
            out += self._out.write(f"{prefix}.done", {**block.place, key: final.arguments, **told})
        return out + self._close_item(item)

    def _settle(self, event: StreamEvent) -> bytes:
        """Close the message item that waited, unless `event` belongs to it or says nothing of items."""
        item = self._message
        if item is None or item.growing or isinstance(event, UsageUpdate | Start | KeepAlive):
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
            out += self.block_end(BlockEnd(index=index))
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
        return self._out.write("response.output_item.done", {"output_index": item.index, "item": written})

    def _to(self, notes: Notes) -> To:
        seed = None if self._out.ours else self._exchange.seed
        return To(self._dialect, notes, self._origin or Origin(wire=WIRE), seed)

    def _complete(self, item: Bag, index: int) -> None:
        (name if self._out.ours else complete)(item, self._exchange.seed, index)
