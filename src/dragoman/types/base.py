"""What every value of the middle format shares."""

from __future__ import annotations

import msgspec

from dragoman.types.opaque import Opaque


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value with room for what a wire said beyond it. None in any field means "not said"."""

    opaque: Opaque | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who produced a message or, when a carrier brought it back, a block: what `dialect.replay` is judged by."""

    wire: str
    provider: str | None = None
    model: str | None = None


class Cache(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt-cache breakpoint after the element that holds it; ttl None = the wire's own default."""

    ttl: str | None = None
