"""Leftovers whose absence on another wire loses nothing: bookkeeping of one wire's own envelope."""

from __future__ import annotations

from typing import Any

# Each key: a constant of its wire's grammar, an empty default, or a figure the middle format holds in a typed field.
HARMLESS: dict[str, frozenset[str]] = {
    "chat": frozenset(
        {"object", "index", "stream_options", "obfuscation", "type", "system_fingerprint", "service_tier"}
    ),
    "completions": frozenset({"object", "index", "stream_options", "obfuscation", "system_fingerprint"}),
    "messages": frozenset({"type", "role", "caller", "anthropic_version"}),
    "ollama": frozenset({"done", "type", "index"}),
    "responses": frozenset(
        {
            *("object", "type", "status", "sequence_number", "item_id", "output_index", "content_index"),
            *("id", "execution", "obfuscation", "completed_at", "billing"),
            *("model", "created_at"),  # said late in a stream, when the reply has begun without them
            *("~echo", "~begun"),  # a reply repeats its request, an item begins without what it is filled with
        }
    ),
}

# Values that ask for what happens where nobody asks, as each wire's own types and pages document (dialects §1): told where
# they have no place, and no loss.
UNASKED: dict[str, dict[str, tuple[Any, ...]]] = {
    "chat": {
        "modalities": (["text"],),
        "exclude": (False,),
        "repetition_penalty": (1,),
        "min_p": (0,),
    },
    "messages": {
        "eager_input_streaming": (False,),
        "defer_loading": (False,),
        "allowed_callers": (["direct"],),
        "citations": ({"enabled": False},),
        "context_management": ({"edits": []},),
        "speed": ("standard",),
    },
    "responses": {
        "truncation": ("disabled",),
        "background": (False,),
        "defer_loading": (False,),
        "allowed_callers": (["direct"],),
        "mode": ("standard",),
        "context": ("auto",),
    },
}


def unasked(wire: str, key: str, value: Any) -> bool:
    """Whether a leftover of `wire` asks for what happens without it. `1.0` is the number 1; `true` is no number."""
    return any(_same(value, known) for known in UNASKED.get(wire, {}).get(key, ()))


def _same(value: Any, known: Any) -> bool:
    """Equal as JSON, where a boolean equals no number. As deep as `known` is, whatever was said."""
    if isinstance(value, bool) or isinstance(known, bool):
        return value is known
    if isinstance(known, list) and isinstance(value, list):
        return len(value) == len(known) and all(map(_same, value, known))
    if isinstance(known, dict) and isinstance(value, dict):
        return value.keys() == known.keys() and all(_same(value[key], known[key]) for key in known)
    return value == known
