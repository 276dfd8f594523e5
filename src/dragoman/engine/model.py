"""A model file as a producer of events: the same Request in, the same events out as from any service."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from dragoman.dialect.model import BASE
from dragoman.engine import fallback, gguf, runtime
from dragoman.engine.constrain import COMPACT, calls_schema, must_call, offered, read_call
from dragoman.errors import ApiError, UsageError
from dragoman.types.collect import Collector
from dragoman.types.content import Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Start, StreamEvent
from dragoman.types.reply import Reply, Stop, StopReason, Usage
from dragoman.types.request import Request
from dragoman.wire import find as find_wire
from dragoman.wire.base import Exchange

Events: TypeAlias = Generator[StreamEvent, None, None]

CONTEXT = 8192
OUTPUT_MAX = 256  # tokens, when the request does not say
CALL_MAX = 512  # enough for a bounded call to end
CONCLUSION_MAX = 96  # one sentence; where a small model begins to repeat itself, more of it helps nobody
SAMPLING = ("top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")


class LocalModel:
    """A GGUF file that is asked in this process.

    Loaded with the first question (`load` does it ahead) and kept for the process. A tool call that must be (tool_choice
    required, or a tool by name) comes out under constraint, from any model. Else a model whose chat template knows tools
    decides itself, and one whose template does not answers in text: see `dragoman.engine.fallback`.
    """

    def __init__(self, path: str | Path, *, name: str = "local", context: int = CONTEXT) -> None:
        self.path = Path(path)
        self.name = name
        self.context = context
        self._runtime: runtime.Runtime | None = None
        self._knows_tools = False

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r}, name={self.name!r})"

    def load(self) -> None:
        """Load the file. Raises UsageError when it is missing or no model, or the extra is not installed."""
        self._ready()

    @property
    def knows_tools(self) -> bool:
        """Whether its chat template renders tools. Loads the model."""
        self._ready()
        return self._knows_tools

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """The reply as it is made. Closing the iterator stops the model.

        Raises UsageError for what cannot be asked or loaded, ApiError for a request that is refused (context_overflow:
        it is longer than the context). What breaks after the first event ends with a Failure.
        """
        started = False
        try:
            with closing(self._events(request)) as events:
                for event in events:
                    started = True
                    yield event
        except ApiError as error:
            if not started:
                raise
            yield Failure(code=error.code, message=error.message, retryable=error.retryable)

    def complete(self, request: Request) -> Reply:
        """The whole reply. Raises as `stream`, and ApiError for one that broke off."""
        collector = Collector()
        for event in self.stream(request):
            collector.feed(event)
        if collector.failure is not None:
            raise ApiError(collector.failure.code, collector.failure.message)
        return collector.reply

    def _ready(self) -> runtime.Runtime:
        if self._runtime is None:
            values = gguf.metadata(self.path)
            context = min(self.context, gguf.context_length(values) or self.context)
            self._knows_tools = "tools" in gguf.chat_template(values)
            self._runtime = runtime.load(self.path, context)
        return self._runtime

    def _events(self, request: Request) -> Events:
        engine = self._ready()
        if must_call(request):
            return self._call(request, engine)
        if self._knows_tools:
            return self._native(request, engine)
        if fallback.awaits_conclusion(request.messages):
            return self._conclude(request, engine)
        return self._speak(request, engine)

    def _call(self, request: Request, engine: runtime.Runtime) -> Events:
        """One call, whole: it is short, and half a call is of no use to anyone."""
        tools = offered(request)
        if not tools:
            raise UsageError("usage", "tool_choice asks for a call, but the request offers no such tool")
        spoken = fallback.call_turns(request.messages, tools)
        body = _body(request, spoken, CALL_MAX) | {"grammar": runtime.grammar(calls_schema(tools))}
        heard = _Heard()
        with closing(engine.stream(body)) as chunks:
            text = "".join(heard.pieces(chunks))
        call = read_call(text, tools, _call_id(request))
        yield Start(model=self.name)
        if call is not None:
            opened = msgspec.structs.replace(call, arguments="")
            yield BlockStart(index=0, block=opened)
            yield Delta(index=0, field="arguments", text=call.arguments)
            yield BlockEnd(index=0, block=call)
        yield Finish(stop=_stop_of_call(call, heard.stop), usage=heard.usage)

    def _speak(self, request: Request, engine: runtime.Runtime) -> Events:
        """Free text, as it comes."""
        body = _body(request, fallback.turns(request.messages), OUTPUT_MAX) | _form(request)
        heard = _Heard()
        with closing(engine.stream(body)) as chunks:
            yield from self._text(heard.pieces(chunks), heard)

    def _conclude(self, request: Request, engine: runtime.Runtime) -> Events:
        """The sentence that the model makes of the tools' results."""
        body = _body(request, fallback.turns(request.messages), CONCLUSION_MAX) | _form(request)
        body["stop"] = [*(request.stop or ()), *fallback.REPEATS]
        heard = _Heard()
        with closing(engine.stream(body)) as chunks:
            yield from self._text(_sentence(heard, chunks), heard)

    def _text(self, pieces: Iterator[str], heard: _Heard) -> Iterator[StreamEvent]:
        """Start waits for the first piece: until then a request can be refused."""
        opened = False
        for piece in pieces:
            if not opened:
                yield Start(model=self.name)
                yield BlockStart(index=0, block=Text(text=""))
                opened = True
            yield Delta(index=0, text=piece)
        if opened:
            yield BlockEnd(index=0)
        else:
            yield Start(model=self.name)
        yield Finish(stop=Stop(reason=heard.stop, raw=heard.raw), usage=heard.usage)

    def _native(self, request: Request, engine: runtime.Runtime) -> Events:
        """llama.cpp renders and parses by the model's own template: the chat codec speaks with it as with a server."""
        request = request if request.system is not None else request.with_system("")
        limit = request.max_output or OUTPUT_MAX
        request = msgspec.structs.replace(request, model=self.name, stream=True, max_output=limit, n=None)
        if request.sampling.temperature is None:
            cold = msgspec.structs.replace(request.sampling, temperature=0)
            request = msgspec.structs.replace(request, sampling=cold)
        wire = find_wire("chat")
        outgoing = wire.encode_request(request, BASE, Exchange(stream=True, model=self.name, include_usage=True))
        decoder = wire.stream_decoder(BASE, outgoing.exchange)
        body: dict[str, Any] = msgspec.json.decode(outgoing.http.body)
        with closing(engine.stream(body)) as chunks:
            for chunk in chunks:
                yield from decoder.feed(b"data: " + msgspec.json.encode(chunk) + b"\n\n")
        yield from decoder.feed(b"data: [DONE]\n\n")
        yield from decoder.close()


class _Heard:
    """What was heard of an answer beside its text."""

    def __init__(self) -> None:
        self.raw: str | None = None
        self.stop: StopReason = "end"
        self.usage: Usage | None = None

    def pieces(self, chunks: Iterator[runtime.Chunk]) -> Iterator[str]:
        """The pieces of text; the rest is noted on the way."""
        for chunk in chunks:
            if "timings" in chunk:
                self.usage = _usage(chunk["timings"])
            for choice in chunk.get("choices", ()):
                self._ended(choice.get("finish_reason"))
                if text := choice.get("delta", {}).get("content"):
                    yield text

    def _ended(self, raw: str | None) -> None:
        if raw is not None:
            self.raw = raw
            self.stop = "length" if raw == "length" else "end"


def _sentence(heard: _Heard, chunks: Iterator[runtime.Chunk]) -> Iterator[str]:
    """The pieces of `fallback.said`; the model is stopped at the end of its sentence."""
    text, shown = "", 0
    for piece in heard.pieces(chunks):
        text += piece
        sentence, ended = fallback.said(text)
        if len(sentence) > shown:
            yield sentence[shown:]
            shown = len(sentence)
        if ended:
            return


def _body(request: Request, spoken: list[fallback.Turn], limit: int) -> runtime.Chunk:
    said = request.sampling
    body: runtime.Chunk = {
        "messages": spoken,
        "temperature": 0 if said.temperature is None else said.temperature,
        "max_tokens": request.max_output or limit,
        "timings_per_token": True,  # usage so far with each piece: an answer may be ended before its last chunk
    }
    body |= {name: value for name in SAMPLING if (value := getattr(said, name)) is not None}
    if request.stop:
        body["stop"] = list(request.stop)
    return body


def _form(request: Request) -> runtime.Chunk:
    """The constraint of an answer that must be JSON."""
    output = request.output
    if output is None or output.kind == "text":
        return {}
    return {"grammar": runtime.grammar({**(output.schema or {"type": "object"}), "x-guidance": COMPACT})}


def _usage(timings: dict[str, Any]) -> Usage:
    read, fresh, made = (int(timings.get(key) or 0) for key in ("cache_n", "prompt_n", "predicted_n"))
    return Usage(input=read + fresh, output=made, cache_read=read)


def _stop_of_call(call: ToolCall | None, heard: StopReason) -> Stop:
    if call is not None:
        return Stop(reason="tool_calls")
    if heard == "length":
        return Stop(reason="length", detail="the call was cut off: allow more output tokens")
    return Stop(reason="malformed", detail="the model did not keep to the form of a call")


def _call_id(request: Request) -> str:
    """The same for the same conversation, another one a turn later; nothing is drawn at random."""
    said = msgspec.json.encode(request.messages)
    return f"call_{hashlib.blake2b(said, digest_size=9).hexdigest()}"
