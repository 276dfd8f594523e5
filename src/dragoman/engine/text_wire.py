"""A server that makes text of a prompt (`/v1/completions`), spoken to as one that answers requests: the template and the
parsers are ours, the text is theirs.

It is the half of a codec that faces a provider, so a call over it is like any other: retries, cancels, limits, records and
hints are the client's. The request goes out as a text completion; what comes back is read as a local model's text is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.engine.backend import Asked, Piece
from dragoman.engine.speaker import Speaker
from dragoman.engine.turn import Reader, Turn
from dragoman.engine.unsaid import WIRE
from dragoman.errors import ApiError
from dragoman.types.base import Origin
from dragoman.types.collect import Collector
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Start, StreamEvent
from dragoman.types.message import user
from dragoman.types.note import Note
from dragoman.types.opaque import JSON
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire import find
from dragoman.wire.base import Decoded, Exchange, Outgoing, StreamDecoder

COMPLETIONS = find("completions")


class Told(Exchange, frozen=True, kw_only=True):
    """What the answer's codec must know: the turn that was asked, too."""

    turn: Turn


class TextWire:
    """The codec of one model behind a server of text. `now` is what templates are told that ask for the time."""

    id = WIRE

    def __init__(self, speaker: Speaker, now: Callable[[], datetime]) -> None:
        self.speaker = speaker
        self._now = now

    def encode_request(self, request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
        """See Wire. Raises UsageError for a call of nothing, ApiError invalid_request where the template refuses."""
        left = dict(request.opaque or {})
        own = left.pop("completions", {})  # of the wire that carries the prompt: it goes with it
        turn = self.speaker.turn(replace(request, opaque=left or None), self._now())
        asked = turn.asked
        said = Request(
            model=request.model,
            messages=(user(asked.prompt),),
            max_output=asked.max_output,
            sampling=asked.sampling,
            stop=asked.stop or None,
            stream=request.stream,
            opaque={"completions": {**own, **_own(asked)}},
        )
        outgoing = COMPLETIONS.encode_request(said, dialect, exchange)
        fields = {name: getattr(outgoing.exchange, name) for name in Exchange.__struct_fields__}
        notes = (*turn.notes, *_limit(turn), *outgoing.notes)
        return replace(outgoing, exchange=Told(**fields, turn=turn), notes=notes)

    def decode_reply(self, body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
        """See Wire."""
        decoded = COMPLETIONS.decode_reply(body, dialect, exchange)
        heard, collector = decoded.value, Collector()
        reader = self._reader(exchange)
        for event in (*reader.feed(Piece(heard.text, heard.stop.raw, heard.usage)), *reader.close()):
            collector.feed(event)
        made = collector.reply
        message = replace(made.message, origin=_origin(heard.message.origin))
        opaque = {**(heard.opaque or {}), **(made.opaque or {})} or None
        return replace(decoded, value=replace(heard, message=message, stop=made.stop, opaque=opaque))

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        """See Wire."""
        return TextStreamDecoder(COMPLETIONS.stream_decoder(dialect, exchange), self._reader(exchange))

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError:
        """See Wire."""
        return COMPLETIONS.decode_error(status, headers, body, dialect)

    def _reader(self, exchange: Exchange) -> Reader:
        assert isinstance(exchange, Told)
        return self.speaker.reader(exchange.turn)


class TextStreamDecoder:
    """A stream of text as blocks, calls and reasoning: what is not text passes as it is."""

    def __init__(self, inner: StreamDecoder, reader: Reader) -> None:
        self._inner, self._reader = inner, reader

    @property
    def notes(self) -> list[Note]:
        """What of the stream could not be kept."""
        return self._inner.notes

    def feed(self, data: bytes) -> list[StreamEvent]:
        """See StreamDecoder."""
        return [made for event in self._inner.feed(data) for made in self._made(event)]

    def close(self) -> list[StreamEvent]:
        """See StreamDecoder."""
        return [made for event in self._inner.close() for made in self._made(event)]

    def _made(self, event: StreamEvent) -> Iterator[StreamEvent]:
        match event:
            case Start():
                yield replace(event, origin=_origin(event.origin))
            case Delta():
                yield from self._reader.feed(Piece(event.text))
            case BlockStart() | BlockEnd():
                pass  # the one text that the wire knows; its blocks are ours
            case Finish():
                yield from self._reader.feed(Piece("", event.stop.raw, event.usage))
                *blocks, last = self._reader.close()
                assert isinstance(last, Finish)
                yield from blocks
                yield replace(last, opaque={**(event.opaque or {}), **(last.opaque or {})} or None)
            case Failure():
                yield from self._reader.broken(event)
            case _:
                yield event


def _own(asked: Asked) -> dict[str, JSON]:
    """What a completion is asked beyond the wire's own words, as the servers call it that know it: most others read past it,
    and for one that refuses a key the dialect's `unsupported` leaves it out.

    Sources: llama.cpp tools/server/README.md, POST /completion (`json_schema`, `preserved_tokens`); vLLM,
    entrypoints/openai/completion/protocol.py, and SGLang, entrypoints/openai/protocol.py, CompletionRequest
    (`response_format`, `skip_special_tokens`). SGLang has a `json_schema` too, which is a text.
    """
    said: dict[str, Any] = {}
    if asked.form is not None:
        form = {key: value for key, value in asked.form.items() if key != "x-guidance"}
        said["json_schema"] = form
        said["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": form}}
    if asked.shown:
        said |= {
            "preserved_tokens": list(asked.shown),
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
        }
    return said


def _limit(turn: Turn) -> tuple[Note, ...]:
    """A wire whose servers answer with 16 tokens where nobody says how many is always told."""
    if not turn.limited:
        return ()
    reason = f"this wire wants a limit: {turn.asked.max_output} tokens"
    return (Note(path=("max_output",), action="synthesised", reason=reason, loss=False),)


def _origin(origin: Origin | None) -> Origin | None:
    return None if origin is None else replace(origin, wire=WIRE)
