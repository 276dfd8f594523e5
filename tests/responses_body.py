"""Bodies of the responses wire in and out, as the tests of its codec write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dragoman.dialect.model import BASE, override
from dragoman.types import Collector, Message, Reply, Request, StreamEvent
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Incoming, Outgoing

WIRE = find("responses")
SEEDED = Exchange(seed="s", now=1_700_000_000, model="m")


def send(request: Request, **facts: Any) -> Outgoing:
    return WIRE.encode_request(request, override(BASE, facts), Exchange())


def body(request: Request, **facts: Any) -> dict[str, Any]:
    return json.loads(send(request, **facts).http.body)


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(model="m", messages=messages, **fields)


def items(*messages: Message, **facts: Any) -> list[Any]:
    return body(ask(*messages), **facts)["input"]


def incoming(value: dict[str, Any]) -> Incoming:
    raw = json.dumps(value, ensure_ascii=False).encode()
    return WIRE.decode_request(Http(body=raw), BASE, Exchange())


def read(*input: Any, **fields: Any) -> Request:
    return incoming({"model": "m", "input": list(input), **fields}).request


def both_ways(value: dict[str, Any]) -> dict[str, Any]:
    was = incoming(value)
    return json.loads(WIRE.encode_request(was.request, BASE, was.exchange).http.body)


def response(*output: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": list(output), **fields}


def reply(*output: Any, **fields: Any) -> Reply:
    raw = json.dumps(response(*output, **{"status": "completed", **fields}), ensure_ascii=False).encode()
    return WIRE.decode_reply(raw, BASE, Exchange()).value


def shown(value: Reply, **facts: Any) -> dict[str, Any]:
    return json.loads(WIRE.encode_reply(value, override(BASE, facts), SEEDED).body)


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


def heard(data: bytes) -> list[StreamEvent]:
    decoder = WIRE.stream_decoder(BASE, Exchange())
    return decoder.feed(data) + decoder.close()


def collected(events: Iterable[StreamEvent]) -> Collector:
    collector = Collector()
    for event in events:
        collector.feed(event)
    return collector


def written(events: Iterable[Any], **facts: Any) -> list[dict[str, Any]]:
    """The data of each event that the encoder writes; its name is always its type."""
    encoder = WIRE.stream_encoder(override(BASE, facts), SEEDED)
    text = (b"".join(encoder.encode(event) for event in events) + encoder.close()).decode()
    out: list[dict[str, Any]] = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if len(lines) == 2:
            data = json.loads(lines[1].removeprefix("data: "))
            assert lines[0] == f"event: {data['type']}"
            out.append(data)
    return out


def told(notes: Iterable[Any]) -> list[tuple[Any, str, bool]]:
    return [(note.path, note.action, note.loss) for note in notes]
