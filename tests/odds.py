"""Answers in which one thing is of another kind than it should be, each thing in turn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.dialect.model import BASE
from dragoman.types.collect import explode
from dragoman.types.content import Reasoning, Text, ToolCall
from dragoman.types.message import Message
from dragoman.types.reply import Reply, Stop, Usage
from dragoman.wire import find
from dragoman.wire.base import Exchange

KINDS = (None, 7, "odd", [7], {"odd": 7})
EXCHANGE = Exchange(stream=True, include_usage=True)
CALL = ToolCall(id="c", name="f", arguments='{"a":1}')
SAID = Reply(
    message=Message(role="assistant", content=(Reasoning(text="hm"), Text(text="hello"), CALL)),
    stop=Stop(reason="end", raw="x"),
    usage=Usage(input=1, output=1),
    id="i",
    model="m",
    created=1,
)


def odd_replies(wire: str, kinds: Sequence[Any] = KINDS) -> Iterator[bytes]:
    """A whole reply of a wire, as a service may get it wrong."""
    for odd in odds(json.loads(find(wire).encode_reply(SAID, BASE, EXCHANGE).body), kinds):
        yield json.dumps(odd).encode()


def odd_streams(wire: str, kinds: Sequence[Any] = KINDS) -> Iterator[bytes]:
    """The same as a stream."""
    encoder = find(wire).stream_encoder(BASE, EXCHANGE)
    events: list[Any] = [*explode(SAID)]
    lines = b"".join([*map(encoder.encode, events), encoder.close()]).split(b"\n")
    for at in [at for at, line in enumerate(lines) if b"{" in line]:
        name, brace, value = lines[at].partition(b"{")
        for odd in odds(json.loads(brace + value), kinds):
            yield b"\n".join([*lines[:at], name + json.dumps(odd).encode(), *lines[at + 1 :]])


def odds(value: Any, kinds: Sequence[Any] = KINDS) -> Iterator[Any]:
    """The value with one thing in it of each of the kinds, each thing in turn, and one that it had not."""
    keys: list[Any] = [*value] if isinstance(value, dict) else [*range(len(value))]
    for key in keys:
        kept = value[key]
        for odd in kinds:
            value[key] = odd
            yield value
        value[key] = kept
        if isinstance(kept, (dict, list)):
            yield from (value for _ in odds(kept, kinds))
