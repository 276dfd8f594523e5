"""A messages stream to events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import RemoteError
from dragoman.types.base import Origin
from dragoman.types.collect import explode
from dragoman.types.content import Content, Foreign, HostedCall, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, KeepAlive, Patch, Raw, Start, StreamEvent
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, Bag, bag, marks
from dragoman.types.reply import Usage
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages.blocks import decode_block
from dragoman.wire.messages.calls import custom_text
from dragoman.wire.messages.errors import error_in
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.messages.reply import decode_reply, for_caller, take_constants
from dragoman.wire.messages.stops import take_stop
from dragoman.wire.messages.usage import absorb, decode_usage
from dragoman.wire.streaming import SseDecoder

DONE = "[DONE]"  # some routers end so as well (corpus oddities)

# Delta type → the key of its value, and the field of the block that grows.
GROWTH = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "text"),
    "input_json_delta": ("partial_json", "arguments"),
}
# What a block is when its first delta comes without a start.
UNSTARTED: dict[str, Bag] = {
    "text_delta": {"type": "text", "text": ""},
    "citations_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
    "signature_delta": {"type": "thinking", "thinking": "", "signature": ""},
    "input_json_delta": {"type": "tool_use", "name": "", "input": {}},
}
UNSAID = {"unsaid": True}  # the mark of a piece that no event said: zero bytes of input mean `{}`
IN_START = ("stop_reason", "stop_sequence")


class _Slot:
    """One block while it grows. `held`: its start, while the input that came with it may yet be replaced; `silent`: a
    call of whose input no byte came so far; `pieces`: those of a custom tool, whose text is unwrapped at the end;
    `payload`: of a block that nobody modelled, once it grew.
    """

    payload: Bag | None = None

    def __init__(self, index: int, block: Content) -> None:
        self.index = index
        self.block = block
        self.held = False
        self.silent = isinstance(block, ToolCall | HostedCall)
        self.pieces: list[str] | None = None
        self.open = True


class MessagesStreamDecoder(SseDecoder):
    """Events of one message; Finish comes at message_stop, and nothing else ends the stream well (evidence A12)."""

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._dialect = dialect
        self._exchange = exchange
        self._started = False
        self._slots: dict[Any, _Slot] = {}
        self._blocks = 0
        self._calls = False
        self._usage: Bag = {}
        self._said: Bag | None = None
        self._ending: Bag = {}
        self._beside: dict[str, list[str]] = {}
        self._stopped = False

    def take_marker(self, text: str) -> bool:
        return text == DONE

    def take(self, name: str | None, value: Mapping[str, Any]) -> None:
        failed = error_in(value)
        if failed is not None:
            self.fail(failed)
            return
        kind = value.get("type") or name
        if kind == "ping":
            self.out.append(KeepAlive())
        elif kind == "message_start":
            message = value.get("message")
            if not isinstance(message, dict):
                self.unread(("message",), message)
                message = {}
            self._begin(message)
        elif kind == "content_block_start":
            self._open(value)
        elif kind == "content_block_delta":
            self._delta(value)
        elif kind == "content_block_stop":
            self._close(self._slots.get(_key(value)))
        elif kind == "message_delta":
            self._end(value)
        elif kind == "message_stop":
            self._keep_beside(kind, value, ())
            self._stopped = True
            self.end()
        else:
            self.out.append(Raw(wire=WIRE, name=str(kind), payload=dict(value)))

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        delta: Any = value.get("delta")
        kind = delta.get("type") if isinstance(delta, dict) else None
        return ("delta", GROWTH[kind][0]) if kind in GROWTH else None

    def usage(self) -> Usage | None:
        return decode_usage(self._usage, self._dialect) if self._usage else None

    def whole(self, body: bytes) -> Iterable[StreamEvent]:
        decoded = decode_reply(body, self._dialect, self._exchange)
        self._notes.taken += decoded.notes
        return explode(decoded.value)  # type: ignore[return-value]

    def finish(self) -> Finish | None:
        self._begin_unsaid()
        for slot in self._slots.values():
            self._close(slot)
        if not self._stopped:
            return None
        fields = Fields(self._ending)
        stop = take_stop(fields, has_calls=self._calls)
        if self._beside:
            fields.marks |= self._beside
        usage = None
        if self._said is not None:
            usage = decode_usage(self._usage, self._dialect, self._said, self._notes)
        return Finish(stop=stop, usage=usage, opaque=fields.opaque(WIRE))

    def _begin(self, message: Mapping[str, Any]) -> None:
        if self._started:
            if self._slots and message:  # what came so far is void, and part of it has been acted on
                self.fail(RemoteError("incomplete", "a second message began inside the first: the server started over"))
            return
        self._started = True
        fields = Fields(message)
        content = fields.left.pop("content", None)
        take_constants(fields)
        fields.marks.clear()
        for key in IN_START:
            said = fields.left.pop(key, None)
            if said is not None:
                self._ending[key] = said
        usage = fields.take("usage", dict)
        self._usage = dict(usage or {})
        model = fields.take("model", str)
        origin = Origin(wire=WIRE, provider=self._exchange.provider, model=self._exchange.model or model)
        start = Start(
            id=fields.take("id", str),
            model=model or self._exchange.model,
            usage=None if usage is None else decode_usage(usage, self._dialect),
            origin=origin,
            opaque=fields.opaque(WIRE),
        )
        self.out.append(start)
        if not isinstance(content, list):
            self.unread(("message", "content"), content)
            content = []
        for at, block in enumerate(content):
            self._place(("start", at), decode_block(block, ("content", at), self._notes))
            self._close(self._slots["start", at])

    def _begin_unsaid(self) -> None:
        self._begin({})

    def _open(self, value: Mapping[str, Any]) -> None:
        block = value.get("content_block")
        if not isinstance(block, dict):
            refuse(f"expected a content_block (an object), got {jsonio.kind(block)}")
        self._close(self._slots.get(_key(value)))
        self._place(_key(value), decode_block(block, ("content", self._blocks), self._notes))

    def _place(self, key: Any, block: Content) -> None:
        """A block opens; the start of a call waits for its first piece if its input came already."""
        self._begin_unsaid()
        slot = self._slots[key] = _Slot(self._blocks, block)
        self._blocks += 1
        if isinstance(block, ToolCall | HostedCall):
            self._calls = self._calls or isinstance(block, ToolCall)
            if isinstance(block, ToolCall) and block.name in self._exchange.custom:
                slot.pieces = []
            if block.arguments in ("{}", None):
                slot.block = msgspec.structs.replace(block, arguments="")
            else:
                slot.held = True
                return
        self._announce(slot)

    def _announce(self, slot: _Slot) -> None:
        self.out.append(BlockStart(index=slot.index, block=for_caller(slot.block, self._exchange)))

    def _delta(self, value: Mapping[str, Any]) -> None:
        delta: Any = value.get("delta")
        if not isinstance(delta, dict):
            refuse(f"expected a delta (an object), got {jsonio.kind(delta)}")
        key, kind = _key(value), str(delta.get("type"))
        slot = self._slots.get(key)
        if slot is None or not slot.open:
            if kind not in UNSTARTED:
                self.out.append(Raw(wire=WIRE, name="content_block_delta", payload=dict(value)))
                return
            place = ("content", self._blocks)
            self._place(key, decode_block(UNSTARTED[kind], place, self._notes))
            slot = self._slots[key]
        if kind == "signature_delta" and isinstance(delta.get("signature"), str):
            self.out.append(Patch(index=slot.index, opaque={WIRE: {"signature": delta["signature"]}}))
        elif kind == "citations_delta" and delta.get("citation") is not None:
            self.out.append(Patch(index=slot.index, citation=delta["citation"]))
        elif kind in GROWTH and not isinstance(slot.block, Foreign):
            self._grow(slot, kind, delta)
        else:
            self._grow_foreign(slot, value, delta)

    def _grow(self, slot: _Slot, kind: str, delta: Mapping[str, Any]) -> None:
        key, field = GROWTH[kind]
        text = delta.get(key)
        if not isinstance(text, str):
            self.unread(("message", "content", slot.index, field), text)
            return
        slot.silent = slot.silent and not text
        if slot.held and text:  # the pieces say the input anew
            slot.held = False
            slot.block = msgspec.structs.replace(slot.block, arguments="")
            self._announce(slot)
        if slot.pieces is not None:
            slot.pieces.append(text)
        elif not slot.held:
            left = {name: item for name, item in delta.items() if name not in ("type", key, MARKS)}
            opaque = {WIRE: left} if left else None
            field_name: Any = field
            self.out.append(Delta(index=slot.index, field=field_name, text=text, opaque=opaque))

    def _grow_foreign(self, slot: _Slot, value: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
        """A delta that only this wire knows: passed on as it is; a Foreign block takes its keys in."""
        if isinstance(slot.block, Foreign):
            if slot.payload is None:
                slot.payload = dict(slot.block.payload)
            slot.payload |= {key: item for key, item in delta.items() if key != "type"}
        self.out.append(Raw(wire=WIRE, name="content_block_delta", payload=dict(value), index=slot.index))

    def _close(self, slot: _Slot | None) -> None:
        if slot is None or not slot.open:
            return
        slot.open = False
        if slot.held:
            self._announce_whole(slot)
        elif slot.pieces is not None:
            text = custom_text("".join(slot.pieces))
            self.out.append(Delta(index=slot.index, field="arguments", text=text))
        elif slot.silent:
            self.out.append(Delta(index=slot.index, field="arguments", text="{}", opaque={WIRE: {MARKS: UNSAID}}))
        final = slot.block if isinstance(slot.block, Foreign) else None
        if final is not None and slot.payload is not None:
            final = msgspec.structs.replace(final, payload=slot.payload)
        self.out.append(BlockEnd(index=slot.index, block=final))

    def _announce_whole(self, slot: _Slot) -> None:
        """A call whose input came with its start and was never said again."""
        block = slot.block
        spelled = {**bag(block.opaque, WIRE), MARKS: {**marks(block.opaque, WIRE), "input": "start"}}
        block = msgspec.structs.replace(block, opaque={WIRE: spelled})
        self.out.append(BlockStart(index=slot.index, block=for_caller(block, self._exchange)))

    def _end(self, value: Mapping[str, Any]) -> None:
        """Stop and usage; said more than once, the later figure wins and a null takes nothing back."""
        delta, usage = value.get("delta"), value.get("usage")
        if isinstance(delta, dict):
            absorb(self._ending, delta)
        else:
            self.unread(("stop",), delta)
        if isinstance(usage, dict):
            self._said = self._said or {}
            self._said |= usage
            absorb(self._usage, usage)
        else:
            self.unread(("usage",), usage)
        self._keep_beside("message_delta", value, ("delta", "usage"))

    def _keep_beside(self, event: str, value: Mapping[str, Any], known: tuple[str, ...]) -> None:
        left = {key: item for key, item in value.items() if key not in ("type", MARKS, *known)}
        if left:
            self._ending |= left
            self._beside[event] = list(left)


def _key(value: Mapping[str, Any]) -> str:
    """What names the block of an event: its index, whatever it is."""
    return str(value.get("index"))
