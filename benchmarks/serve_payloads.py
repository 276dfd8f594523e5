"""What is asked and what is answered: a talk of twelve messages with eight tools on two wires, a reply, a stream of 304 events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SYSTEM = "You are helpful. " * 20
TURNS = [f"turn {at} " + "lorem ipsum dolor " * 20 for at in range(11)]
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "a path"}, "n": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = [(f"tool{at}", "does a thing " * 10) for at in range(8)]
WORDS = 300
SAID = "The startup command is `npm run dev`. " * 8
USAGE = {
    "prompt_tokens": 929,
    "completion_tokens": 64,
    "total_tokens": 993,
    "prompt_tokens_details": {"cached_tokens": 890},
}
HEAD = {"id": "chatcmpl-abc", "created": 1780000000, "model": "mock"}
ENDS = {"whole": "npm run dev", "stream": f"word{WORDS - 1} "}  # what an answer must hold to be one

NGINX = """\
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_buffer_size 1m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location = /v1/chat/completions {{
      default_type application/json; error_page 405 =200 $uri; alias {folder}/reply.json;
    }}
    location = /stream/v1/chat/completions {{
      default_type text/event-stream; error_page 405 =200 $uri; alias {folder}/stream.txt;
    }}
  }}
}}
"""


def asked(wire: str, model: str, *, stream: bool) -> bytes:
    """The body of the question on a wire."""
    talk: list[Any] = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": turn} for at, turn in enumerate(TURNS)
    ]
    body: dict[str, Any]
    if wire == "messages":
        tools = [{"name": name, "description": said, "input_schema": SCHEMA} for name, said in TOOLS]
        body = {"model": model, "max_tokens": 1024, "system": SYSTEM, "messages": talk, "tools": tools}
    else:
        functions = [{"name": name, "description": said, "parameters": SCHEMA} for name, said in TOOLS]
        tools = [{"type": "function", "function": each} for each in functions]
        body = {"model": model, "messages": [{"role": "system", "content": SYSTEM}, *talk], "tools": tools}
    if stream:
        body["stream"] = True
        if wire == "chat":
            body["stream_options"] = {"include_usage": True}
    return json.dumps(body).encode()


def reply() -> bytes:
    """The whole answer, on the chat wire."""
    message = {"role": "assistant", "content": SAID, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()


def stream() -> bytes:
    """The same as a stream of many small pieces."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": f"word{at} "} for at in range(WORDS))]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    chunks = [{**HEAD, "object": "chat.completion.chunk", "choices": each} for each in choices]
    chunks.append({**HEAD, "object": "chat.completion.chunk", "choices": [], "usage": USAGE})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def write(folder: Path, port: int) -> Path:
    """The upstream's files, and the configuration with which it serves them."""
    (folder / "reply.json").write_bytes(reply())
    (folder / "stream.txt").write_bytes(stream())
    at = folder / "nginx.conf"
    at.write_text(NGINX.format(folder=folder, port=port))
    return at
