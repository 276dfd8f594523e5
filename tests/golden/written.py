"""Requests written in each wire with its base dialect, as parsed bodies."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.model import BASE, Dialect
from dragoman.types import Message, Request, Tool
from dragoman.wire import find
from dragoman.wire.base import Exchange

READ = Tool(
    name="read",
    description="reads a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def body(wire: str, request: Request, dialect: Dialect = BASE) -> dict[str, Any]:
    """The body of a request."""
    return json.loads(find(wire).encode_request(request, dialect, Exchange()).http.body)


def history(wire: str, *messages: Message) -> Any:
    """The messages of a body, or its input items."""
    said = body(wire, Request(model="m", messages=messages, tools=(READ,)))
    return said["input"] if wire == "responses" else said["messages"]


def compact(value: Any) -> bytes:
    """JSON without spaces, unescaped, keys as they stand."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
