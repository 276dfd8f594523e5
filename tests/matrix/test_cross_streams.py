"""Guards that a stream written for a client of any wire is in that wire's strict order, reads the same, and that the
official SDKs' own stream readers take it over a real socket: nine pairs."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.types import KeepAlive, Start
from dragoman.types.events import StreamEvent
from dragoman.wire import find
from dragoman.wire.base import Exchange
from laws.bodies import of
from matrix import grammar, oracle, reader, readers, recordings
from matrix.pairs import same
from matrix.recordings import Entry

NINE = [(source, target) for source in recordings.WIRES for target in recordings.WIRES]
CLIENT = Exchange(stream=True, include_usage=True, model="m", seed="nine pairs", now=1)
SEED, A_SOURCE = 20261130, 16  # a sample goes over sockets; `grammar` and `oracle` see every stream

# Streams that are out of their own wire's order; written again on that wire they stay so.
OUT_OF_ORDER = {
    ("messages", "ai-31b51452d730"): "a server begins a call with its arguments",
    ("messages", "ai-8135a20141dc"): "message_start holds a finished call",
    ("responses", "pydantic-ai-6c46f019ad7b"): "a background response is queued first",
    ("responses", "pydantic-ai-d243e04dfd36"): "a resumed background stream has no response.created",
    ("responses", "pydantic-ai-e1542982e07d"): "the server never finishes two of its items",
}
# Streams whose meaning another wire cannot hold, or whose own SDK does not take them.
UNSAYABLE = {
    "pydantic-ai-10d08fc4f4c9": "its error chunk also holds the usage",
    "ai-67edca6fd199": "the finished item has another call_id than the announced one: its SDK refuses it",
    "pydantic-ai-d243e04dfd36": "a resumed background stream: its SDK wants response.created first",
}


def written(events: list[StreamEvent], target: str) -> bytes:
    """The bytes for a client of `target`."""
    encoder = find(target).stream_encoder(BASE, CLIENT)
    return b"".join(encoder.encode(event) for event in events) + encoder.close()


def streams(source: str) -> list[Entry]:
    return [entry for entry in recordings.judged(source) if recordings.is_stream(entry) and entry["status"] < 400]


@cache
def sample(source: str) -> tuple[Entry, ...]:
    """Some streams of each source, the same ones always: of each thing a stream may hold, then any."""
    found = streams(source)
    random.Random(SEED).shuffle(found)
    read = {entry["id"]: oracle.read(entry) for entry in found}
    wanted = ("reasoning", "refusal", "calls", "failed", "usage")
    first = [next((e for e in found if getattr(read[e["id"]], name)), None) for name in wanted]
    first.append(next((e for e in found if len(read[e["id"]].calls) > 1), None))
    picked = {
        entry["id"]: entry for entry in (*(e for e in first if e is not None), *found) if entry["id"] not in UNSAYABLE
    }
    return tuple(picked.values())[:A_SOURCE]


@pytest.mark.corpus
@pytest.mark.req("I-01", "I-03")
@pytest.mark.parametrize(("source", "target"), NINE)
def test_every_stream_is_in_order_and_reads_the_same(source: str, target: str) -> None:
    wrong: dict[str, list[str]] = {}
    for entry in streams(source):
        happened = recordings.parse_events(written(reader.streamed(entry), target))
        told = grammar.RULES[target](happened)
        if source == target and (source, entry["id"]) in OUT_OF_ORDER:
            assert told
            told = []
        if entry["id"] not in UNSAYABLE:
            told += same(oracle.read(entry), oracle.READERS[target][1](happened))
        if told:
            wrong[entry["id"]] = told
    assert wrong == {}


@pytest.mark.corpus
@pytest.mark.parametrize(("source", "target"), NINE)
def test_the_official_reader_takes_it_over_a_socket(source: str, target: str) -> None:
    wrong: dict[str, list[str]] = {}
    for entry in sample(source):
        if (source, entry["id"]) in OUT_OF_ORDER and source == target:
            continue
        told = same(oracle.read(entry), readers.read(target, written(reader.streamed(entry), target)))
        if told:
            wrong[entry["id"]] = told
    assert wrong == {}


HAND = [
    (source, name, target) for source in recordings.WIRES for name in of(source).STREAMS for target in recordings.WIRES
]


@pytest.mark.parametrize(("source", "name", "target"), HAND)
def test_streams_by_hand_over_a_socket(source: str, name: str, target: str) -> None:
    decoder = find(source).stream_decoder(BASE, Exchange(stream=True))
    events = [*decoder.feed(of(source).STREAMS[name]), *decoder.close()]
    stream = written(events, target)
    assert grammar.RULES[target](recordings.parse_events(stream)) == []
    expected = oracle.READERS[target][1](recordings.parse_events(stream))
    assert same(expected, readers.read(target, stream)) == []


@pytest.mark.parametrize("target", recordings.WIRES)
def test_a_sign_of_life_is_no_event_out_of_order(target: str) -> None:
    encoder = find(target).stream_encoder(BASE, CLIENT)
    first = encoder.encode(KeepAlive())
    begun = encoder.encode(Start(id="x"))
    again = encoder.encode(KeepAlive())
    assert recordings.parse_events(first) == []
    assert first.startswith(b":")
    assert recordings.parse_events(again) == ([{"type": "ping"}] if target == "messages" else [])
    assert begun or target == "chat"


def test_usage_that_nobody_asked_for_is_not_sent() -> None:
    (stream,) = [of("messages").STREAMS["text"]]
    decoder = find("messages").stream_decoder(BASE, Exchange(stream=True))
    events: list[Any] = [*decoder.feed(stream), *decoder.close()]
    encoder = find("chat").stream_encoder(BASE, Exchange(stream=True, model="m"))
    bytes_ = b"".join(encoder.encode(event) for event in events) + encoder.close()
    assert grammar.chat(recordings.parse_events(bytes_), usage_asked=False) == []


# The rules themselves: each fault is found.

CHUNK: dict[str, Any] = {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk"}
DELTA = {**CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": "stop"}]}


def test_the_rules_of_chat() -> None:
    assert grammar.chat([DELTA, "[DONE]"]) == []
    assert grammar.chat([DELTA]) == ["no [DONE], or not last"]
    assert grammar.chat([DELTA, {**CHUNK, "id": "d", "choices": []}, "[DONE]"]) == ["id changes"]
    late = {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    assert grammar.chat([late, "[DONE]"]) == ["no role in the first chunk"]
    call = {"index": 0, "function": {"name": "read", "arguments": ""}}
    bare = {
        **CHUNK,
        "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "stop"}],
    }
    assert grammar.chat([bare, "[DONE]"]) == ["a call begins without its id or name"]
    used = {**CHUNK, "choices": [], "usage": {"prompt_tokens": 1}}
    assert grammar.chat([DELTA, used, "[DONE]"], usage_asked=False) == ["usage that nobody asked for"]


def test_the_rules_of_messages() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 0}}}
    end = [{"type": "message_delta", "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    stop = {"type": "content_block_stop", "index": 0}
    assert grammar.messages([start, block, stop, *end]) == []
    assert grammar.messages([start, block, {**block, "index": 1}, stop, *end]) == [
        "block 1 begins where 1 should",
        "content_block_stop of block 0 inside 1",
    ]
    call = {**block, "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}}
    assert grammar.messages([start, call, stop, *end]) == ["a call begins with arguments"]
    assert grammar.messages([start, block, stop, {"type": "message_delta", "usage": {}}, end[1]]) == [
        "no usage at the end"
    ]


def test_the_rules_of_responses() -> None:
    item = {"id": "i", "type": "message"}
    happened = [
        {"type": "response.created"},
        {"type": "response.in_progress"},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", "output_index": 0, "content_index": 0, "item_id": "i"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i"},
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "item_id": "i"},
        {
            "type": "response.content_part.done",
            "output_index": 0,
            "content_index": 0,
            "item_id": "i",
            "part": {"type": "output_text"},
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"output": [item]}},
    ]

    def judged(events: list[Any]) -> list[str]:
        return grammar.responses([{**event, "sequence_number": at} for at, event in enumerate(events)])

    assert judged(happened) == []
    assert grammar.responses(happened) == ["sequence numbers with gaps"]
    unbegun = judged(happened[:3] + happened[4:])
    assert unbegun[0] == "response.output_text.delta before response.content_part.added"
    assert judged([*happened[:5], *happened[6:]]) == ["response.content_part.done before response.output_text.done"]
    assert judged([*happened[:6], *happened[7:]]) == ["the item is done before its response.content_part.done"]
    other = {**happened[4], "item_id": "j"}
    assert judged([*happened[:4], other, *happened[5:]]) == ["response.output_text.delta of another item id"]
    assert judged([*happened[:7], *happened[8:]]) == ["the terminal output is not what was done"]
    assert judged(happened[1:])[0].startswith("begins with")
