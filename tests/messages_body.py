"""Bodies of the messages wire in and out, as the tests of its requests write them."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.model import BASE, override
from dragoman.types import Message, Request
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Outgoing

WIRE = find("messages")


def send(request: Request, **facts: Any) -> Outgoing:
    return WIRE.encode_request(request, override(BASE, facts), Exchange())


def body(request: Request, **facts: Any) -> dict[str, Any]:
    return json.loads(send(request, **facts).http.body)


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(model="m", messages=messages, max_output=9, **fields)


def turns(*messages: Message, **facts: Any) -> list[Any]:
    return body(ask(*messages), **facts)["messages"]


def read(value: Any, *headers: tuple[str, str]) -> Request:
    raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return WIRE.decode_request(Http(body=raw, headers=headers), BASE, Exchange()).request


def both_ways(value: dict[str, Any]) -> dict[str, Any]:
    return json.loads(WIRE.encode_request(read(value), BASE, Exchange(wire="messages")).http.body)


def said(*content: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": role, "content": list(content)}], **fields}


def told(outgoing: Outgoing) -> list[tuple[Any, str, bool]]:
    return [(note.path, note.action, note.loss) for note in outgoing.notes]
