"""What the fake provider is going to do with one request: an answer, before quirks change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import msgspec

from dragoman.dialect.model import BASE
from dragoman.types.collect import explode
from dragoman.types.events import Delta, Event, StreamEvent
from dragoman.types.reply import Reply
from dragoman.wire.base import Exchange, Wire

SSE = "text/event-stream"
JSON = "application/json"
PIECES = 3  # deltas that one text is streamed in, where it is long enough


class Act(Enum):
    """What is done where a part of the body would stand."""

    HOLD = "send nothing more until the client has gone"
    CUT = "close the connection here"
    PAUSE = "wait a moment"
    PING = "send signs of life until the client has gone"


Part: TypeAlias = bytes | Act | float  # a number: so many seconds of pause


@dataclass
class Plan:
    """An answer in parts. `content` is where its first content stands, `end` where its last signal does; `asked` is the
    body of the request.

    `mute` sends no head at all, `drop` closes the connection instead.
    """

    wire: Wire
    exchange: Exchange
    stream: bool
    asked: bytes = b""
    reply: Reply | None = None
    date: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    parts: list[Part] = field(default_factory=list[Part])
    content: int = 0
    end: int = 0
    mute: bool = False
    drop: bool = False


def answer(reply: Reply, plan: Plan) -> Plan:
    """`plan` with this reply written for its wire, as a stream or whole as it was asked for."""
    plan.reply = reply
    if not plan.stream:
        body = plan.wire.encode_reply(reply, BASE, plan.exchange).body
        middle = len(body) // 2
        plan.headers = {"content-type": JSON}
        plan.parts, plan.content, plan.end = [body[:middle], body[middle:]], 0, 1
        return plan
    encoder = plan.wire.stream_encoder(BASE, plan.exchange)
    plan.headers, plan.parts, plan.content, plan.end = {"content-type": SSE}, [], -1, 0
    for event in _in_pieces(reply):
        plan.end = len(plan.parts)
        plan.parts += _events(encoder.encode(event))
        if isinstance(event, Delta) and plan.content < 0 and len(plan.parts) > plan.end:
            plan.content = len(plan.parts) - 1  # a wire may say the beginning of a block with its first piece
    plan.parts += _events(encoder.close())
    plan.content = max(plan.content, 0)
    return plan


def _in_pieces(reply: Reply) -> Iterator[StreamEvent]:
    for event in explode(reply):
        yield from _pieces(event)


def _pieces(event: Event) -> Iterator[StreamEvent]:
    if not isinstance(event, Delta) or len(event.text) < PIECES:
        yield event  # type: ignore[misc]
        return
    size = -(-len(event.text) // PIECES)
    for at in range(0, len(event.text), size):
        yield msgspec.structs.replace(event, text=event.text[at : at + size])


def _events(written: bytes) -> list[Part]:
    """Each event of a stream by itself."""
    return [event + b"\n\n" for event in written.split(b"\n\n") if event]
