"""Events to a stream of this wire."""

from __future__ import annotations

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.collect import MESSAGE_BAG
from dragoman.types.content import Content, Media, Reasoning, Refusal, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Patch, Start
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, bag, nested
from dragoman.types.reply import Reply, Stop
from dragoman.wire import jsonio, ndjson
from dragoman.wire.base import Exchange, own
from dragoman.wire.emitting import EventEncoder
from dragoman.wire.ollama.calls import encode_call
from dragoman.wire.ollama.errors import encode_error
from dragoman.wire.ollama.history import block_text, image_data
from dragoman.wire.ollama.reply import put_time, write_usage
from dragoman.wire.ollama.stops import WIRE, encode_stop

ASSISTANT: Bag = {"role": "assistant", "content": ""}


class OllamaStreamEncoder(EventEncoder):
    """Writes lines a strict client accepts: model and time in each, a call whole when its arguments are, one last line
    that is `done` with its reason and counts."""

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._head: Bag = {}
        self._first: Bag = {}
        self._blocks: dict[int, Content] = {}
        self._pieces: dict[int, list[str]] = {}
        self._said: set[int] = set()
        self._last: dict[str, int] = {}  # by key: the block that spoke last
        self._message = Message(role="assistant", content=())

    def start(self, event: Start) -> bytes:
        """Nothing yet: model and time stand in every line."""
        self._notes.leftovers(event.opaque, WIRE, ())
        self._message = Message(role="assistant", content=(), origin=event.origin)
        self._first = own(event.opaque, WIRE)
        self._head = {"model": event.model or self._exchange.model or ""}
        said = Reply(message=self._message, stop=Stop(reason="end"), created=event.created, opaque=event.opaque)
        put_time(self._head, said, self._exchange.now, self._notes)
        if event.id is not None:
            self._notes.add(("id",), "dropped", "a reply of this wire has no id")
        return b""

    def block_start(self, event: BlockStart) -> bytes:
        block, path = event.block, ("message", "content", event.index)
        self._blocks[event.index] = block
        self._pieces[event.index] = []
        match block:
            case ToolCall() | Media():
                return b""  # whole, at its end
            case Reasoning():
                return self._say(event.index, "thinking", "\n".join((*(block.summary or ()), block.text or "")))
            case _:
                text = block_text(block, self._notes, path)
                return b"" if text is None else self._say(event.index, "content", text)

    def delta(self, event: Delta) -> bytes:
        match self._blocks.get(event.index):
            case ToolCall():
                self._pieces[event.index].append(event.text)
            case Reasoning():
                begins = event.field == "summary" and event.part and not self._part_begun(event)
                return self._say(event.index, "thinking", f"\n{event.text}" if begins else event.text)
            case Text() | Refusal():
                return self._say(event.index, "content", event.text)
            case _:
                pass
        return b""

    def _part_begun(self, event: Delta) -> bool:
        part = f"{event.index}.{event.part}"
        begun = part in self._pieces[event.index]
        self._pieces[event.index].append(part)
        return begun

    def _say(self, index: int, key: str, text: str) -> bytes:
        """A piece; a block that goes on from another of its kind begins on a line of its own."""
        if not text:
            return b""
        if self._last.setdefault(key, index) != index:
            text = f"\n{text}"
        self._last[key] = index
        self._said.add(index)
        return self._line({**ASSISTANT, key: text})

    def block_end(self, event: BlockEnd) -> bytes:
        """The end of a block: a call or an image whole, and what only the final value says."""
        begun, final, path = self._blocks.get(event.index), event.block, ("message", "content", event.index)
        match final or begun:
            case ToolCall() as call if isinstance(begun, ToolCall):
                if final is None:
                    pieces = "".join(self._pieces[event.index])
                    call = msgspec.structs.replace(call, arguments=begun.arguments + pieces)
                self._message = msgspec.structs.replace(self._message, content=(*self._message.content, call))
                return self._line({**ASSISTANT, "tool_calls": [encode_call(call, self._notes, path)]})
            case Media() as media if isinstance(begun, Media):
                self._notes.leftovers(media.opaque, WIRE, path)
                data = image_data(media, self._notes, path)
                return b"" if data is None else self._line({**ASSISTANT, "images": [data]})
            case Reasoning() as thought if isinstance(begun, Reasoning):
                return self._thought(thought, event.index)
            case Text() | Refusal() as text if isinstance(begun, Text | Refusal):
                said = block_text(text, self._notes, path) or ""
                return b"" if event.index in self._said else self._say(event.index, "content", said)
            case _:
                return b""

    def _thought(self, block: Reasoning, index: int) -> bytes:
        path = ("message", "content", index)
        self._notes.leftovers(block.opaque, WIRE, path)
        if index in self._said:
            if block.redacted:
                self._notes.add((*path, "redacted"), "dropped", "thinking is one text here")
            return b""
        text = block.text or "\n".join(block.summary or ())
        if not text:
            self._notes.add(path, "dropped", "reasoning without a readable word has no place on this wire")
        return self._say(index, "thinking", text)

    def patch(self, event: Patch) -> bytes:
        path = ("message", "content", event.index)
        if event.citation is not None:
            self._notes.add((*path, "citations"), "dropped", "this wire has no citations")
        self._notes.leftovers(event.opaque, WIRE, path)
        return b""

    def finish(self, event: Finish) -> bytes:
        self._notes.leftovers(event.opaque, WIRE, ())
        left = {**self._first, **own(event.opaque, WIRE)}
        said = nested(bag(event.opaque, WIRE), MESSAGE_BAG)
        word = encode_stop(event.stop, self._message, self._notes, ("stop",))
        usage = {} if self._usage is None else write_usage(self._usage, self._notes)
        message = {**ASSISTANT, **{key: value for key, value in said.items() if not key.startswith("~")}}
        last = {**left, **self._head, "message": message, "done_reason": word or "stop", "done": True, **usage}
        return self.written(last)

    def failure(self, event: Failure) -> bytes:
        _, _, body = encode_error(ApiError(event.code, event.message), self._dialect)
        return ndjson.write(body)

    def alive(self) -> bytes:
        """Silence: a blank line is no JSON."""
        return b""

    def _line(self, message: Bag) -> bytes:
        return self.written({**self._head, "message": message, "done": False})

    def written(self, line: Bag) -> bytes:
        """One line as bytes."""
        return ndjson.write(jsonio.encode(line))
