"""Guards what a stream says in a kind that nothing can be read from: it is told with its place, never dropped in silence,
and long streams of many items and parts take linear work."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import BlockEnd, BlockStart, Delta, Finish, Raw, Reasoning, Stop, Text
from dragoman.types.events import StreamEvent
from dragoman.types.note import Path
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange
from dragoman.wire.chat.details import Details
from dragoman.wire.responses.stream import ResponsesStreamDecoder
from hazards.cases import event, read, read_however_cut, said

HI = Text(text="Hi!!")


def told(wire: str, at: int, odd: dict[str, Any]) -> list[tuple[Path, str]]:
    """What is noted of a stream that says one text, with one odd event at a place of it."""
    events = said(wire, HI)
    seen = read_however_cut(wire, b"".join([*events[:at], event(odd), *events[at:]]))
    assert seen.reply.text == "Hi!!"
    assert seen.failure is None
    return [(note.path, note.action) for note in seen.notes]


@pytest.mark.parametrize("value", [5, ["Hi"], {"text": "Hi"}])
@pytest.mark.parametrize(
    ("delta", "field"), [("text_delta:text", "text"), ("input_json_delta:partial_json", "arguments")]
)
def test_a_messages_delta_that_is_no_text(delta: str, field: str, value: Any) -> None:
    kind, key = delta.split(":")
    odd = {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: value}}
    assert told("messages", 2, odd) == [(("message", "content", 0, field), "dropped")]


@pytest.mark.parametrize(
    ("odd", "path"),
    [
        ({"type": "message_delta", "delta": 5}, ("stop",)),
        ({"type": "message_delta", "delta": {}, "usage": [1]}, ("usage",)),
    ],
)
def test_a_messages_event_of_another_kind(odd: dict[str, Any], path: Path) -> None:
    assert told("messages", 4, odd) == [(path, "dropped")]


def test_a_messages_start_without_a_message() -> None:
    first, *rest = said("messages", HI)
    odd = first.partition(b"data: ")[0] + b'data: {"type": "message_start", "message": "m"}\n\n'
    seen = read_however_cut("messages", b"".join([odd, *rest]))
    assert [(note.path, note.action) for note in seen.notes] == [(("message",), "dropped")]


PLACE = {"output_index": 0, "content_index": 0, "item_id": "item_0"}


@pytest.mark.parametrize(
    ("odd", "path"),
    [
        ({"type": "response.output_text.delta", **PLACE, "delta": 5}, ("message", "content", 0, "text")),
        ({"type": "response.output_text.done", **PLACE, "text": ["Hi"]}, ("message", "content", 0, "text")),
        ({"type": "response.content_part.added", **PLACE, "part": "Hi"}, ("message", "content")),
        ({"type": "response.output_item.done", "output_index": 0, "item": "Hi"}, ("message",)),
        ({"type": "response.in_progress", "response": "r"}, ("message",)),
    ],
)
def test_a_responses_event_of_another_kind(odd: dict[str, Any], path: Path) -> None:
    assert told("responses", 3, odd) == [(path, "dropped")]


def test_items_of_a_last_response_that_are_no_objects() -> None:
    *events, last = said("responses", HI)
    value = json.loads(last.partition(b"data: ")[2])
    for output in ([*value["response"]["output"], "x"], "x"):
        ended = event({**value, "response": {**value["response"], "output": output}})
        seen = read_however_cut("responses", b"".join([*events, ended]))
        assert seen.reply.text == "Hi!!"
        assert [(note.path, note.action) for note in seen.notes] == [(("message",), "dropped")]


@pytest.mark.parametrize("annotation", [5, None, {"type": "new_citation", "at": 3}, {"url": "https://a.test"}])
def test_an_annotation_of_a_type_we_do_not_know_is_passed_on(annotation: Any) -> None:
    """Whole to a client of the same wire, and told to any other."""
    odd = {"type": "response.output_text.annotation.added", **PLACE, "annotation_index": 0, "annotation": annotation}
    events = said("responses", HI)
    seen = read("responses", [*events[:4], event(odd), *events[4:]])
    assert [each.payload for each in seen.events if isinstance(each, Raw)] == [odd]
    written = {wire: find(wire).stream_encoder(BASE, Exchange()) for wire in ("responses", "messages")}
    for encoder in written.values():
        out = b"".join(encoder.encode(each) for each in seen.events)
        whole = b'"annotation":' + jsonio.encode(annotation)
        assert (whole in out) is (encoder is written["responses"])
    assert [note.path for note in written["messages"].notes] == [("events",)]


def counted(call: Any) -> int:
    """How many functions, ours and Python's, a call calls."""
    calls = 0

    def count(frame: FrameType, what: str, argument: Any) -> None:
        nonlocal calls
        calls += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return calls


def test_items_without_a_place_are_not_looked_through_for_the_next() -> None:
    looked: list[int] = []

    class Items(dict[int, Any]):
        def __iter__(self) -> Any:
            looked.append(len(self))
            return super().__iter__()

    decoder = ResponsesStreamDecoder(BASE, Exchange())
    decoder._items = Items()  # pyright: ignore[reportPrivateUsage]
    for at in range(50):
        item = {"type": "function_call", "id": f"fc{at}", "call_id": f"c{at}", "name": "f", "arguments": "{}"}
        decoder.feed(event({"type": "response.output_item.done", "item": item}))
    assert list(decoder._items.values())[-1].index == 49  # pyright: ignore[reportPrivateUsage]
    assert looked == []


def parts(count: int) -> list[StreamEvent]:
    """One message of many texts, and a thought of as many parts."""
    out: list[StreamEvent] = [BlockStart(index=0, block=Reasoning(summary=()))]
    out += [Delta(index=0, field="summary", text="hm", part=at) for at in range(count)]
    out.append(BlockEnd(index=0))
    for at in range(1, count + 1):
        out += [BlockStart(index=at, block=Text(text="")), Delta(index=at, text="a"), Delta(index=at, text="b")]
        out.append(BlockEnd(index=at))
    return [*out, Finish(stop=Stop(reason="end"))]


def test_many_parts_of_one_message_are_written_with_linear_work() -> None:
    def write(count: int) -> None:
        encoder = find("responses").stream_encoder(BASE, Exchange())
        for each in parts(count):
            encoder.encode(each)

    few, many = (counted(lambda n=n: write(n)) for n in (50, 200))
    assert many < 4.3 * few


def test_reasoning_details_in_many_pieces_are_joined_once() -> None:
    class Text(str):
        """Counts how often a text is added to another."""

        added = 0

        def __add__(self, other: str) -> str:
            Text.added += 1
            return Text(str(self) + other)

    details = Details()
    for at in range(200):
        details.add(
            {"type": "reasoning.text", "index": at % 2, "text": Text("ab"), "signature": None if at < 199 else "s"}
        )
    assert details.whole() == [
        {"type": "reasoning.text", "index": 0, "text": "ab" * 100, "signature": None},
        {"type": "reasoning.text", "index": 1, "text": "ab" * 100, "signature": "s"},
    ]
    assert Text.added == 0


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_what_the_pieces_of_another_wire_bring_along_is_told_once(wire: str) -> None:
    """Log probabilities and keys that nobody knows come with single pieces, some of them late and some of them empty."""
    foreign = "responses" if wire == "chat" else "chat"
    encoder = find(wire).stream_encoder(BASE, Exchange())
    bags: list[dict[str, Any] | None] = [None, {"logprobs": []}, {"logprobs": [1]}, {"logprobs": [2], "later": 1}, None]
    pieces = [Delta(index=0, text="a", opaque=None if left is None else {foreign: left}) for left in bags]
    for one in (BlockStart(index=0, block=Text(text="")), *pieces, BlockEnd(index=0), Finish(stop=Stop(reason="end"))):
        encoder.encode(one)
    told = [(note.path, note.action, note.loss) for note in encoder.notes]
    place = ("message", "content", 0)
    assert told == [((*place, "logprobs"), "dropped", True), ((*place, "later"), "dropped", True)]
