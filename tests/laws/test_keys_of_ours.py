"""Guards the keys that are ours, those with a "~" before them: a body that says them itself, at any place and with any value, gives a
value or an error of ours, on every wire it goes on to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError
from dragoman.types import Collector
from dragoman.wire import LIBRARY, find
from dragoman.wire.base import Exchange, Http
from laws.bodies import of
from laws.both_ways import body
from laws.junk import places

NESTED = (
    "function",
    "custom",
    "item",
    "choice",
    "message",
    "reasoning",
    "text",
    "event",
    "piece",
    "begun",
    "echo",
    "options",
)
NAMED = ("namespace", "json_schema", "headers", "instructions", "content", "messages", "stop_details", "input_audio")
MARKED = ("said", "optional", "map")  # in schemas
KEYS = (*NESTED, *NAMED, *MARKED)
ODD: tuple[Any, ...] = (5, {"a": 1, "usage": 5, "format": 5, "~": [1]})


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def gone_odd(value: Any) -> Iterator[Any]:
    """The value with keys of ours in one of its objects, each in turn."""
    text = json.dumps(value)
    for path in places(value):
        if isinstance(at(value, path), dict):
            for odd in ODD:
                made = json.loads(text)
                at(made, path).update({f"~{key}": odd for key in KEYS})
                yield made


def ours(does: Callable[[], Any]) -> Any:
    """What comes of it; None where that is an error of ours."""
    try:
        return does()
    except DragomanError:
        return None


def largest(bodies: dict[str, Any]) -> Any:
    return max(bodies.values(), key=lambda each: len(json.dumps(each)))


@pytest.mark.parametrize("wire", LIBRARY)
def test_requests(wire: str) -> None:
    source, read = find(wire), 0
    for value in gone_odd(largest(of(wire).REQUESTS)):
        incoming: Any = ours(lambda value=value: source.decode_request(Http(body=body(value)), BASE, Exchange()))
        if incoming is None:
            continue
        read += 1
        for to in LIBRARY:
            ours(lambda said=incoming, to=to: translate.onward(said.request, source, find(to)))
    assert read > 3


@pytest.mark.parametrize("wire", LIBRARY)
def test_replies(wire: str) -> None:
    read = 0
    for value in gone_odd(largest(of(wire).REPLIES)):
        decoded: Any = ours(lambda value=value: find(wire).decode_reply(body(value), BASE, Exchange()))
        if decoded is None:
            continue
        read += 1
        for to in LIBRARY:
            ours(lambda said=decoded, to=to: find(to).encode_reply(said.value, BASE, Exchange()))
    assert read > 5


def streams(wire: str) -> Iterator[bytes]:
    """A stream with keys of ours in one object of one event, each in turn."""
    lines = max(of(wire).STREAMS.values(), key=len).split(b"\n")
    for number, line in enumerate(lines):
        lead, brace, rest = line.partition(b"{")
        if brace and lead in (b"", b"data: "):
            for value in gone_odd(json.loads(brace + rest)):
                yield b"\n".join([*lines[:number], lead + body(value), *lines[number + 1 :]])


@pytest.mark.parametrize("wire", LIBRARY)
def test_streams(wire: str) -> None:
    whole = 0
    for data in streams(wire):
        decoder, collector = find(wire).stream_decoder(BASE, Exchange()), Collector()
        events = [*decoder.feed(data), *decoder.close()]
        for event in events:
            collector.feed(event)
        for to in LIBRARY:
            encoder = find(to).stream_encoder(BASE, Exchange())
            ours(lambda encoder=encoder, events=events: [encoder.encode(event) for event in events])
            ours(lambda to=to, said=collector.reply: find(to).encode_reply(said, BASE, Exchange()))
        whole += collector.failure is None
    assert whole > 10


SPOOF = {"~": {"unsaid": True, "legacy": True, "key": [], "role": "absent", "begun": "response.queued"}}
GROWN: dict[str, tuple[dict[str, Any], ...]] = {
    "chat": (
        {"id": "x", "choices": [{"index": 0, "delta": {"content": "a"}}]},
        {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}}]},
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ),
    "completions": ({"choices": [{"index": 0, "text": "a"}]}, {"choices": [{"index": 0, "finish_reason": "stop"}]}),
    "messages": (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ),
    "responses": (
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a"},
        {"type": "response.completed", "response": {"id": "x", "status": "completed", "output": []}},
    ),
    "ollama": ({"message": {"content": "a"}}, {"message": {"content": ""}, "done": True, "done_reason": "stop"}),
}  # fmt: skip


@pytest.mark.parametrize("wire", LIBRARY)
def test_marks_in_a_stream_are_nobodys_but_ours(wire: str) -> None:
    def events(*said: Any) -> list[Any]:
        decoder = find(wire).stream_decoder(BASE, Exchange())
        lead, end = (b"", b"\n") if wire == "ollama" else (b"data: ", b"\n\n")
        return [*decoder.feed(b"".join(lead + body(each) + end for each in said)), *decoder.close()]

    plain = events(*GROWN[wire])
    for number, each in enumerate(GROWN[wire]):
        for path in places(each):
            if isinstance(at(each, path), dict):
                made = json.loads(json.dumps(each))
                at(made, path).update(SPOOF)
                assert events(*GROWN[wire][:number], made, *GROWN[wire][number + 1 :]) == plain
