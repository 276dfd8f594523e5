"""A reply while it arrives: deltas only, blocks by index, one Finish or Failure at the end."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.types.base import Origin, Value
from dragoman.types.codes import ErrorCode
from dragoman.types.content import Content
from dragoman.types.opaque import JSON
from dragoman.types.reply import Reply, Stop, Usage

DeltaField: TypeAlias = Literal["text", "summary", "arguments", "data", "transcript", "payload"]


class Event(Value, frozen=True, kw_only=True, tag_field="event"):
    """The base of all events."""


class Start(Event, frozen=True, kw_only=True, tag="start"):
    """The reply has begun; `opaque` is the envelope's leftovers, `origin` who is speaking."""

    id: str | None = None
    model: str | None = None
    created: float | int | None = None
    usage: Usage | None = None
    origin: Origin | None = None


class BlockStart(Event, frozen=True, kw_only=True, tag="block_start"):
    """A block opens: `block` is all that is known at its start."""

    index: int
    block: Content


class Delta(Event, frozen=True, kw_only=True, tag="delta"):
    """A piece of one field of an open block. `opaque` belongs to this piece alone (log probabilities)."""

    index: int
    field: DeltaField = "text"
    text: str = ""
    part: int = 0


class Patch(Event, frozen=True, kw_only=True, tag="patch"):
    """Something whole that an open block gains: a citation, or (in `opaque`) a signature."""

    index: int
    citation: JSON = None


class BlockEnd(Event, frozen=True, kw_only=True, tag="block_end"):
    """A block closes. `block` is its final value where the wire states it: it wins over what was gathered."""

    index: int
    block: Content | None = None


class UsageUpdate(Event, frozen=True, kw_only=True, tag="usage"):
    """Usage so far; a later figure replaces an earlier one, key by key."""

    usage: Usage


class Finish(Event, frozen=True, kw_only=True, tag="finish"):
    """The wire's own last signal came. `reply` is set by the client's streams only, never by a codec (C-30)."""

    stop: Stop
    usage: Usage | None = None
    reply: Reply | None = None


class Failure(Event, frozen=True, kw_only=True, tag="failure"):
    """The stream failed, or ended without its terminal signal. `status` is the one that the service named in it."""

    code: ErrorCode
    message: str
    status: int | None = None
    retryable: bool | None = None
    usage: Usage | None = None


class Raw(Event, frozen=True, kw_only=True, tag="raw"):
    """An event this version does not know, or a piece of a choice beyond the first: kept for its own wire."""

    wire: str
    name: str
    payload: JSON
    index: int | None = None


class KeepAlive(Event, frozen=True, kw_only=True, tag="keep_alive"):
    """The other side is still there."""


StreamEvent: TypeAlias = (
    Start | BlockStart | Delta | Patch | BlockEnd | UsageUpdate | Finish | Failure | Raw | KeepAlive
)
