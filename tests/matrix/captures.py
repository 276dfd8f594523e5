"""The captured requests of real clients beside the project, by wire."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.wire.base import Http

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
WIRES = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/api/chat": "ollama",
    "/v1/messages": "messages",
    "/v1/messages/count_tokens": "messages",
    "/v1/responses": "responses",
    "/v1/responses/compact": "responses",
    "/v1/responses/input_tokens": "responses",
}
FRAME = "response.create"  # the type that a request has as a message of a web socket


class Capture(NamedTuple):
    """One request as its client sent it; `name` is the client's folder and the number in it."""

    name: str
    wire: str
    path: str
    body: dict[str, Any]
    http: Http


def present() -> bool:
    """Whether the captures are beside this checkout."""
    return CAPTURES.is_dir()


@cache
def captures(wire: str) -> tuple[Capture, ...]:
    """Every captured request of one wire that has a body, in the order of the folders."""
    read = (_read(path) for path in sorted(CAPTURES.glob("*/*.json"))) if present() else ()
    return tuple(found for found in read if found is not None and found.wire == wire)


def _read(path: Path) -> Capture | None:
    said = json.loads(path.read_bytes())
    body, wire = said.get("body"), WIRES.get(said["path"])
    if wire is None or not isinstance(body, dict) or not body:
        return None
    if body.get("type") == FRAME:
        body = {key: value for key, value in body.items() if key != "type"}
    query = f"?{said['query']}" if said.get("query") else ""
    http = Http(
        path=said["path"] + query,
        headers=tuple((name, value) for name, value in said["headers"]),
        body=json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"),
    )
    return Capture(f"{path.parent.name}/{path.stem}", wire, said["path"], body, http)
