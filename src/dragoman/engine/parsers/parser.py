"""From the text of a local model to events: what its format makes of it, as blocks in order."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from dragoman.engine.parsers.formats import Format
from dragoman.engine.parsers.json_forms import bare
from dragoman.engine.parsers.scan import Call, Cut, Out, Reading, Said, Scan, Thought
from dragoman.types.content import Reasoning, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, StreamEvent
from dragoman.types.tool import Tool
from dragoman.wire.ids import made_id
from dragoman.wire.tags import ThinkTags

CUSTOM_KEY = "input"  # the one property that a custom tool has in a prompt
BASE62 = string.digits + string.ascii_letters


class Parser:
    """`feed` the text as it comes and take the events; `close` gives the last of them.

    Reasoning in tags comes first, then the format reads the rest. `inside`: the prompt ended within reasoning. `offered`
    are the tools by the name that the model knows them by: values are read by their schemas. `seed` and `first` (how many calls the conversation has had)
    make the ids: unique, and never the model's own words (S1-61). After `close`, `cuts` are the calls that did not come to
    their end, in their order, and `called` says whether there is a whole one.
    """

    def __init__(
        self, format: Format, offered: Mapping[str, Tool], *, seed: str, first: int = 0, inside: bool = False
    ) -> None:
        self.cuts: list[Cut] = []
        self.called = False
        self._offered = offered
        self._ids = format.ids
        self._seed, self._number = seed, first
        self._tags = None if format.think is None else ThinkTags(inside=inside, tags=format.think)
        self._scan = Scan()
        self._reading = _whole(format, self._scan, offered)
        self._ended = False
        self._open: Text | Reasoning | None = None
        self._index = -1
        self._space = ""  # white space that no word has followed yet: between calls it is nobody's
        self._lines = ""  # line breaks behind words: before a call they are the format's own

    def feed(self, text: str) -> Iterator[StreamEvent]:
        """The events of some more text."""
        if self._tags is None:
            yield from self._read(text)
            return
        for part in self._tags.feed(text):
            yield from self._told([Thought(part.text)]) if part.kind == "reasoning" else self._read(part.text)

    def close(self) -> Iterator[StreamEvent]:
        """The events of what was held back; the text has come to its end."""
        for part in () if self._tags is None else self._tags.close():
            yield from self._told([Thought(part.text)]) if part.kind == "reasoning" else self._read(part.text)
        self._scan.done = True
        yield from self._read("")
        yield from self._end()

    def _read(self, text: str) -> Iterator[StreamEvent]:
        self._scan.add(text)
        while not self._ended:
            try:
                out = next(self._reading)
            except StopIteration:
                self._ended = True
                return
            if out is None:
                return
            yield from self._told([out])

    def _told(self, outs: Iterable[Out]) -> Iterator[StreamEvent]:
        for out in outs:
            match out:
                case Said(text=text):
                    yield from self._text(text)
                case Thought(text=text):
                    yield from self._piece(Reasoning(text=""), text)
                case Call():
                    yield from self._call(out)
                case Cut():
                    self.cuts.append(out)

    def _text(self, text: str) -> Iterator[StreamEvent]:
        if not isinstance(self._open, Text):
            text = self._space + text
            self._space = ""
            if not text.strip():
                self._space = text
                return
            if self._index >= 0 and not self.called:  # behind reasoning: the line breaks between are the template's
                text = text.lstrip("\n")
        text, self._lines = self._lines + text, ""
        said = text.rstrip("\n")
        yield from self._piece(Text(text=""), said)
        self._lines = text[len(said) :]

    def _piece(self, block: Text | Reasoning, text: str) -> Iterator[StreamEvent]:
        if not text:
            return
        if type(self._open) is not type(block):
            yield from self._end()
            self._index += 1
            self._open = block
            yield BlockStart(index=self._index, block=block)
        yield Delta(index=self._index, text=text)

    def _call(self, call: Call) -> Iterator[StreamEvent]:
        yield from self._end(by_call=True)
        self._index += 1
        block = self._block(call)
        self.called = True
        yield BlockStart(index=self._index, block=msgspec.structs.replace(block, arguments=""))
        yield Delta(index=self._index, field="arguments", text=block.arguments)
        yield BlockEnd(index=self._index, block=block)

    def _block(self, call: Call) -> ToolCall:
        tool = self._offered.get(call.name)
        block = ToolCall(id=self._next_id(call.name), name=call.name, arguments=call.arguments)
        if tool is None:
            return block
        if tool.kind == "custom":
            text = msgspec.json.decode(call.arguments).get(CUSTOM_KEY, call.arguments)
            block = msgspec.structs.replace(block, kind="custom", arguments=str(text))
        return msgspec.structs.replace(block, name=tool.name, namespace=tool.namespace)

    def _end(self, *, by_call: bool = False) -> Iterator[StreamEvent]:
        self._space = ""
        lines, self._lines = self._lines, ""
        if lines and not by_call:
            yield from self._piece(Text(text=""), lines)
        if self._open is not None:
            self._open = None
            yield BlockEnd(index=self._index)

    def _next_id(self, name: str) -> str:
        number, self._number = self._number, self._number + 1
        if self._ids == "named":
            return f"functions.{name}:{number}"
        if self._ids == "short":
            said = hashlib.sha256(f"{self._seed}|{number}".encode()).digest()
            return "".join(BASE62[byte % 62] for byte in said[:9])
        return made_id("call_", self._seed, number)


def _whole(format: Format, scan: Scan, offered: Mapping[str, Tool]) -> Reading:
    if offered:
        yield from bare(scan, offered)
    yield from format.form(scan, offered)
