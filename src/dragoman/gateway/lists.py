"""The list of models, in the form that its reader knows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

OWNER = "dragoman"


def listed(names: Iterable[str], wire: str, now: int) -> bytes:
    """All models, for a client of `wire` (GWY-015)."""
    data = [entry(name, wire, now) for name in names]
    if wire == "messages":
        first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return msgspec.json.encode({"data": data, "has_more": False, "first_id": first, "last_id": last})
    return msgspec.json.encode({"object": "list", "data": data})


def entry(name: str, wire: str, now: int) -> dict[str, Any]:
    """One model."""
    if wire == "messages":
        made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"type": "model", "id": name, "display_name": name, "created_at": made}
    return {"id": name, "object": "model", "created": now, "owned_by": OWNER}


# What clients of the ollama wire ask before they speak; they want a version that knows tools and thinking.
VERSION = b'{"version":"0.14.0"}'


def tags(names: Iterable[str], now: int) -> bytes:
    """All models, as the ollama wire lists them."""
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    models = [
        {"name": name, "model": name, "modified_at": made, "size": 0, "digest": "", "details": _details()}
        for name in names
    ]
    return msgspec.json.encode({"models": models})


def shown() -> bytes:
    """One model, as the ollama wire shows it: what can be asked of it."""
    said = {"details": _details(), "model_info": {}, "capabilities": ["completion", "tools", "thinking"]}
    return msgspec.json.encode(said)


def _details() -> dict[str, Any]:
    return {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""}
