"""What dragoman reads in a recorded exchange, put in the oracle's words."""

from __future__ import annotations

from typing import Any

from dragoman import wire
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError
from dragoman.types import Collector, Reasoning, Refusal, Reply, Text, ToolCall
from dragoman.types.events import StreamEvent
from dragoman.wire.base import Exchange, Http
from matrix import recordings
from matrix.oracle import Call, Reading, Usage, arguments
from matrix.recordings import Entry


def read(entry: Entry) -> Reading:
    """The answer of one recorded exchange, by the codec of its wire."""
    if entry["status"] >= 400:
        error(entry)
        return Reading(failed=True)
    if recordings.is_stream(entry):
        return collected(entry)[1]
    try:
        return reading(reply(entry))
    except ApiError:
        return Reading(failed=True)


def reply(entry: Entry) -> Reply:
    """A whole answer."""
    return wire.find(entry["wire"]).decode_reply(recordings.body(entry), BASE, Exchange()).value


def error(entry: Entry) -> ApiError:
    """A refusal."""
    headers = dict(recordings.headers(entry, "response"))
    return wire.find(entry["wire"]).decode_error(entry["status"], headers, recordings.body(entry), BASE)


def streamed(entry: Entry, pieces: list[bytes] | None = None) -> list[StreamEvent]:
    """The events of a streamed answer, fed in `pieces` or at once."""
    decoder = wire.find(entry["wire"]).stream_decoder(BASE, Exchange(stream=True))
    events = [event for piece in pieces or [recordings.body(entry)] for event in decoder.feed(piece)]
    return events + decoder.close()


def collected(entry: Entry) -> tuple[Reply, Reading]:
    """A streamed answer as a reply, and its reading."""
    collector = Collector()
    for event in streamed(entry):
        collector.feed(event)
    return collector.reply, reading(collector.reply, failed=collector.failure is not None)


def request(entry: Entry) -> Http:
    """The recorded request, as it came over HTTP."""
    return Http(
        method=entry["method"],
        path=entry["url_path"],
        headers=recordings.headers(entry, "request"),
        body=recordings.request_body(entry),
    )


def reading(reply: Reply, *, failed: bool = False) -> Reading:
    """A reply in the oracle's words."""
    content = reply.message.content
    usage = reply.usage
    return Reading(
        text="".join(block.text for block in content if isinstance(block, Text)),
        reasoning="".join(_thoughts(block) for block in content if isinstance(block, Reasoning)),
        refusal="".join(block.text for block in content if isinstance(block, Refusal)),
        calls=tuple(Call(block.name, _arguments(block)) for block in content if isinstance(block, ToolCall)),
        usage=Usage(usage.input or 0, usage.cache_read or 0, usage.output or 0) if usage else Usage(),
        failed=failed or reply.stop.reason == "error",
    )


def _thoughts(block: Reasoning) -> str:
    return "".join(block.summary or ()) + (block.text or "")


def _arguments(call: ToolCall) -> Any:
    return call.arguments if call.kind == "custom" else arguments(call.arguments)
