"""The comparison: read right or not, carried both ways or not, and the table of both."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from dragoman import wire
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, DragomanError
from dragoman.types import Reply, Request
from dragoman.wire.base import Exchange
from matrix import oracle, reader, recordings
from matrix.oracle import Reading
from matrix.recordings import Entry

SHOWN = 60


class Share(NamedTuple):
    """How many of how many, and what differs in each of the rest."""

    total: int
    missed: dict[str, str]

    @property
    def right(self) -> int:
        return self.total - len(self.missed)

    def __str__(self) -> str:
        percent = 100 * self.right / self.total if self.total else 100
        return f"{self.right} of {self.total} ({percent:.1f} %)"


@cache
def read_right(name: str, streamed: bool) -> Share:
    """Replies of one wire whose reading by the codec equals the oracle's."""
    entries = [entry for entry in recordings.judged(name) if recordings.is_stream(entry) is streamed]
    found = {entry["id"]: differences(entry) for entry in entries}
    return Share(len(entries), {id: "; ".join(told) for id, told in found.items() if told})


def differences(entry: Entry) -> list[str]:
    """What the codec reads otherwise than the oracle; empty when nothing."""
    expected = oracle.read(entry)
    try:
        got = reader.read(entry)
    except DragomanError as error:
        return [f"raises {type(error).__name__}: {error}"]
    return compare(expected, got)


def compare(expected: Reading, got: Reading) -> list[str]:
    """The fields in which two readings differ. A text that starts with <think> may be read either way."""
    if expected.text.lstrip().startswith("<think>") and got.text != expected.text:
        expected = _think_split(expected)
        got = dataclasses.replace(got, text=got.text.strip(), reasoning=got.reasoning.strip())
    return [
        f"{field.name}: expected {_short(one)}, got {_short(other)}"
        for field in dataclasses.fields(Reading)
        if not same(one := _plain(getattr(expected, field.name)), other := _plain(getattr(got, field.name)))
    ]


def _think_split(reading: Reading) -> Reading:
    thought, _, text = reading.text.lstrip().removeprefix("<think>").partition("</think>")
    return dataclasses.replace(reading, text=text.strip(), reasoning=(reading.reasoning + thought).strip())


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


@cache
def requests_both_ways(name: str) -> Share:
    """L2: recorded requests that come out of decode and encode as they went in."""
    entries = [entry for entry in recordings.entries(name) if isinstance(entry["request"], dict)]
    found = {entry["id"]: request_difference(entry) for entry in entries}
    return Share(len(entries), {id: told for id, told in found.items() if told})


def request_difference(entry: Entry) -> str:
    """Where encode(decode(request)) differs from the request; empty when nowhere."""
    codec = wire.find(entry["wire"])
    try:
        incoming = codec.decode_request(reader.request(entry), BASE, Exchange())
        out = codec.encode_request(incoming.request, BASE, incoming.exchange)
    except DragomanError as error:
        return f"raises {type(error).__name__}: {error}"
    return "; ".join(paths(entry["request"], json.loads(out.http.body)))


@cache
def replies_both_ways(name: str) -> Share:
    """L2: recorded whole replies that come out of decode and encode as they went in."""
    entries = list(whole_replies(name))
    found = {entry["id"]: reply_difference(entry) for entry in entries}
    return Share(len(entries), {id: told for id, told in found.items() if told})


def whole_replies(name: str) -> Iterator[Entry]:
    """The entries that hold a whole reply; an error object inside a 200 is none."""
    for entry in recordings.entries(name):
        if entry["status"] < 400 and not recordings.is_stream(entry) and not _is_error(entry):
            yield entry


def reply_difference(entry: Entry) -> str:
    """Where encode(decode(reply)) differs from the reply; empty when nowhere."""
    codec = wire.find(entry["wire"])
    try:
        exchange = Exchange()
        if isinstance(entry["request"], dict):
            exchange = codec.decode_request(reader.request(entry), BASE, exchange).exchange
        value = codec.decode_reply(recordings.body(entry), BASE, exchange).value
        out = codec.encode_reply(value, BASE, exchange)
    except DragomanError as error:
        return f"raises {type(error).__name__}: {error}"
    return "; ".join(paths(entry["response"], json.loads(out.body)))


@cache
def streams_both_ways(name: str) -> Share:
    """L2 for streams: written again, they read the same and, where events have names, go through the same events."""
    entries = [entry for entry in recordings.judged(name) if recordings.is_stream(entry)]
    found = {entry["id"]: stream_difference(entry) for entry in entries}
    return Share(len(entries), {id: told for id, told in found.items() if told})


def stream_difference(entry: Entry) -> str:
    """What a stream says otherwise after it was decoded and written again, to a client that asked for usage."""
    written = rewritten(entry)
    told = compare(oracle.read(entry), oracle.READERS[entry["wire"]][1](written))
    if entry["wire"] != "chat" and (before := _names(recordings.events(entry))) != (after := _names(written)):
        told += [f"events {_short(before)} became {_short(after)}"]
    return "; ".join(told)


def rewritten(entry: Entry) -> list[Any]:
    """The events of a recorded stream after decoding and encoding."""
    codec = wire.find(entry["wire"])
    exchange = Exchange()
    if isinstance(entry["request"], dict):
        exchange = codec.decode_request(reader.request(entry), BASE, exchange).exchange
    encoder = codec.stream_encoder(BASE, msgspec.structs.replace(exchange, stream=True, include_usage=True))
    pieces = [encoder.encode(event) for event in reader.streamed(entry)]
    return recordings.parse_events(b"".join(pieces) + encoder.close())


def _names(happened: list[Any]) -> list[str]:
    return [event["type"] for event in happened if isinstance(event, dict) and event["type"] != "ping"]


def decoded(name: str) -> Iterator[tuple[str, Request | Reply]]:
    """Every value that the recordings of one wire decode to, with the id of its recording."""
    codec = wire.find(name)
    for entry in recordings.entries(name):
        try:
            if isinstance(entry["request"], dict):
                yield entry["id"], codec.decode_request(reader.request(entry), BASE, Exchange()).request
            if recordings.is_stream(entry):
                yield entry["id"], reader.collected(entry)[0]
            elif entry["status"] < 400:
                yield entry["id"], reader.reply(entry)
        except (ApiError, DragomanError):
            continue


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1; the order of keys is no matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def paths(went_in: Any, came_out: Any, place: str = "", most: int = 6) -> list[str]:
    """The places where two JSON values differ, in words."""
    if same(went_in, came_out):
        return []
    found: list[str] = []
    if isinstance(went_in, dict) and isinstance(came_out, dict):
        found += [f"{place}.{key} lost ({_short(went_in[key])})" for key in went_in.keys() - came_out.keys()]
        found += [f"{place}.{key} added ({_short(came_out[key])})" for key in came_out.keys() - went_in.keys()]
        for key in went_in.keys() & came_out.keys():
            found += paths(went_in[key], came_out[key], f"{place}.{key}")
    elif isinstance(went_in, list) and isinstance(came_out, list) and len(went_in) == len(came_out):
        for index, pair in enumerate(zip(went_in, came_out, strict=True)):
            found += paths(*pair, f"{place}[{index}]")
    else:
        found.append(f"{place} {_short(went_in)} became {_short(came_out)}")
    return sorted(found)[:most]


def _is_error(entry: Entry) -> bool:
    response = entry["response"]
    return bool(response.get("error")) and not response.keys() & {"choices", "output", "content"}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"


def table() -> list[tuple[str, str, Share, Share, Share | None]]:
    """wire, plain or stream, replies read right, replies both ways, and (in the plain rows) requests both ways."""
    rows: list[tuple[str, str, Share, Share, Share | None]] = []
    for name in recordings.WIRES:
        rows.append((name, "plain", read_right(name, False), replies_both_ways(name), requests_both_ways(name)))
        rows.append((name, "stream", read_right(name, True), streams_both_ways(name), None))
    return rows
