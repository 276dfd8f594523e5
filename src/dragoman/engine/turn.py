"""One turn of a model that goes on with a prompt: what it is asked, and what is made of the text it says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from dragoman.engine import fallback
from dragoman.engine.backend import Asked, Piece
from dragoman.engine.constrain import read_call
from dragoman.engine.parsers.formats import Format
from dragoman.engine.parsers.parser import Parser
from dragoman.engine.parsers.scan import Cut
from dragoman.types.base import Value
from dragoman.types.content import Invalid, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, StreamEvent
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Stop, StopReason, Usage
from dragoman.types.tool import Tool
from dragoman.wire.completions.stops import decode_stop
from dragoman.wire.ids import made_id

UNENDED = "the call did not come to its end"
CALL_CUT = "the call was cut off: allow more output tokens"
NO_CALL = "the model did not keep to the form of a call"


class Turn(Value, frozen=True, kw_only=True):
    """`asked` is what the back end gets; the rest says how its text is read. A plain value: what it reads with it, it
    reads the same way again.

    `kind`: what the model says of itself, one call that must be, or the sentence that a model without tools makes of their
    results. `offered` are the tools by the names that the model knows them by. `inside`: the prompt ended within
    reasoning. `single`: one call is the most. `seed` and `first` make the ids of calls. `limited`: nobody said how long the answer may be. `notes` tell
    what the model was not told.
    """

    kind: Literal["answer", "call", "conclusion"]
    asked: Asked
    format: str
    offered: Mapping[str, Tool] = {}
    inside: bool = False
    single: bool = False
    seed: str = ""
    first: int = 0
    limited: bool = False
    notes: tuple[Note, ...] = ()


class Reader:
    """`feed` the pieces as they come and take the events; `close` gives the last of them, the Finish too.

    `enough`: what more would come is of no use.
    """

    def __init__(self, turn: Turn) -> None:
        self.enough = False
        self._turn = turn
        self._raw: str | None = None
        self._stop: StopReason = "end"
        self._usage: Usage | None = None

    def feed(self, piece: Piece) -> Iterator[StreamEvent]:
        """The events of one more piece."""
        self._usage = piece.usage or self._usage
        if piece.stop is not None:
            self._raw, reason = piece.stop, decode_stop(piece.stop).reason
            self._stop = "end" if reason == "other" else reason
        if piece.text:
            yield from self._text(piece.text)

    def close(self) -> Iterator[StreamEvent]:
        """The events of what was held back; the text has come to its end."""
        raise NotImplementedError

    def broken(self, failure: Failure) -> Iterator[StreamEvent]:
        """The same where the text broke off, with `failure` as the last: nothing of what was held back is a call then, and
        none of it is lost."""
        *events, last = self.close()
        ends = [event for event in events if isinstance(event, BlockEnd)]
        calls = {end.index: end.block for end in ends if isinstance(end.block, ToolCall)}
        for event in events:
            if not isinstance(event, BlockStart | Delta | BlockEnd) or event.index not in calls:
                yield event
        held = [{"name": call.name, "arguments": call.arguments, "why": UNENDED} for call in calls.values()]
        cuts = (last.opaque or {}).get("local", {}).get("incomplete_calls", [])
        kept = {"local": {"incomplete_calls": [*cuts, *held]}} if cuts or held else {}
        yield msgspec.structs.replace(failure, opaque={**(failure.opaque or {}), **kept} or None)

    def _text(self, text: str) -> Iterator[StreamEvent]:
        raise NotImplementedError

    def _finish(self, stop: Stop, cuts: list[Cut] | None = None) -> Finish:
        """The end; calls that were cut off are never executed, and not forgotten either."""
        if stop.reason == "length" and stop.detail is None and self._turn.limited:
            said = f"nobody said max_output: {self._turn.asked.max_output} tokens"
            stop = msgspec.structs.replace(stop, detail=said)
        kept = {"local": {"incomplete_calls": [_kept(cut) for cut in cuts]}} if cuts else None
        return Finish(stop=stop, usage=self._usage, opaque=kept)


class Answering(Reader):
    """Reasoning, text and calls, as the model's format has them; where one call is the most, nothing behind it."""

    def __init__(self, turn: Turn, format: Format) -> None:
        super().__init__(turn)
        self._parser = Parser(format, turn.offered, seed=turn.seed, first=turn.first, inside=turn.inside)

    def close(self) -> Iterator[StreamEvent]:
        """See Reader."""
        if not self.enough:
            yield from self._until_enough(self._parser.close())
        yield self._finish(self._ended(), self._parser.cuts)

    def _text(self, text: str) -> Iterator[StreamEvent]:
        if not self.enough:
            yield from self._until_enough(self._parser.feed(text))

    def _until_enough(self, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
        for event in events:
            yield event
            if self._turn.single and isinstance(event, BlockEnd) and isinstance(event.block, ToolCall):
                self.enough = True
                return

    def _ended(self) -> Stop:
        cuts = self._parser.cuts
        said = f"incomplete tool call {', '.join(cut.name for cut in cuts)}".rstrip() if cuts else None
        if self._parser.called:
            return Stop(reason="tool_calls", raw=self._raw, detail=said)
        if not cuts:
            return Stop(reason=self._stop, raw=self._raw)
        return Stop(reason=self._stop if self._stop == "length" else "malformed", raw=self._raw, detail=said)


class Calling(Reader):
    """One call, whole: it is short, and half a call is of no use to anyone."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn)
        self._said: list[str] = []

    def close(self) -> Iterator[StreamEvent]:
        """See Reader."""
        said, turn = "".join(self._said), self._turn
        call = read_call(said, turn.offered, made_id("call_", turn.seed))
        if call is not None:
            yield BlockStart(index=0, block=msgspec.structs.replace(call, arguments=""))
            yield Delta(index=0, field="arguments", text=call.arguments)
            yield BlockEnd(index=0, block=call)
            yield self._finish(Stop(reason="tool_calls", raw=self._raw))
            return
        cut = [Cut("", said)] if said.strip() else []
        if self._stop == "length":
            yield self._finish(Stop(reason="length", raw=self._raw, detail=CALL_CUT), cut)
        else:
            yield self._finish(Stop(reason="malformed", raw=self._raw, detail=NO_CALL), cut)

    def _text(self, text: str) -> Iterator[StreamEvent]:
        self._said.append(text)
        return iter(())


class Concluding(Reader):
    """The sentence that `fallback.said` makes of the text, as it grows."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn)
        self._heard, self._shown = "", 0

    def close(self) -> Iterator[StreamEvent]:
        """See Reader."""
        if self._shown:
            yield BlockEnd(index=0)
        yield self._finish(Stop(reason=self._stop, raw=self._raw))

    def _text(self, text: str) -> Iterator[StreamEvent]:
        if self.enough:
            return
        self._heard += text
        sentence, self.enough = fallback.said(self._heard)
        if len(sentence) > self._shown:
            if not self._shown:
                yield BlockStart(index=0, block=Text(text=""))
            yield Delta(index=0, text=sentence[self._shown :])
            self._shown = len(sentence)


def seed_of(messages: tuple[Message, ...]) -> str:
    """The same for the same conversation, another one a turn later; nothing is drawn at random."""
    return hashlib.blake2b(msgspec.json.encode(messages), digest_size=9).hexdigest()


def _kept(cut: Cut) -> dict[str, Any]:
    found = ToolCall(id="", name=cut.name, arguments=cut.raw).parsed()
    return {"name": cut.name, "arguments": cut.raw, "why": found.why if isinstance(found, Invalid) else UNENDED}
