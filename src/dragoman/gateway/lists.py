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
