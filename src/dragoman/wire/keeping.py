"""Whether a service keeps a talk of which nobody says that it may: by the wire's own word for what is not said."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.types.opaque import MARKS, bag, nested
from dragoman.types.request import Request
from dragoman.wire.base import Notes

# Wires on which an answer is kept, with what was asked, unless `store` says no (dialects §1.2: true by default, 30 days).
KEEPS = frozenset({"responses"})
STATE = "reasoning.encrypted_content"  # what such a wire's `include` says to have the reasoning state itself


def unkept(request: Request, source: str, target: str, dialect: Dialect, notes: Notes) -> Request:
    """`request` that says `store` false where it was said on a wire that keeps nothing unasked and goes to one that would:
    who chose no such wire has not agreed to its default. What he says of `store` himself goes as he said it."""
    said = request.store is not None or request.state is not None or "store" in dialect.unsupported
    if said or source in KEEPS or target not in KEEPS:
        return request
    reason = f"nothing is kept unasked on the {source} wire, and here it would be"
    notes.add(("store",), "synthesised", reason, loss=False)
    return replace(request, store=False)


def with_state(request: Request, target: str) -> Request:
    """`request` to a model that thinks, asking for the state of its reasoning where the service will not keep it; what its
    client says of `include` stands."""
    left = bag(request.opaque, target)
    if target not in KEEPS or request.store is not False or "include" in left or "include" in nested(left, MARKS):
        return request
    marks = {**nested(left, MARKS), "include": STATE}
    return replace(request, opaque={**(request.opaque or {}), target: {**left, MARKS: marks}})
