"""Guards the frames of server-sent events: comments, line ends, spaces, several lines and marks that are no data."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from dragoman.types import KeepAlive, Text
from dragoman.wire.sse import Sse, SseReader
from hazards.cases import DONE, WIRES, Seen, chat, chunk, data, read, read_however_cut, said

each_wire = pytest.mark.parametrize("wire", WIRES)


def plain(wire: str) -> list[bytes]:
    """The events of a small reply."""
    return said(wire, Text(text="你好, ok\u2028"))


def without_signs(seen: Seen) -> Seen:
    """What was seen, signs of life apart."""
    events = tuple(event for event in seen.events if not isinstance(event, KeepAlive))
    return Seen(events, seen.reply, seen.failure, seen.notes)


QUIET = [
    b": OPENROUTER PROCESSING\n\n",
    b": keep-alive\n\n",
    b":\n\n",
    b":\n",
    b": ping\n",
    b"retry: 3000\n\n",
    b"id: 7\n\n",
    b"id: 7\nretry: 3000\n: x\n\n",
    b"event: ping\n\n",
    b"\n\n\n",
    b"data\n\n",
    b"data:\n\n",
    b"data: \n\n",
    b"unknown: field\n\n",
    b"no colon\n\n",
]


@each_wire
@pytest.mark.case("STR-020")
@pytest.mark.parametrize("quiet", QUIET, ids=repr)
def test_a_block_without_data_is_no_event(wire: str, quiet: bytes) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    loud = b"".join(quiet + event for event in plain(wire))
    assert without_signs(read_however_cut(wire, loud)) == whole


@each_wire
@pytest.mark.case("STR-020")
def test_each_comment_is_a_sign_of_life(wire: str) -> None:
    stream = b": a\n\n" + plain(wire)[0] + b":b\n\n: c\n\n"
    assert [event for event in read_however_cut(wire, stream).events if isinstance(event, KeepAlive)] == [
        KeepAlive()
    ] * 3


@each_wire
@pytest.mark.case("STR-021")
@pytest.mark.parametrize("quiet", QUIET[:5], ids=repr)
def test_an_id_that_came_before_makes_no_event_of_a_comment(wire: str, quiet: bytes) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b"".join(b"id: %d\n" % at + event + quiet for at, event in enumerate(plain(wire)))
    assert without_signs(read_however_cut(wire, stream)) == whole


@each_wire
@pytest.mark.case("STR-038")
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_line_ends_are_one_wherever_reads_part_them(wire: str, end: bytes) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b"".join(plain(wire)).replace(b"\n", end)
    ends = [at for at in range(len(stream)) if stream[at : at + 1] in (b"\r", b"\n")]
    for at in sorted({place + step for place in ends for step in (0, 1)}):
        assert read(wire, [stream[:at], stream[at:]]) == whole
    everywhere = [0, *sorted({place + step for place in ends for step in (0, 1)}), len(stream)]
    assert read(wire, [stream[one:two] for one, two in pairwise(everywhere)]) == whole
    assert read_however_cut(wire, stream) == whole


@pytest.mark.case("STR-038")
@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"], ids=["CRLF", "CR", "LF"])
def test_two_data_lines_whose_line_end_is_parted_are_one_event(end: str) -> None:
    first = 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    second = 'data: "choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}'
    stream = (first + end + second + end + end + "data: [DONE]" + end + end).encode()
    for at in range(1, len(stream)):
        seen = read("chat", [stream[:at], stream[at:]])
        assert (seen.reply.text, seen.reply.stop.reason, seen.failure) == ("ok", "end", None)


@pytest.mark.case("STR-038")
def test_with_bare_carriage_returns_an_event_does_not_wait_for_the_next() -> None:
    assert SseReader().feed(b"data: a\r\r") == [Sse(None, b"a")]
    reader = SseReader()
    assert [reader.feed(part) for part in (b"data: a\r", b"\r")] == [[], [Sse(None, b"a")]]
    assert [reader.feed(part) for part in (b"data: b\r", b"\n", b"\r", b"\n")] == [[], [], [Sse(None, b"b")], []]


@each_wire
@pytest.mark.case("STR-039")
@pytest.mark.parametrize("space", [b"", b" "], ids=["no-space", "one-space"])
def test_the_space_after_a_colon_may_be_missing(wire: str, space: bytes) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b"".join(plain(wire)).replace(b"data: ", b"data:" + space).replace(b"event: ", b"event:" + space)
    assert read_however_cut(wire, stream) == whole


@pytest.mark.case("STR-039")
def test_at_most_one_space_is_taken_off() -> None:
    assert SseReader().feed(b"event:  e\ndata:  two\ndata:\ttab\n\n") == [Sse(" e", b" two\n\ttab")]


@each_wire
@pytest.mark.case("STR-040")
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_payload_over_several_data_lines_is_one_payload(wire: str, indent: int | None) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b""
    for event in plain(wire):
        name, _, value = event.rpartition(b"data: ")
        text = value.decode().strip()
        lines = text if text == "[DONE]" else json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
        if indent is None:
            lines = lines.replace(', "', ',\n"')
        stream += name + b"".join(b"data: " + line.encode() + b"\n" for line in lines.split("\n")) + b"\n"
    assert read_however_cut(wire, stream) == whole


@each_wire
@pytest.mark.case("STR-041")
@pytest.mark.parametrize("before", [b"", b"\n", b" \n\n", b": hi\n\n"], ids=repr)
def test_a_byte_order_mark_is_no_part_of_the_first_event(wire: str, before: bytes) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b"\xef\xbb\xbf" + before + b"".join(plain(wire))
    assert without_signs(read_however_cut(wire, stream)) == whole


@pytest.mark.case("STR-041")
def test_a_byte_order_mark_within_the_text_is_text() -> None:
    mark = "\ufeff"
    assert read_however_cut("chat", chat({"content": f"{mark}a{mark}"})).reply.text == f"{mark}a{mark}"


@each_wire
@pytest.mark.case("STR-022")
@pytest.mark.parametrize("comment", [": OPENROUTER PROCESSING", ":", ": {}"])
def test_a_comment_that_a_proxy_wrapped_up_as_data_is_a_sign_of_life(wire: str, comment: str) -> None:
    whole = read(wire, [b"".join(plain(wire))])
    stream = b"".join(data(comment) + event for event in plain(wire))
    assert without_signs(read_however_cut(wire, stream)) == whole


@pytest.mark.case("STR-020")
def test_the_case_as_it_was_met() -> None:
    parts = [
        chunk({"content": "a"}),
        b": keep-alive\n\nretry: 3000\n\n:\n\n",
        chunk({"content": "b"}),
        chunk({}, "stop"),
    ]
    seen = read_however_cut("chat", b"".join([b": OPENROUTER PROCESSING\n\n", *parts, DONE]))
    assert (seen.reply.text, seen.reply.stop.reason, seen.failure, seen.notes) == ("ab", "end", None, ())
