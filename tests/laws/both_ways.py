"""Values written by a wire and read again, and bodies read and written again: what most laws compare."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import settings

from dragoman.dialect.model import BASE
from dragoman.types import Collector, Failure, Note, Reply, Request, explode
from dragoman.types.events import StreamEvent
from dragoman.wire import find
from dragoman.wire.base import Decoded, Encoded, Exchange, Http, Incoming, Outgoing

STREAMING = Exchange(stream=True, include_usage=True, seed="law", now=1)
# Requests are long to draw: fewer of them, so that all laws run in a minute.
fewer = settings(max_examples=settings.default.max_examples // 2)
# A server that takes all its wire can say: reasoning of any origin sent back, and an answer to be gone on with.
KEEPS = msgspec.structs.replace(
    BASE, replay="always", reasoning_out="reasoning_content", prefill_key="prefix", top_k=True
)


def body(value: Any) -> bytes:
    """JSON as most services write it."""
    return json.dumps(value, ensure_ascii=False).encode()


def decode_request(wire: str, value: bytes | dict[str, Any]) -> Incoming:
    return find(wire).decode_request(Http(body=value if isinstance(value, bytes) else body(value)), BASE, Exchange())


def encode_request(wire: str, request: Request, said_on: str | None = None) -> Outgoing:
    return find(wire).encode_request(request, KEEPS, Exchange(wire=said_on))


def decode_reply(wire: str, value: bytes | dict[str, Any]) -> Decoded[Reply]:
    return find(wire).decode_reply(value if isinstance(value, bytes) else body(value), BASE, Exchange())


def encode_reply(wire: str, reply: Reply) -> Encoded:
    return find(wire).encode_reply(reply, BASE, STREAMING)


def decode_stream(wire: str, pieces: list[bytes]) -> list[StreamEvent]:
    decoder = find(wire).stream_decoder(BASE, Exchange(stream=True))
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def collected(events: list[StreamEvent]) -> Reply:
    collector = Collector()
    for event in events:
        collector.feed(event)
    assert collector.failure is None, collector.failure
    return collector.reply


def gathered(events: list[StreamEvent]) -> tuple[Reply, Failure | None]:
    """What a stream added up to, and how it failed if it did."""
    collector = Collector()
    for event in events:
        collector.feed(event)
    return collector.reply, collector.failure


def encode_stream(wire: str, reply: Reply) -> tuple[bytes, list[Note]]:
    """The stream that says `reply`, and what it could not say."""
    encoder = find(wire).stream_encoder(BASE, STREAMING)
    written = b"".join(encoder.encode(event) for event in explode(reply))  # type: ignore[arg-type]
    return written + encoder.close(), encoder.notes


def losses(notes: Any) -> list[Note]:
    return [note for note in notes if note.loss]
