"""A stream of this wire, one JSON object a line, to events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.collect import MESSAGE_BAG
from dragoman.types.content import Media, Reasoning, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Start, UsageUpdate
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.types.reply import Stop, Usage
from dragoman.wire.base import Exchange, Fields
from dragoman.wire.media import guess_type
from dragoman.wire.ndjson import LineReader
from dragoman.wire.ollama.calls import decode_call
from dragoman.wire.ollama.errors import error_in
from dragoman.wire.ollama.reply import ids_of, take_time, take_usage
from dragoman.wire.ollama.stops import WIRE, decode_stop
from dragoman.wire.streaming import SseDecoder


class OllamaStreamDecoder(SseDecoder):
    """Pieces of thinking and text, whole calls, and a last line that is `done`. A reply that came whole is such a line."""

    free = ("created_at",)

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._reader: Any = LineReader()
        self._begun = True  # an object at the beginning is the first line, not another kind of body
        self._exchange = exchange
        self._started = False
        self._message: Bag = {}
        self._last: Bag | None = None
        self._stop = Stop(reason="other")
        self._usage: Usage | None = None
        self._blocks = 0
        self._calls = 0
        self._open: str | None = None

    def take(self, name: str | None, value: Mapping[str, Any]) -> None:
        failed = error_in(value)
        if failed is not None:
            self.fail(failed)
            return
        fields = Fields(value)
        model, created = fields.take("model", str), take_time(fields)
        usage = take_usage(fields)
        said = fields.left.pop("message", None)
        if not self._started:
            self._started = True
            origin = Origin(wire=WIRE, provider=self._exchange.provider, model=self._exchange.model or model)
            opaque = {WIRE: {"~": fields.marks}} if fields.marks else None
            self.out.append(Start(model=model or self._exchange.model, created=created, origin=origin, opaque=opaque))
        if isinstance(said, dict):
            self._take_message(Fields(said))
        if usage is not None:
            self._usage = usage
            self.out.append(UsageUpdate(usage=usage))
        if fields.left.get("done") is True:
            self._stop = decode_stop(fields.take("done_reason", str), self._calls > 0)
            self._last = fields.left
            self.end()

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        """Words and thoughts; calls come whole."""
        message = value.get("message")
        if not isinstance(message, dict):
            return None
        said = [key for key, item in message.items() if key != "role" and item]
        grows = len(said) == 1 and said[0] in ("content", "thinking") and not value.get("done")
        return ("message", said[0]) if grows and isinstance(message[said[0]], str) else None

    def usage(self) -> Usage | None:
        return self._usage

    def finish(self) -> Finish | None:
        if not self._started:
            self._started = True
            self.out.append(Start(model=self._exchange.model, origin=Origin(wire=WIRE, model=self._exchange.model)))
        self._close_open()
        if self._last is None:
            return None
        left = self._last
        if self._message:
            left[MESSAGE_BAG] = self._message
        return Finish(stop=self._stop, usage=self._usage, opaque={WIRE: left})

    def _take_message(self, fields: Fields) -> None:
        fields.left.pop("role", None)
        thought, text = fields.take("thinking", str), fields.take("content", str)
        if thought:
            self._say("thinking", thought)
        if text:
            self._say("text", text)
        images = (fields.strings("images") or ()) if fields.left.get("images") else ()
        for data in images:
            self._image(Media(kind="image", media_type=guess_type(data), data=data))
        calls = fields.left.get("tool_calls")
        if isinstance(calls, list):
            del fields.left["tool_calls"]
            for call in calls:
                made = f"{ids_of(self._exchange)}{self._calls}"
                self._call(decode_call(call, made, ("message", "tool_calls", self._calls), self._notes))
        self._message |= {key: value for key, value in fields.left.items() if value not in (None, "", [])}

    def _say(self, kind: str, text: str) -> None:
        if self._open != kind:
            self._close_open()
            self._open = kind
            block = Reasoning(text="") if kind == "thinking" else Text(text="")
            self.out.append(BlockStart(index=self._blocks, block=block))
        self.out.append(Delta(index=self._blocks, text=text))

    def _call(self, call: ToolCall) -> None:
        self._close_open()
        self._calls += 1
        begun = msgspec.structs.replace(call, arguments="")
        self.out.append(BlockStart(index=self._blocks, block=begun))
        if call.arguments:
            self.out.append(Delta(index=self._blocks, field="arguments", text=call.arguments))
        self.out.append(BlockEnd(index=self._blocks))
        self._blocks += 1

    def _image(self, block: Media) -> None:
        self._close_open()
        self.out += [BlockStart(index=self._blocks, block=block), BlockEnd(index=self._blocks)]
        self._blocks += 1

    def _close_open(self) -> None:
        if self._open is not None:
            self.out.append(BlockEnd(index=self._blocks))
            self._open = None
            self._blocks += 1
