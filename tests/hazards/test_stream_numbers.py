"""Guards against numbers in a stream that are places only to its server: none of them says how much we make (S0-62)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import BlockStart, Collector, Delta, Reasoning
from dragoman.wire import LIBRARY, WIRES, find
from dragoman.wire.base import Exchange

FAR = (1_000, 10**9, 2**53, 10**30)


def frame(kind: str, **said: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **said})}\n\n".encode()


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("target", LIBRARY)
def test_a_part_with_a_number_far_away_is_one_part(far: int, target: str) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    stream = [frame("response.output_item.added", output_index=0, item=item)]
    for number, text in ((0, "a"), (far, "b")):
        delta = {"output_index": 0, "item_id": "rs_1", "summary_index": number, "delta": text}
        stream.append(frame("response.reasoning_summary_text.delta", **delta))
    decoder, encoder = find("responses").stream_decoder(BASE, Exchange()), find(target).stream_encoder(BASE, Exchange())
    collector, events = Collector(), [event for piece in stream for event in decoder.feed(piece)]
    written = b""
    for event in (*events, *decoder.close()):
        collector.feed(event)
        written += encoder.encode(event)
    (block,) = collector.reply.message.content
    assert isinstance(block, Reasoning) and block.summary == ("a", "b")
    assert len(written + encoder.close()) < 10_000


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("wire", WIRES)
def test_a_block_with_a_number_far_away_is_one_block(far: int, wire: str) -> None:
    encoder, collector = find(wire).stream_encoder(BASE, Exchange()), Collector()
    written = b""
    for index in (0, far):
        event = Delta(index=index, text="a")
        collector.feed(event)
        written += encoder.encode(event)
    assert [getattr(block, "text", None) for block in collector.reply.message.content] == ["a", "a"]
    assert len(written) < 10_000


def test_a_part_that_says_nothing_keeps_its_place() -> None:
    collector = Collector()
    collector.feed(BlockStart(index=0, block=Reasoning(summary=())))
    for part in (0, 3):
        collector.feed(Delta(index=0, field="summary", part=part, text="x"))
    assert collector.reply.message.content == (Reasoning(summary=("x", "", "", "x")),)
