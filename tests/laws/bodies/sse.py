"""Server-sent events by hand."""

from __future__ import annotations

import json
from typing import Any


def stream(*events: Any, named: bool = False) -> bytes:
    """Each value as one event; a text stands as it is, and `named` writes the value's own type as the event's name."""
    return b"".join(_event(event, named) for event in events)


def _event(event: Any, named: bool) -> bytes:
    head = f"event: {event['type']}\n".encode() if named else b""
    data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return head + b"data: " + data.encode() + b"\n\n"
