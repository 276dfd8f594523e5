"""Guards against a server's own count of parts (from one, with gaps, far away, otherwise in each event): each text is told once (S0-62)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import Collector, Delta, Reasoning, StreamEvent, Text
from dragoman.wire import LIBRARY, find
from dragoman.wire.base import Exchange
from dragoman.wire.responses.places import placed

THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
ANSWER: dict[str, Any] = {"type": "message", "role": "assistant", "id": "msg_1", "content": []}
WAYS = ("delta", "done", "both")


def frame(kind: str, **said: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, 'output_index': 0, **said})}\n\n".encode()


def piece(kind: str, place: dict[str, int], text: str, way: str) -> bytes:
    """A text in two pieces, whole, or both."""
    out = b""
    if way != "done":
        out += b"".join(frame(f"{kind}.delta", delta=part, **place) for part in (text[:1], text[1:]) if part)
    if way != "delta":
        out += frame(f"{kind}.done", text=text, **place)
    return out


def heard(item: dict[str, Any], pieces: bytes, whole: dict[str, Any]) -> list[StreamEvent]:
    decoder = find("responses").stream_decoder(BASE, Exchange())
    stream = frame("response.output_item.added", item=item) + pieces + frame("response.output_item.done", item=whole)
    stream += frame("response.completed", response={"status": "completed", "output": [whole]})
    return [*decoder.feed(stream), *decoder.close()]


def thought(told: list[tuple[int, str]], final: list[str], way: str = "both") -> list[StreamEvent]:
    kind = "response.reasoning_summary_text"
    pieces = b"".join(piece(kind, {"summary_index": number}, text, way) for number, text in told)
    return heard(THOUGHT, pieces, {**THOUGHT, "summary": [{"type": "summary_text", "text": text} for text in final]})


def answer(told: list[tuple[int, str]], final: list[str], way: str = "both") -> list[StreamEvent]:
    kind = "response.output_text"
    pieces = b"".join(piece(kind, {"content_index": number}, text, way) for number, text in told)
    content = [{"type": "output_text", "text": text, "annotations": []} for text in final]
    return heard(ANSWER, pieces, {**ANSWER, "content": content})


def summary(events: list[StreamEvent]) -> tuple[str, ...] | None:
    collector = Collector()
    for event in events:
        collector.feed(event)
    (block,) = collector.reply.message.content
    assert isinstance(block, Reasoning)
    return block.summary


def texts(events: list[StreamEvent]) -> list[str]:
    collector = Collector()
    for event in events:
        collector.feed(event)
    return [block.text for block in collector.reply.message.content if isinstance(block, Text)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("base", [0, 1, 7, 10**9, 10**30])
def test_a_summary_counted_from_any_number_is_told_once(base: int, way: str) -> None:
    parts = ["first", "second", "third"]
    events = thought([(base + at, text) for at, text in enumerate(parts)], parts, way)
    assert summary(events) == tuple(parts)
    assert {event.part for event in events if isinstance(event, Delta)} == {0, 1, 2}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("numbers", [(0, 2), (1, 3), (0, 10**9), (5, 10**30), (1, 0), (10**9, 0)])
@pytest.mark.parametrize("target", LIBRARY)
def test_each_part_is_told_once_whatever_its_number(numbers: tuple[int, int], way: str, target: str) -> None:
    events = thought(list(zip(numbers, ("first", "second"), strict=True)), ["first", "second"], way)
    assert [text for text in summary(events) or () if text] == ["first", "second"]
    encoder = find(target).stream_encoder(BASE, Exchange())
    written = b"".join(encoder.encode(event) for event in events) + encoder.close()
    deltas = [line for line in written.splitlines() if b"delta" in line and b"done" not in line]
    for rest in (b'"econd"', b'"second"'):
        assert sum(line.count(rest) for line in deltas) <= 1
    assert len(written) < 10_000


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 3), (0, 2, 4), (3, 10**9, 10**30), (-1, 0, 1)])
def test_texts_of_an_answer_are_told_once_whatever_their_numbers(numbers: tuple[int, ...], way: str) -> None:
    parts = ["first", "second", "third"]
    assert texts(answer(list(zip(numbers, parts, strict=True)), parts, way)) == parts


def test_a_part_that_only_the_finished_item_says_is_told_in_its_place_or_after() -> None:
    assert summary(thought([(0, "first"), (2, "third")], ["first", "second", "third"])) == ("first", "second", "third")
    assert summary(thought([(1, "first")], ["first", "second"])) == ("first", "second")
    assert summary(thought([], ["", "second"])) == ("", "second")
    assert sorted(texts(answer([(0, "first"), (2, "third")], ["first", "second", "third"]))) == [
        "first",
        "second",
        "third",
    ]


def test_a_first_part_that_is_announced_and_empty_keeps_its_place() -> None:
    kind = "response.reasoning_summary_part.added"
    pieces = b"".join(
        frame(kind, summary_index=at, part={"type": "summary_text", "text": ""})
        + (frame("response.reasoning_summary_text.delta", summary_index=at, delta=text) if text else b"")
        for at, text in enumerate(("", "second"))
    )
    whole = {**THOUGHT, "summary": [{"type": "summary_text", "text": text} for text in ("", "second")]}
    assert summary(heard(THOUGHT, pieces, whole)) == ("", "second")


def test_pieces_and_whole_texts_that_are_counted_otherwise_are_one() -> None:
    kind = "response.reasoning_summary_text"
    pieces = b"".join(
        piece(kind, {"summary_index": at + 1}, text, "delta") + piece(kind, {"summary_index": at}, text, "done")
        for at, text in enumerate(("first", "second"))
    )
    whole = {**THOUGHT, "summary": [{"type": "summary_text", "text": text} for text in ("first", "second")]}
    assert summary(heard(THOUGHT, pieces, whole)) == ("first", "second")
    unnumbered = piece(kind, {}, "first", "delta") + piece(kind, {}, "second", "delta")
    assert summary(heard(THOUGHT, unnumbered, whole)) == ("firstsecond",)


@pytest.mark.parametrize(
    ("told", "sizes", "numbers"),
    [
        ({}, [3, 0], [0, 1]),
        ({0: 3, 1: 4}, [3, 4], [0, 1]),
        ({1: 3, 2: 4}, [3, 4], [1, 2]),
        ({1: 3, 2: 4}, [3, 4, 5], [1, 2, 3]),
        ({0: 3, 2: 4}, [3, 9, 4], [0, 1, 2]),
        ({0: 3, 9: 4}, [3, 4], [0, 9]),
        ({0: 3, 9: 4}, [3, 4, 5], [0, 9, 10]),
        ({1: 4}, [3, 4], [2, 1]),
        ({0: 0, 1: 4}, [0, 4], [0, 1]),
        ({0: 0, 1: 4}, [4], [1]),
        ({0: 2}, [3, 4], [0, 1]),
        ({0: 4, 1: 4}, [3, 3], [0, 1]),
        ({0: 4, 1: 4}, [], []),
    ],
)
def test_numbers_are_places_where_the_lengths_bear_them_out(
    told: dict[int, int], sizes: list[int], numbers: list[int]
) -> None:
    assert placed(told, sizes) == numbers


def test_an_item_that_is_finished_again_after_another_took_its_number_is_one_more() -> None:
    content = [{"type": "output_text", "text": text} for text in ("one", "two")]
    whole = {**ANSWER, "content": content}
    again = json.dumps({"type": "response.output_item.done", "item": whole})
    pieces = frame("response.output_item.done", item=whole)
    pieces += frame("response.output_item.added", item={**ANSWER, "id": "msg_2"}) + f"data: {again}\n\n".encode()
    events = heard(ANSWER, pieces, {**ANSWER, "id": "msg_2", "content": [{"type": "output_text", "text": "three"}]})
    texts = [event.text for event in events if isinstance(event, Delta)]
    assert sorted(texts) == ["one", "one", "three", "two", "two"]
