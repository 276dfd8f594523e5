"""Whether a model's own state may go back to a server: its origin against where the request is going."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin


def may_replay(origin: Origin | None, target: Origin, dialect: Dialect) -> bool:
    """True when signatures, ciphertexts and readable reasoning of `origin` may be sent to `target`.

    An unknown origin on the same wire may (a client sends back what this server said); a known one must match as
    `dialect.replay` says, and what either side does not say counts as equal (architecture §6.3).
    """
    if dialect.replay == "never":
        return False
    if origin is None or dialect.replay == "always":
        return True
    if origin.wire != target.wire:
        return False
    if dialect.replay == "required":
        return True
    if _differ(origin.provider, target.provider):
        return False
    return dialect.replay == "same_provider" or not _differ(origin.model, target.model)


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other
