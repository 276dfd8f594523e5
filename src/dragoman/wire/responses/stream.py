"""A Responses stream to events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.collect import explode
from dragoman.types.content import Content, ToolCall, replaced
from dragoman.types.events import (
    BlockEnd,
    BlockStart,
    Delta,
    DeltaField,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Start,
    StreamEvent,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, Opaque, bag
from dragoman.types.reply import Usage
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.naming import for_caller
from dragoman.wire.responses.calls import BUILTIN
from dragoman.wire.responses.errors import error_in_event
from dragoman.wire.responses.grow import BEGUN, EVENT_BAG, PIECE, Slot, emptied, numbers, rest
from dragoman.wire.responses.items import ITEM, decode_item
from dragoman.wire.responses.parts import WIRE, is_annotation, type_of
from dragoman.wire.responses.places import Summary
from dragoman.wire.responses.reply import decode_envelope, decode_reply
from dragoman.wire.responses.usage import decode_usage
from dragoman.wire.streaming import SseDecoder

LATE = ("id", "model", "created_at")  # what a response says of itself from its first event on
OPENING = ("response.created", "response.in_progress", "response.queued")
TERMINAL = ("response.completed", "response.incomplete", "response.cancelled", "response.done")  # done: GWY-010
KEEP_ALIVE = ("keepalive", "ping")

# Event → the field that grows.
DELTAS: dict[str, DeltaField] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_text.delta": "text",
    "response.reasoning_summary_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "arguments",
}
# Event → the key of the whole text: some servers send it without any delta before (dialects §1.2).
DONES: dict[str, tuple[DeltaField, str]] = {
    "response.output_text.done": ("text", "text"),
    "response.refusal.done": ("text", "refusal"),
    "response.reasoning_text.done": ("text", "text"),
    "response.reasoning_summary_text.done": ("summary", "text"),
    "response.function_call_arguments.done": ("arguments", "arguments"),
    "response.custom_tool_call_input.done": ("arguments", "input"),
    "response.mcp_call_arguments.done": ("arguments", "arguments"),
    "response.code_interpreter_call_code.done": ("arguments", "code"),
}
HOSTED_DONES = frozenset({"response.mcp_call_arguments.done", "response.code_interpreter_call_code.done"})
# Progress of a vendor's own tools: told as pieces of their block that only this wire reads.
PROGRESS = (
    *("response.web_search_call.", "response.file_search_call.", "response.image_generation_call."),
    *("response.code_interpreter_call", "response.mcp_call", "response.mcp_list_tools.", "response.shell_call_"),
    "response.apply_patch_call_",
)
# Events that repeat what others say, and are written anew by the encoder.
SILENT = frozenset(
    {
        "response.content_part.done",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
        "response.reasoning_summary_part.done",
    }
)
PADDING = "obfuscation"  # of any length, so that the lengths of events tell nothing
PLACE = frozenset(
    {"type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "delta", MARKS}
)


class _Item:
    """An output item while it grows: its blocks by the number of their part, in the order they appeared."""

    def __init__(self, value: Mapping[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.blocks: dict[Any, int] = {}
        self.done = False

    @property
    def is_message(self) -> bool:
        return type_of(self.value) == "message"


class ResponsesStreamDecoder(SseDecoder):
    """Output items as blocks, a message's parts one block each. Items are found by their output index first, since some
    servers change ids within an item; the finished item wins over what was gathered (evidence A12, §2)."""

    free = ("sequence_number", PADDING)

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._dialect = dialect
        self._exchange = exchange
        self._started = False
        self._opened: frozenset[str] = frozenset()
        self._items: dict[int, _Item] = {}
        self._next = 0  # the first index beyond all of them
        self._ids: dict[Any, _Item] = {}
        self._blocks = 0
        self._kinds: dict[int, type] = {}
        self._said: dict[int, dict[Slot, int]] = {}  # of each block
        self._summaries: defaultdict[int, Summary] = defaultdict(Summary)
        self._calls: list[Content] = []
        self._last: Mapping[str, Any] | None = None
        self._usage: Usage | None = None

    def take(self, name: str | None, value: Mapping[str, Any]) -> None:
        kind = type_of(value) or name or ""
        failed = error_in_event(value, kind)
        if failed is not None:
            usage = value["response"].get("usage") if isinstance(value.get("response"), dict) else None
            self._usage = decode_usage(usage, self._dialect) if isinstance(usage, dict) else None
            self.fail(failed)
        elif kind in DELTAS:
            self._delta(DELTAS[kind], value)
        elif kind in DONES:
            self._text_done(kind, value)
        elif kind in OPENING:
            self._begin(kind, self._response(value))
        elif kind in TERMINAL:
            self._response(value)
            self._last = value
            self.end()
        elif kind == "response.output_item.added":
            self._added(value.get("item"), value)
        elif kind == "response.output_item.done":
            self._item_done(value.get("item"), value)
        elif kind == "response.content_part.added":
            self._part(value)
        elif kind == "response.reasoning_summary_part.added":
            item = self._find(value)
            if item is not None and 0 in item.blocks:
                self._summaries[item.blocks[0]].part(_part_of(value))
        elif kind == "response.output_text.annotation.added":
            self._annotation(kind, value)
        elif kind in KEEP_ALIVE:
            self.out.append(KeepAlive())
        elif kind not in SILENT:
            self._raw(kind, value)

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        padded = isinstance(value.get(PADDING, ""), str)  # any other value would be kept as the last event said it
        return ("delta",) if padded and (type_of(value) or "") in DELTAS else None

    def grow(self, last: Delta, text: str, said: Mapping[str, str]) -> None:
        opaque = last.opaque
        if opaque is not None and PADDING in said:
            opaque = {WIRE: {**bag(opaque, WIRE), PADDING: said[PADDING]}}
        self._say(last.index, (last.field, last.part), text, opaque)

    def take_marker(self, text: str) -> bool:
        return text == "[DONE]"

    def usage(self) -> Usage | None:
        return self._usage

    def whole(self, body: bytes) -> Iterable[StreamEvent]:
        decoded = decode_reply(body, self._dialect, self._exchange)
        self._notes.taken += decoded.notes
        return explode(decoded.value)  # type: ignore[return-value]

    def finish(self) -> Finish | None:
        if self._last is not None:
            self._begin(OPENING[0], _response(self._last))
            self._unseen(_response(self._last).get("output"))
        for item in self._items.values():
            if not item.done:
                self.out += [BlockEnd(index=index) for index in item.blocks.values()]
        return None if self._last is None else self._finish(self._last)

    def _response(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        response = value.get("response")
        if not isinstance(response, dict):
            self.unread(("message",), response)
            return {}
        return response

    def _finish(self, value: Mapping[str, Any]) -> Finish:
        message = Message(role="assistant", content=tuple(self._calls))
        reply = decode_envelope(_response(value), message.content, (self._dialect, self._exchange, self._notes))
        self._usage = reply.usage
        left = dict((reply.opaque or {}).get(WIRE, {}))
        late = {key: said for key, said in _response(value).items() if key in LATE and key not in self._opened}
        left |= late  # some servers say at the end who answered: no field of the events holds it any more
        beside = {key: item for key, item in value.items() if key not in ("type", "response", "sequence_number", MARKS)}
        if beside:
            left[EVENT_BAG] = beside
        return Finish(stop=reply.stop, usage=reply.usage, opaque={WIRE: left} if left else None)

    def _begin(self, kind: str, response: Mapping[str, Any]) -> None:
        if self._started:
            return
        self._started = True
        self._opened = frozenset(response)
        fields = {key: item for key, item in response.items() if key not in ("usage", "output_text")}
        reply = decode_envelope(fields, (), (self._dialect, self._exchange, Notes()))
        left = dict((reply.opaque or {}).get(WIRE, {}))
        if kind == "response.queued" or response.get("status") == "queued":
            left[MARKS] = {"begun": kind}
        self.out.append(
            Start(
                id=reply.id,
                model=reply.model,
                created=reply.created,
                origin=reply.message.origin,
                opaque={WIRE: left} if left else None,
            )
        )

    def _added(self, value: Any, event: Mapping[str, Any]) -> _Item:
        """A new item. Its text, if it brings any, is told when it is whole."""
        self._begin(OPENING[0], {})
        index = _number(event, "output_index")
        if index < 0 or (index in self._items and not self._items[index].done):
            index = self._next
        self._next = max(self._next, index + 1)
        if not isinstance(value, dict):
            self.unread(("message",), value)
            value = {}
        item = self._items[index] = _Item(value, index)
        for id in (item.value.get("id"), event.get("item_id")):
            if isinstance(id, str):
                self._ids[id] = item
        if not item.is_message and item.value:
            block = decode_item(item.value, ("output", index), Notes(), ())[0]
            key = BUILTIN.get(block.name, "") if isinstance(block, ToolCall) else ""
            if key in item.value:
                block = replaced(block, {WIRE: {**bag(block.opaque, WIRE), BEGUN: {key: item.value[key]}}})
            self._start(item, 0, block)
        return item

    def _part(self, value: Mapping[str, Any]) -> None:
        item = self._find(value)
        part = value.get("part")
        if not isinstance(part, dict):
            self.unread(("message", "content"), part)
        elif item is not None and item.is_message:
            self._open_part(item, _number(value, "content_index"), part)

    def _open_part(self, item: _Item, number: Any, part: Mapping[str, Any]) -> int:
        blocks = decode_item({**item.value, "content": [part]}, ("output", item.index), Notes(), ())
        block = blocks[0]
        if item.blocks and ITEM in bag(block.opaque, WIRE):
            left = {key: left for key, left in bag(block.opaque, WIRE).items() if key != ITEM}
            block = replaced(block, {WIRE: left} if left else None)
        return self._start(item, number, block)

    def _start(self, item: _Item, number: Any, block: Content) -> int:
        index = self._blocks
        self._blocks += 1
        block = for_caller(block, self._exchange.names)
        item.blocks[number] = index
        self._kinds[index] = type(block)
        self._said[index] = {}
        if isinstance(block, ToolCall):
            self._calls.append(block)
        self.out.append(BlockStart(index=index, block=emptied(block)))
        return index

    def _delta(self, field: DeltaField, value: Mapping[str, Any]) -> None:
        text = value.get("delta")
        index = self._block(field, value)
        if index is None:
            return
        if not isinstance(text, str):
            self.unread(("message", "content", index, field), text)
            return
        left = {key: item for key, item in value.items() if key not in PLACE}
        part = self._summaries[index].part(_part_of(value)) if field == "summary" else 0
        self._say(index, (field, part), text, {WIRE: left} if left else None)

    def _say(self, index: int, slot: Slot, text: str, opaque: Opaque | None = None) -> None:
        field, part = slot
        said = self._said[index]
        said[slot] = said.get(slot, 0) + len(text)
        if text or opaque:
            self.out.append(Delta(index=index, field=field, text=text, part=part, opaque=opaque))

    def _text_done(self, kind: str, value: Mapping[str, Any]) -> None:
        field, key = DONES[kind]
        text, index = value.get(key), self._block(field, value)
        if index is not None and isinstance(text, str):
            part = self._summaries[index].done(_part_of(value)) if field == "summary" else 0
            if part is not None and not self._said[index].get((field, part)):
                self._say(index, (field, part), text)
        elif index is not None:
            self.unread(("message", "content", index, field), text)
        if kind in HOSTED_DONES:
            self._raw(kind, value)

    def _annotation(self, kind: str, value: Mapping[str, Any]) -> None:
        index, citation = self._block("text", value), value.get("annotation")
        if index is not None and is_annotation(citation):
            self.out.append(Patch(index=index, citation=citation))
        else:
            self._raw(kind, value)

    def _item_done(self, value: Any, event: Mapping[str, Any]) -> None:
        if not isinstance(value, dict):
            self.unread(("message",), value)
            return
        item = self._find({**event, "item_id": value.get("id")})
        if item is None or item.done:
            item = self._added({**value, "content": []} if type_of(value) == "message" else value, event)
        place = ("message", "content", min(item.blocks.values(), default=self._blocks))
        blocks = decode_item(value, ("output", item.index), self._notes, place)
        item.done = True
        begun = dict(item.blocks)
        told = {number: sum(self._said[index].values()) for number, index in begun.items()}
        for number, block in zip(numbers(blocks, told), blocks, strict=True):
            found = begun.pop(number, None)
            index = self._start(item, ("done", self._blocks), block) if found is None else found
            if self._kinds[index] is not type(block):
                self.out.append(BlockEnd(index=index))
                index = self._start(item, ("done", self._blocks), block)
            for slot, text in rest(block, self._said[index]):
                self._say(index, slot, text)
            self.out.append(BlockEnd(index=index, block=for_caller(block, self._exchange.names)))
        self.out += [BlockEnd(index=index) for index in begun.values()]

    def _unseen(self, output: Any) -> None:
        """Items that stand in the last event only, or were never finished before it."""
        if not isinstance(output, list):
            self.unread(("message",), output)
            return
        for at, value in enumerate(output):
            if not isinstance(value, dict):
                self.unread(("message",), value)
                continue
            known = self._find({"output_index": at, "item_id": value.get("id")}, id_first=True)
            if known is None or type_of(known.value) != type_of(value) or not known.done:
                self._item_done(value, {"output_index": at})

    def _raw(self, kind: str, value: Mapping[str, Any]) -> None:
        item = self._find(value)
        index = None if item is None else next(iter(item.blocks.values()), None)
        if index is not None and kind.startswith(PROGRESS):
            self.out.append(Delta(index=index, field="payload", opaque={WIRE: {PIECE: dict(value)}}))
        else:
            self.out.append(Raw(wire=WIRE, name=kind, payload=dict(value), index=index))

    def _find(self, value: Mapping[str, Any], *, id_first: bool = False) -> _Item | None:
        id = value.get("item_id")
        by_index = self._items.get(_number(value, "output_index"))
        by_id = self._ids.get(id) if isinstance(id, str) else None
        return by_id or by_index if id_first else by_index or by_id

    def _block(self, field: DeltaField, value: Mapping[str, Any]) -> int | None:
        """The block a piece belongs to; text may come without the events that announce it."""
        item = self._find(value)
        if item is None and field == "arguments":
            return None  # a call without a name: the finished item brings it whole
        if item is None:
            reasoning = "reasoning" in (type_of(value) or "")
            bare = {"type": "reasoning"} if reasoning else {"type": "message", "role": "assistant"}
            item = self._added({**bare, "id": value.get("item_id")}, value)
        if not item.is_message:
            return next(iter(item.blocks.values()), None)
        number = _number(value, "content_index")
        if number not in item.blocks:
            refusal = "refusal" in (type_of(value) or "")
            part = {"type": "refusal", "refusal": ""} if refusal else {"type": "output_text", "text": ""}
            return self._open_part(item, number, part)
        return item.blocks[number]


def _part_of(value: Mapping[str, Any]) -> int:
    return max(_number(value, "summary_index"), 0)


def _number(value: Mapping[str, Any], key: str) -> int:
    """A position in an event; -1 when it says none."""
    number = value.get(key)
    return number if type(number) is int else -1


def _response(value: Mapping[str, Any]) -> Mapping[str, Any]:
    response = value.get("response")
    return response if isinstance(response, dict) else {}
