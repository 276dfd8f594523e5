"""Prompt-cache hints on an element, in the two spellings that wires use."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Cache
from dragoman.types.opaque import Opaque, marks, word
from dragoman.wire.base import Fields

# The wire's key and the key and value that make it a hint rather than anything else.
SPELLINGS = {"cache_control": ("type", "ephemeral"), "breakpoint": ("mode", "explicit")}
KEYS = {"cache_control": "cache_control", "breakpoint": "prompt_cache_breakpoint"}


def take_cache(fields: Fields, spelling: str = "cache_control") -> Cache | None:
    """The hint of one element, when it is exactly a hint and at most a ttl; else it stays a leftover."""
    tag, word = SPELLINGS[spelling]
    hint = fields.left.get(KEYS[spelling])
    if not isinstance(hint, dict) or hint.get(tag) != word or not set(hint) <= {tag, "ttl"}:
        return None
    ttl = hint.get("ttl")
    if ttl is not None and not isinstance(ttl, str):
        return None
    if "ttl" in hint and ttl is None:
        return None
    del fields.left[KEYS[spelling]]
    return Cache(ttl=ttl)


def spelling_of(opaque: Opaque | None, wire: str, dialect: Dialect) -> str | None:
    """How the hint of an element is spelled: as it was said, else as the dialect has it; None where that has none."""
    return word(marks(opaque, wire), "cache", SPELLINGS) or dialect.cache_style


def write_cache(cache: Cache, spelling: str = "cache_control") -> dict[str, Any]:
    """The key and value that say `cache`."""
    tag, word = SPELLINGS[spelling]
    return {KEYS[spelling]: {tag: word} if cache.ttl is None else {tag: word, "ttl": cache.ttl}}
