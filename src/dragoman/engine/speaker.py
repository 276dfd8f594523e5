"""A conversation through a text back end: its template before it, its parser behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from dragoman.engine import fallback
from dragoman.engine.backend import Asked, Piece, TextBackend
from dragoman.engine.capable import capabilities
from dragoman.engine.constrain import COMPACT, calls_schema, must_call, offered, read_call
from dragoman.engine.parsers.formats import Format
from dragoman.engine.parsers.parser import Parser
from dragoman.engine.prompt import Prompt, prompt, written
from dragoman.engine.template import Template
from dragoman.errors import ApiError, UsageError
from dragoman.types.content import Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Start, StreamEvent
from dragoman.types.reply import Stop, StopReason, Usage
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire.ids import made_id
from dragoman.wire.tags import left_open

Events: TypeAlias = Generator[StreamEvent, None, None]

OUTPUT_MAX = 256  # tokens, when the request does not say
CALL_MAX = 512  # enough for a bounded call to end
CONCLUSION_MAX = 96  # one sentence; where a small model begins to repeat itself, more of it helps nobody


class Speaker:
    """One model that goes on with a prompt, as one that answers requests. `can` is what its template knows."""

    def __init__(self, backend: TextBackend, template: Template, format: Format, name: str) -> None:
        self.template, self.format, self.name = template, format, name
        self.can = capabilities(template)
        self._backend = backend

    def prompt(self, request: Request, now: datetime) -> Prompt:
        """What the model would read. Without a system message an empty one is shown: templates put words of their own
        in its place, that nobody said."""
        return prompt(self.template, self.can, _with_system(request, self.can.system), now)

    def events(self, request: Request, now: datetime) -> Events:
        """The reply as it is made. Raises UsageError and ApiError as LocalModel.stream, before the first event."""
        if must_call(request):
            return self._call(request, now)
        if not self.can.tools and fallback.awaits_conclusion(request.messages):
            return self._conclude(request, now)
        return self._answer(request, now)

    def _answer(self, request: Request, now: datetime) -> Events:
        """What the model says of itself: reasoning, text and calls, as its format has them."""
        text = self.prompt(request, now).text if self.can.tools else self._fallback(request, now)
        tools: Mapping[str, Tool] = {tool.name: tool for tool in offered(request)} if self.can.tools else {}
        think = self.format.think
        grammar = self._form(request)
        if grammar is not None and think is not None and left_open(text, think):
            text = f"{text.rstrip()}\n\n{think[1]}\n\n"
        asked = self._asked(request, text, OUTPUT_MAX, grammar)
        inside = think is not None and left_open(text, think)
        calls = sum(isinstance(block, ToolCall) for message in request.messages for block in message.content)
        parser = Parser(self.format, tools, seed=_seed(request), first=calls, inside=inside)
        heard = _Heard()
        with closing(self._backend.generate(asked)) as pieces:
            started = False
            for text in heard.texts(pieces):
                if not started:  # until then a request can be refused
                    yield Start(model=self.name)
                    started = True
                yield from parser.feed(text)
        if not started:
            yield Start(model=self.name)
        yield from parser.close()
        yield Finish(stop=_stop(parser, heard), usage=heard.usage, opaque=_kept(parser))

    def _call(self, request: Request, now: datetime) -> Events:
        """One call, whole: it is short, and half a call is of no use to anyone."""
        tools = offered(request)
        if not tools:
            raise UsageError("usage", "tool_choice asks for a call, but the request offers no such tool")
        grammar = self._backend.grammar(calls_schema(tools))
        if grammar is None:
            raise ApiError("invalid_request", "tool_choice asks for a call, but this back end keeps to no form")
        text = (
            self._opened(request, now)
            if self.can.tools
            else self._written(fallback.call_turns(request.messages, tools), now)
        )
        heard = _Heard()
        with closing(self._backend.generate(self._asked(request, text, CALL_MAX, grammar))) as pieces:
            said = "".join(heard.texts(pieces))
        call = read_call(said, tools, made_id("call_", _seed(request)))
        yield Start(model=self.name)
        if call is not None:
            yield BlockStart(index=0, block=msgspec.structs.replace(call, arguments=""))
            yield Delta(index=0, field="arguments", text=call.arguments)
            yield BlockEnd(index=0, block=call)
        yield Finish(stop=_stop_of_call(call, heard.stop), usage=heard.usage)

    def _conclude(self, request: Request, now: datetime) -> Events:
        """The sentence that a model without tools makes of the tools' results."""
        asked = self._asked(request, self._fallback(request, now), CONCLUSION_MAX, self._form(request))
        asked = msgspec.structs.replace(asked, stop=(*asked.stop, *fallback.REPEATS))
        heard = _Heard()
        opened = False
        with closing(self._backend.generate(asked)) as pieces:
            for piece in _sentence(heard.texts(pieces)):
                if not opened:
                    yield Start(model=self.name)
                    yield BlockStart(index=0, block=Text(text=""))
                    opened = True
                yield Delta(index=0, text=piece)
        yield BlockEnd(index=0) if opened else Start(model=self.name)
        yield Finish(stop=Stop(reason=heard.stop, raw=heard.raw), usage=heard.usage)

    def _opened(self, request: Request, now: datetime) -> str:
        """The prompt, up to where the JSON of a call stands in this model's format."""
        text, think = self.prompt(request, now).text, self.format.think
        if think is not None and left_open(text, think):
            text = f"{text.rstrip()}\n\n{think[1]}\n\n"
        return text + self.format.opens

    def _fallback(self, request: Request, now: datetime) -> str:
        return self._written(fallback.turns(request.messages), now)

    def _written(self, turns: list[fallback.Turn], now: datetime) -> str:
        shown = turns if self.can.system else [turn for turn in turns if turn["role"] != "system" or turn["content"]]
        return written(self.template, shown, now=now, goes_on=shown[-1]["role"] == "assistant")

    def _asked(self, request: Request, text: str, limit: int, grammar: str | None) -> Asked:
        return Asked(
            prompt=text,
            max_output=request.max_output or limit,
            sampling=request.sampling,
            stop=request.stop or (),
            grammar=grammar,
            shown=self.format.tokens,
        )

    def _form(self, request: Request) -> str | None:
        """The constraint of an answer that must be JSON."""
        output = request.output
        if output is None or output.kind == "text":
            return None
        return self._backend.grammar({**(output.schema or {"type": "object"}), "x-guidance": COMPACT})


class _Heard:
    """What was heard of an answer beside its text."""

    def __init__(self) -> None:
        self.raw: str | None = None
        self.stop: StopReason = "end"
        self.usage: Usage | None = None

    def texts(self, pieces: Iterator[Piece]) -> Iterator[str]:
        """The text; the rest is noted on the way."""
        for piece in pieces:
            self.usage = piece.usage or self.usage
            if piece.stop is not None:
                self.raw = piece.stop
                self.stop = "length" if piece.stop == "length" else "end"
            if piece.text:
                yield piece.text


def _sentence(texts: Iterator[str]) -> Iterator[str]:
    """The pieces of `fallback.said`; the model is stopped at the end of its sentence."""
    text, shown = "", 0
    for piece in texts:
        text += piece
        sentence, ended = fallback.said(text)
        if len(sentence) > shown:
            yield sentence[shown:]
            shown = len(sentence)
        if ended:
            return


def _with_system(request: Request, knows_it: bool) -> Request:
    return request if request.system is not None or not knows_it else request.with_system("")


def _stop(parser: Parser, heard: _Heard) -> Stop:
    if parser.called:
        return Stop(reason="tool_calls", raw=heard.raw)
    if parser.cut is None:
        return Stop(reason=heard.stop, raw=heard.raw)
    said = f"incomplete tool call {parser.cut.name}".rstrip()
    return Stop(reason=heard.stop if heard.stop == "length" else "malformed", raw=heard.raw, detail=said)


def _kept(parser: Parser) -> dict[str, Any] | None:
    """A call that was cut off is never executed, and not forgotten either."""
    cut = parser.cut
    return None if cut is None else {"local": {"incomplete_call": {"name": cut.name, "arguments": cut.raw}}}


def _stop_of_call(call: ToolCall | None, heard: StopReason) -> Stop:
    if call is not None:
        return Stop(reason="tool_calls")
    if heard == "length":
        return Stop(reason="length", detail="the call was cut off: allow more output tokens")
    return Stop(reason="malformed", detail="the model did not keep to the form of a call")


def _seed(request: Request) -> str:
    """The same for the same conversation, another one a turn later; nothing is drawn at random."""
    return hashlib.blake2b(msgspec.json.encode(request.messages), digest_size=9).hexdigest()
