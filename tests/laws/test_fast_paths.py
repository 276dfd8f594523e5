"""Guards the short ways of the codecs: what is read by comparing or written by filling in equals what the long way gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError
from dragoman.translate import StreamTranslator
from dragoman.types import Reply, Request, Stop, assistant, explode, tool, user
from dragoman.types.content import Reasoning, Refusal, Text, ToolCall, ToolResult
from dragoman.types.events import Delta, StreamEvent
from dragoman.wire import WIRES, find
from dragoman.wire.again import Again, learn
from dragoman.wire.base import Exchange
from dragoman.wire.jsonio import MAX_DEPTH
from dragoman.wire.sse import Sse, lead
from dragoman.wire.stencil import MARK, Stencil
from dragoman.wire.streaming import SseDecoder
from laws.bodies import LANDED, of
from laws.both_ways import decode_request, decode_stream, encode_request
from matrix import recordings
from says import SAYS
from strategies import requests

BLOCKS = (
    Text(text=""),
    Reasoning(text="", opaque={"messages": {"signature": "c2ln"}}),
    ToolCall(id="call_1", name="read", arguments=""),
    Refusal(text=""),
)
WORDS = st.sampled_from(
    (" word", "读取", '"quoted" \\ and\n', "a", " ", "🙂", "{", '"}}', MARK, "\u2028", "<think>", "null")
)
PAIRS = [(one, other) for one in WIRES for other in WIRES if one != other]


@contextmanager
def long_way() -> Iterator[None]:
    """Nothing is learned, nothing filled in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SseDecoder, "_learn", lambda *_: None)
        patch.setattr(Stencil, "fill", lambda self, text, number=0: self._write(text, number))
        yield


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many events were read the short way."""
    hits: list[int] = []
    read = Again.read

    def counting(self: Again, frame: bytes | Sse) -> Any:
        found = read(self, frame)
        hits.extend([1] if found else [])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Again, "read", counting)
        yield hits


def grown(words: list[str], blocks: list[Any]) -> list[StreamEvent]:
    """A stream in which each block grows by each of the words."""
    reply = Reply(message=assistant(*blocks), stop=Stop(reason="end"))
    out: list[StreamEvent] = []
    for event in explode(reply):
        if isinstance(event, Delta):
            out += [Delta(index=event.index, field=event.field, text=word) for word in words]
        else:
            out.append(event)  # type: ignore[arg-type]
    return out


def encoded(wire: str, events: list[StreamEvent]) -> bytes:
    encoder = find(wire).stream_encoder(BASE, Exchange(include_usage=True))
    return b"".join([*(encoder.encode(event) for event in events), encoder.close()])


def through(source: str, target: str, whole: bytes) -> bytes:
    translator = StreamTranslator(find(source), find(target))
    return translator.feed(whole) + translator.close()


@pytest.mark.parametrize("wire", LANDED)
@given(words=st.lists(WORDS, min_size=4, max_size=9), blocks=st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=3))
def test_pieces_of_any_text(wire: str, words: list[str], blocks: list[Any]) -> None:
    events = grown(words, blocks)
    whole = encoded(wire, events)
    short = decode_stream(wire, [whole])
    with long_way():
        assert encoded(wire, events) == whole
        assert decode_stream(wire, [whole]) == short


@pytest.mark.parametrize("wire", LANDED)
def test_most_of_a_long_text_goes_the_short_way(wire: str) -> None:
    whole = encoded(wire, grown([f" word{at}" for at in range(50)], [Text(text="")]))
    with counted() as hits:
        decode_stream(wire, [whole])
    assert len(hits) >= 47  # two tell what stays the same


@pytest.mark.parametrize(("wire", "name"), [(wire, name) for wire in LANDED for name in of(wire).STREAMS])
def test_streams_by_hand(wire: str, name: str) -> None:
    whole = of(wire).STREAMS[name]
    short = decode_stream(wire, [whole])
    with long_way():
        assert decode_stream(wire, [whole]) == short


@pytest.mark.corpus
@pytest.mark.skipif(not recordings.present(), reason="the recordings are not here")
@pytest.mark.parametrize("wire", LANDED)
def test_recorded_streams(wire: str) -> None:
    """Every recorded stream, read both ways and written on the two other wires both ways."""
    hits = 0
    for entry in recordings.judged(wire):
        if not recordings.is_stream(entry):
            continue
        whole = recordings.body(entry)
        with counted() as seen:
            short = decode_stream(wire, [whole])
            written = [through(wire, other, whole) for other in WIRES if other != wire]
        hits += len(seen)
        with long_way():
            assert decode_stream(wire, [whole]) == short, entry["id"]
            assert [through(wire, other, whole) for other in WIRES if other != wire] == written, entry["id"]
    assert hits > 1000


LEARNED = b'{"n":1,"a":{"t":"x","u":"y"},"o":"pad"}'
VALUE = {"n": 1, "a": {"t": "x", "u": "y"}, "o": "pad"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"n":22,"a":{"t":"\\u00e9 \\"q","u":"y"},"o":""}', ('é "q', {"o": ""})),
        (b'{"n":1,"a":{"t": "spaced" ,"u":"y"},"o":"pad"}', ("spaced", {"o": "pad"})),
        (b'{"n":01,"a":{"t":"x","u":"y"},"o":"pad"}', None),
        (b'{"n":1.5,"a":{"t":"x","u":"y"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":7,"u":"y"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":"x","u":"y","t":"z","u":"y"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":"x","u":"z"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":"\xff","u":"y"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":"\\ud800","u":"y"},"o":"pad"}', None),
        (b'{"n":1,"a":{"t":"x","u":"y"}}', None),
        (b'{"n":%b,"a":{"t":"x","u":"y"},"o":"pad"}' % (b"9" * 5000), None),  # no parser reads such a number
    ],
)
def test_what_an_event_like_the_last_may_say(data: bytes, said: tuple[str, dict[str, str]] | None) -> None:
    again = learn(None, LEARNED, VALUE, ("a", "t"), ("n", "o", "absent"))
    assert again is not None
    text = again.read(lead(None) + data)
    assert again.read(Sse(None, data)) == text
    assert again.read(Sse("named", data)) is again.read(data) is None
    assert (None if text is None else (text, again.said)) == said


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    ("wire", "event"),
    [
        ("chat", b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}'),
        (
            "messages",
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
            b'"delta":{"type":"text_delta","text":"x"}}',
        ),
        ("responses", b'data: {"type":"response.output_text.delta","item_id":"a","output_index":0,"delta":"x"}'),
    ],
)
def test_a_line_end_within_an_event(wire: str, event: bytes, line_end: bytes) -> None:
    """What follows it is another line, which says nothing unless it is a field: never the rest of the event."""
    odd = [event.replace(b'"x"', around) for around in (b'\n"x"', b'"x"\n', b'\ndata:"x"', b'"x"\ndata: ')]
    for one in odd:
        whole = b"".join(
            frame.replace(b"\n", line_end) + 2 * line_end for frame in (*[event] * 4, one, event, *[one] * 4)
        )
        short = decode_stream(wire, [whole])
        with long_way():
            assert decode_stream(wire, [whole]) == short


def test_padding_that_is_no_text() -> None:
    """It is kept as each event says it, not as the last one did."""
    words = [
        b'data: {"type":"response.output_text.delta","item_id":"a","output_index":0,"delta":"x","obfuscation":%b}\n\n'
        % padding
        for padding in (b"1", b"2", b"3", b"4", b'"five"', b'"six"', b'"seven"', b"8", b"null", b"9")
    ]
    short = decode_stream("responses", [b"".join(words)])
    with long_way():
        assert decode_stream("responses", [b"".join(words)]) == short


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":{"t":"x"},"b":{"t":"x"}}',  # in two places
        b'{"a":{"t":"\\u0078"}}',  # spelled otherwise
        b'{"a":{"t":"x"},"a":{"t":"y"}}',  # and said again
        b'{"a":\n{"t":"x"}}',  # of two lines of data
    ],
)
def test_what_cannot_be_told_from_the_bytes_is_not_learned(data: bytes) -> None:
    assert learn(None, data, {"a": {"t": "x"}, "b": {"t": "x"}}, ("a", "t"), ()) is None


PLAIN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "chat": (("read_message", "read_tool"), ("write_message", "write_results", "write_tool")),
    "messages": (
        ("read_turn", "read_tool"),
        ("write_turn", "write_text", "write_call", "write_result", "write_tool"),
    ),
    "responses": (("read_item", "read_tool"), ("write_instructions", "write_items", "write_tool")),
}


@contextmanager
def nothing_shaped() -> Iterator[None]:
    """No body is read at once (test_shapes.py guards those that are)."""
    with pytest.MonkeyPatch.context() as patch:
        for wire in WIRES:
            if find_spec(f"dragoman.wire.{wire}.shapes"):
                patch.setattr(import_module(f"dragoman.wire.{wire}.shapes"), "read", lambda *_: None)
        yield


@contextmanager
def nothing_plain() -> Iterator[None]:
    """Every message goes the long way."""
    with nothing_shaped(), pytest.MonkeyPatch.context() as patch:
        for wire, names in PLAIN.items():
            module = import_module(f"dragoman.wire.{wire}.plain")
            for name in (*names[0], *names[1]):
                patch.setattr(module, name, lambda *_: None)
        yield


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=20)
@given(data=st.data())
def test_requests_of_any_kind(wire: str, data: st.DataObject) -> None:
    """Written on this wire, read back, and written on the others."""
    request = data.draw(requests(SAYS[data.draw(st.sampled_from(WIRES))]))
    short = encode_request(wire, request)
    read = decode_request(wire, short.http.body)
    onward = [encode_request(other, read.request, wire) for other in WIRES]
    with nothing_plain():
        assert encode_request(wire, request) == short
        assert decode_request(wire, short.http.body) == read
        assert [encode_request(other, read.request, wire) for other in WIRES] == onward


@pytest.mark.corpus
@pytest.mark.skipif(not recordings.present(), reason="the recordings are not here")
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_requests(wire: str) -> None:
    compared = 0
    for entry in recordings.entries(wire):
        try:
            body = recordings.request_body(entry)
            read = decode_request(wire, body)
        except (DragomanError, KeyError, FileNotFoundError):
            continue
        onward = [encode_request(other, read.request, wire) for other in WIRES]
        with nothing_plain():
            assert decode_request(wire, body) == read, entry["id"]
            assert [encode_request(other, read.request, wire) for other in WIRES] == onward, entry["id"]
        compared += 1
    assert compared > 100


def test_plain_messages_go_the_short_way() -> None:
    """A test that compares nothing would pass: the long way is never asked."""
    talk = [
        user("read it"),
        assistant(Text(text="I do."), ToolCall(id="call_1", name="read", arguments="{}")),
        tool(ToolResult(call_id="call_1", content=(Text(text="words"),))),
        assistant("Done."),
    ]
    request = Request(model="m", max_output=9, messages=(*talk, user("and now?")))
    for wire, (readers, writers) in PLAIN.items():
        module = import_module(f"dragoman.wire.{wire}.plain")
        calls: list[Any] = []
        with nothing_shaped(), pytest.MonkeyPatch.context() as patch:
            for name in (*readers, *writers):
                patch.setattr(module, name, _kept(getattr(module, name), calls))
            body = encode_request(wire, request).http.body
            written = len(calls)
            decode_request(wire, body)
        assert written >= len(talk), wire
        assert not readers or len(calls) - written >= len(talk), wire


def _kept(call: Any, kept: list[Any]) -> Any:
    def calling(*given: Any) -> Any:
        found = call(*given)
        kept.extend([found] if found else [])
        return found

    return calling


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("levels", [MAX_DEPTH - 6, MAX_DEPTH - 5, MAX_DEPTH, 5000])
def test_arguments_as_deep_as_a_body_may_be(wire: str, levels: int) -> None:
    """What is written can be read: arguments that would make a body too deep are told and go as text."""
    deep = ToolCall(id="1", name="f", arguments='{"a":' + "[" * levels + "]" * levels + "}")
    request = Request(
        model="m",
        max_output=9,
        messages=(user("go"), assistant(deep), tool(ToolResult(call_id="1", content=(Text(text="x"),)))),
    )
    short = encode_request(wire, request)
    read = decode_request(wire, short.http.body).request.messages[1].content[0]
    kept = wire != "messages" or levels == MAX_DEPTH - 6
    assert isinstance(read, ToolCall)
    assert (read.arguments == deep.arguments) is kept is (short.notes == ())
    with nothing_plain():
        assert encode_request(wire, request) == short
