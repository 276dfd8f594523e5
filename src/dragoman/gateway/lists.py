"""What is told of the models that are served, in the form that its reader knows; what no model is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from dragoman.catalog import models as catalog
from dragoman.client import AsyncModel
from dragoman.errors import RemoteError
from dragoman.wire import jsonio

OWNER = "dragoman"
Card: TypeAlias = tuple[tuple[str, Any], ...]


def listed(names: Iterable[str], wire: str, now: int, card: Card = ()) -> bytes:
    """All models, for a client of `wire` (GWY-015) who wants to find a `card` in each."""
    data = [entry(name, wire, now, card) for name in names]
    if wire == "messages":
        first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
        return msgspec.json.encode({"data": data, "has_more": False, "first_id": first, "last_id": last})
    return msgspec.json.encode({"object": "list", "data": data})


def entry(name: str, wire: str, now: int, card: Card = ()) -> dict[str, Any]:
    """One model."""
    if wire == "messages":
        return {"type": "model", "id": name, "display_name": name, "created_at": _time(now)}
    return {"id": name, "object": "model", "created": now, "owned_by": OWNER, **dict(card)}


# --- what clients of the ollama wire ask before they speak

VERSION = b'{"version":"0.14.0"}'  # they want one that knows tools and thinking; codex from 0.13.4 on
DIGEST = "0" * 64  # of a file: there is none
# By the word `Tools` in here some clients tell that a model may be offered tools (litellm); there is no such template.
TEMPLATE = "{{ .System }} {{ .Tools }} {{ .Prompt }}"
PULLED = b'{"status":"success"}'  # what is served need not be fetched


def tags(names: Iterable[str], now: int) -> bytes:
    """All models, as the ollama wire lists them; as those that are loaded, too."""
    details = {"modified_at": _time(now), "size": 0, "digest": DIGEST, "details": _details()}
    return msgspec.json.encode({"models": [{"name": name, "model": name, **details} for name in names]})


def shown(model: AsyncModel, now: int) -> bytes:
    """One model, as the ollama wire shows it: what can be asked of it, as far as the catalogue knows."""
    target = model.target
    facts = None if target is None else catalog.find(target.provider, target.model)
    can = {
        "completion": True,
        "tools": facts is None or facts.tools is not False,
        "thinking": facts is None or bool(facts.reasoning),
        "vision": facts is not None and "image" in facts.inputs,
    }
    info: dict[str, Any] = {"general.architecture": OWNER}
    if facts is not None and facts.context is not None:
        info[f"{OWNER}.context_length"] = facts.context
    said = {
        "modified_at": _time(now),
        "template": TEMPLATE if can["tools"] else TEMPLATE.replace("{{ .Tools }} ", ""),
        "details": _details(),
        "model_info": info,
        "capabilities": [word for word, does in can.items() if does],
    }
    return msgspec.json.encode(said)


def asked_for(body: bytes) -> tuple[str, bool]:
    """The name in a request for a model, under the key of today or of old, and whether a stream was not refused."""
    value, _ = jsonio.decode_object(body)
    name = value.get("model") or value.get("name")
    if not isinstance(name, str):
        raise RemoteError("bad_shape", "expected the name of a model", ("model",))
    return name, value.get("stream") is not False


def _details() -> dict[str, Any]:
    """Of a file: there is none."""
    said = {"parent_model": "", "format": "", "family": OWNER, "families": [OWNER]}
    return {**said, "parameter_size": "", "quantization_level": ""}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
