"""The recorded exchanges beside the project: found, read, and cut into events without a line of dragoman."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "dev"
WIRES = ("chat", "messages", "responses")
AWS = "aws-eventstream"

# Not judged by anybody: the corpus's own README says why.
NOT_JUDGED = {
    "ai-75bf01e3dc70": "calls that the vendor runs, shown as custom calls",
    "ai-ccf96ddd3ed0": "deltas trimmed by hand",
    "ai-39dca02c8471": "deltas trimmed by hand",
}

# Exchanges that are not "ask a model, get a reply".
NOT_A_REPLY = {
    "pydantic-ai-e07392fd8d81": "a compaction endpoint: it answers with a shortened history, user messages included",
}


def present() -> bool:
    """Whether the recordings are beside this checkout."""
    return CORPUS.is_dir()


@cache
def entries(wire: str) -> tuple[Entry, ...]:
    """All recorded exchanges of one wire, in the order of the file."""
    with gzip.open(CORPUS / f"{wire}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        return tuple(json.loads(line) for line in lines)


def judged(wire: str) -> Iterator[Entry]:
    """The exchanges whose reply counts."""
    return (e for e in entries(wire) if e["id"] not in NOT_JUDGED and e["id"] not in NOT_A_REPLY)


def is_stream(entry: Entry) -> bool:
    """Whether the answer came as a stream; a refusal in JSON to a request for a stream is no stream."""
    return entry.get("stream_format") is not None


def body(entry: Entry) -> bytes:
    """The answer's body. Frames of the AWS event stream are undone, as a transport does before any codec sees bytes."""
    if "response_text" not in entry:
        return _json(entry["response"])
    text = entry["response_text"]
    raw = base64.b64decode(text) if entry["response_encoding"] == "base64" else text.encode("utf-8", "surrogatepass")
    return unwrap_aws(raw) if entry["stream_format"] == AWS else raw


def request_body(entry: Entry) -> bytes:
    """The request's body."""
    return _json(entry["request"])


def headers(entry: Entry, side: str) -> tuple[tuple[str, str], ...]:
    """The recorded headers of one side, "request" or "response"."""
    return tuple((key, str(value)) for key, value in (entry[f"{side}_headers"] or {}).items())


def unwrap_aws(frames: bytes) -> bytes:
    """Server-sent events from the AWS frames of InvokeModelWithResponseStream: base64 in JSON in a binary frame."""
    out: list[bytes] = []
    at = 0
    while at < len(frames):
        total, header_size = struct.unpack_from(">II", frames, at)
        payload = json.loads(frames[at + 12 + header_size : at + total - 4])
        data = base64.b64decode(payload["bytes"]) if "bytes" in payload else json.dumps(payload).encode()
        out.append(b"data: " + data + b"\n\n")
        at += total
    return b"".join(out)


def events(entry: Entry) -> list[Any]:
    """The data of each event of a recorded stream: parsed JSON, or the text where it is no JSON ("[DONE]")."""
    return parse_events(body(entry))


def parse_events(stream: bytes) -> list[Any]:
    """The same for any bytes of server-sent events."""
    found: list[Any] = []
    data: list[str] = []
    for line in (*re.split(r"\r\n|\n|\r", stream.decode("utf-8-sig", "surrogatepass")), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            found.append(_parsed("\n".join(data)))
            data = []
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
