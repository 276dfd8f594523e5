"""Events to a stream of a text completion."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.collect import MESSAGE_BAG, merge_usage
from dragoman.types.content import Refusal, Text
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
from dragoman.types.opaque import Bag, bag
from dragoman.types.reply import Usage
from dragoman.wire import jsonio, sse
from dragoman.wire.base import Exchange, Notes, own
from dragoman.wire.chat.reply import whole
from dragoman.wire.completions.errors import encode_error
from dragoman.wire.completions.parts import WIRE, block_text
from dragoman.wire.completions.reply import ID, KIND
from dragoman.wire.completions.stops import encode_stop
from dragoman.wire.completions.usage import encode_usage
from dragoman.wire.ids import made_id
from dragoman.wire.stencil import Stencil


class CompletionStreamEncoder:
    """Writes chunks a strict client accepts: one id and time throughout, text alone, one finish, usage when asked for,
    [DONE] (CMP-003)."""

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        self._dialect = dialect
        self._exchange = exchange
        self._notes = Notes()
        self._head: Bag = {}
        self._first: Bag = {}
        self._stencil: Stencil | None = None
        self._texts: set[int] = set()
        self._said: set[int] = set()
        self._message = Message(role="assistant", content=())
        self._usage: Usage | None = None
        self._ended = False

    @property
    def notes(self) -> list[Any]:
        """What the stream so far could not say."""
        return self._notes.taken

    def encode(self, event: StreamEvent) -> bytes:
        """The chunks of one event; empty when it adds nothing here."""
        if self._ended:
            return b""
        match event:
            case Delta():
                return self._say(event.index, event.text, bag(event.opaque, WIRE))
            case Start():
                return self._start(event)
            case BlockStart():
                return self._block(event)
            case BlockEnd(block=Text() | Refusal() as block) if event.index not in self._said:
                return self._say(event.index, block.text)
            case Patch():
                self._patch(event)
            case UsageUpdate():
                self._usage = merge_usage(self._usage, event.usage)
            case Finish():
                return self._finish(event)
            case Failure():
                self._ended = True
                _, _, body = encode_error(ApiError(event.code, event.message), self._dialect)
                return sse.write(body)
            case Raw():
                return self._raw(event)
            case KeepAlive():
                return sse.COMMENT
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """The end of the events; a stream that was cut stays cut."""
        self._ended = True
        return b""

    def _start(self, event: Start) -> bytes:
        self._notes.leftovers(event.opaque, WIRE, ())
        self._message = Message(role="assistant", content=(), origin=event.origin)
        self._first = own(event.opaque, WIRE)
        created = event.created if event.created is not None else self._exchange.now
        self._head = {
            "id": event.id or made_id(ID, self._exchange.seed),
            "object": KIND,
            "created": whole(created),
            "model": event.model or self._exchange.model or "",
        }
        self._stencil = None
        self._usage = merge_usage(self._usage, event.usage)
        return b""

    def _block(self, event: BlockStart) -> bytes:
        text = block_text(event.block, self._notes, ("message", "content", event.index))
        if text is None:
            return b""
        out = self._chunk("\n") if self._texts else b""
        self._texts.add(event.index)
        return out + self._say(event.index, text)

    def _say(self, index: int, text: str, left: Bag | None = None) -> bytes:
        if not text or index not in self._texts:
            return b""
        self._said.add(index)
        if left:
            return self._chunk(text, left)
        if self._stencil is None:
            self._stencil = Stencil(lambda text, _: self._chunk(text))
        return self._stencil.fill(text)

    def _patch(self, event: Patch) -> None:
        path = ("message", "content", event.index)
        if event.citation is not None:
            self._notes.add((*path, "citations"), "dropped", "a text completion has no citations")
        self._notes.leftovers(event.opaque, WIRE, path)

    def _finish(self, event: Finish) -> bytes:
        self._ended = True
        self._usage = merge_usage(self._usage, event.usage)
        self._notes.leftovers(event.opaque, WIRE, ())
        word = encode_stop(event.stop, self._message, self._notes, ("stop",))
        left = {**self._first.get(MESSAGE_BAG, {}), **bag(event.opaque, WIRE).get(MESSAGE_BAG, {})}
        left = {key: value for key, value in left.items() if not key.startswith("~")}
        out = self._chunk("", {**left, "finish_reason": word or "stop"}, own(event.opaque, WIRE))
        if self._usage is not None and (self._exchange.include_usage or self._dialect.usage_in_stream == "always"):
            usage = encode_usage(self._usage, self._dialect, self._notes)
            out += sse.write(jsonio.encode({**self._head, "choices": [], "usage": usage}))
        elif self._usage is not None:
            self._notes.add(("usage",), "dropped", "this client did not ask for usage in the stream", loss=False)
        return out + (sse.write(b"[DONE]") if self._dialect.done_marker else b"")

    def _raw(self, event: Raw) -> bytes:
        if event.wire == WIRE and event.name == "choice":
            return sse.write(jsonio.encode({**self._head, "choices": [event.payload]}))
        self._notes.add(("events",), "dropped", f"event {event.name!r} of the {event.wire} wire has no place here")
        return b""

    def _chunk(self, text: str, choice: Bag | None = None, envelope: Bag | None = None) -> bytes:
        entry = {"text": text, "index": 0, "logprobs": None, "finish_reason": None, **(choice or {})}
        first = {key: value for key, value in self._first.items() if not key.startswith("~")}
        return sse.write(jsonio.encode({**first, **(envelope or {}), **self._head, "choices": [entry]}))
