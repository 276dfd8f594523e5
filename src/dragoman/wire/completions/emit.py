"""Events to a stream of a text completion."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.collect import MESSAGE_BAG
from dragoman.types.content import Refusal, Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Patch, Start
from dragoman.types.opaque import Bag, bag, nested
from dragoman.types.reply import Usage
from dragoman.wire.base import Exchange, own
from dragoman.wire.chat.chunks import ChunkEncoder
from dragoman.wire.completions.parts import WIRE, block_text
from dragoman.wire.completions.reply import ID, KIND
from dragoman.wire.completions.stops import encode_stop
from dragoman.wire.completions.usage import encode_usage
from dragoman.wire.stencil import Stencil


class CompletionStreamEncoder(ChunkEncoder):
    """Writes chunks a strict client accepts: one id and time throughout, text alone, one finish, usage when asked for,
    [DONE] (CMP-003)."""

    wire, kind, id = WIRE, KIND, ID

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._stencil: Stencil | None = None
        self._texts: set[int] = set()
        self._said: set[int] = set()

    def start(self, event: Start) -> bytes:
        self.begin(event)
        self._stencil = None
        return b""

    def block_start(self, event: BlockStart) -> bytes:
        text = block_text(event.block, self._notes, ("message", "content", event.index))
        if text is None:
            return b""
        out = self._chunk("\n") if self._texts else b""
        self._texts.add(event.index)
        return out + self._say(event.index, text)

    def delta(self, event: Delta) -> bytes:
        return self._say(event.index, event.text, event.opaque and bag(event.opaque, WIRE))

    def block_end(self, event: BlockEnd) -> bytes:
        """A final text that no piece said."""
        if isinstance(event.block, Text | Refusal) and event.index not in self._said:
            return self._say(event.index, event.block.text)
        return b""

    def patch(self, event: Patch) -> bytes:
        path = ("message", "content", event.index)
        if event.citation is not None:
            self._notes.add((*path, "citations"), "dropped", "a text completion has no citations")
        self._notes.leftovers(event.opaque, WIRE, path)
        return b""

    def finish(self, event: Finish) -> bytes:
        self._notes.leftovers(event.opaque, WIRE, ())
        word = encode_stop(event.stop, self._message, self._notes, ("stop",))
        left = {**nested(self._first, MESSAGE_BAG), **nested(bag(event.opaque, WIRE), MESSAGE_BAG)}
        left = {key: value for key, value in left.items() if not key.startswith("~")}
        out = self._chunk("", {**left, "finish_reason": word or "stop"}, own(event.opaque, WIRE))
        return out + self.tail()

    def counted(self, usage: Usage) -> Bag:
        return encode_usage(usage, self._dialect, self._notes)

    def _say(self, index: int, text: str, left: Bag | None = None) -> bytes:
        if not text or index not in self._texts:
            return b""
        self._said.add(index)
        if left:
            return self._chunk(text, left)
        if self._stencil is None:
            self._stencil = Stencil(lambda text, _: self._chunk(text))
        return self._stencil.fill(text)

    def _chunk(self, text: str, choice: Bag | None = None, envelope: Bag | None = None) -> bytes:
        entry = {"text": text, "index": 0, "logprobs": None, "finish_reason": None, **(choice or {})}
        first = {key: value for key, value in self._first.items() if not key.startswith("~")}
        return self.chunk(entry, {**first, **(envelope or {})})
