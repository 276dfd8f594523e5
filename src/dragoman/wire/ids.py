"""Ids that nobody said: made from the exchange's seed and a position, so a replayed run gives the same bytes."""

from __future__ import annotations

from hashlib import sha256


def made_id(prefix: str, seed: str, position: int = 0) -> str:
    """`prefix` and 24 hexadecimal digits."""
    digest = sha256(f"{prefix}|{seed}|{position}".encode()).hexdigest()
    return prefix + digest[:24]
