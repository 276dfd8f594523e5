"""Bodies of the chat wire for scripted answers, as small as the wire allows."""

from __future__ import annotations

import json
from typing import Any

from origin import Answer

SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def chat_reply(text: str = "Hello", **more: Any) -> Answer:
    """A whole reply."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}
    return Answer(headers=JSON, body=json.dumps(body, ensure_ascii=False).encode())


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def text_chunks(*texts: str) -> list[bytes]:
    """The chunks of a stream of text, its end not among them."""
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]


def chat_stream(*texts: str) -> Answer:
    """A whole stream of text."""
    return Answer(headers=SSE, body=[*text_chunks(*texts), chunk({}, "stop"), DONE])
