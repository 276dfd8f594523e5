"""Guards the event-stream reader: CR, LF and CRLF, any split, text that only looks like a line end, and linear work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import RemoteError
from dragoman.wire.sse import COMMENT, Sse, SseReader, write
from strategies import pieces


def read(*chunks: bytes, max_bytes: int = 10_000) -> list[Sse]:
    reader = SseReader(max_bytes)
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: a\n\n", [Sse(None, b"a")]),
        (b"data:a\n\n", [Sse(None, b"a")]),
        (b"data:  a\n\n", [Sse(None, b" a")]),
        (b"data: a\r\n\r\n", [Sse(None, b"a")]),
        (b"data: a\r\r", [Sse(None, b"a")]),
        (b"data: a\ndata: b\n\n", [Sse(None, b"a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [Sse("x", b"a"), Sse(None, b"b")]),
        (b"data: a\nevent: late\n\n", [Sse("late", b"a")]),
        (b"data\n\n", [Sse(None, b"")]),
        (b"event: alone\n\n", []),
        (b": a comment\n\n", [Sse(None, None)]),
        (b"id: 7\nretry: 5\nother: x\ndata: a\n\n", [Sse(None, b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Sse(None, b"a")]),
        (b"data: \xef\xbb\xbfa\n\n", [Sse(None, "\ufeffa".encode())]),
        ("data: a\u2028b\u0085c\x0bd\x1ce\n\n".encode(), [Sse(None, "a\u2028b\u0085c\x0bd\x1ce".encode())]),
        (b"data: cut", [Sse(None, b"cut")]),
        (b"data: cut\n", [Sse(None, b"cut")]),
        (b"\n\n\r\n", []),
        (b"", []),
    ],
)
def test_the_grammar(text: bytes, events: list[Sse]) -> None:
    assert read(text) == events
    assert read(*(text[at : at + 1] for at in range(len(text)))) == events


@given(data=st.data())
def test_any_split_of_any_bytes_reads_the_same(data: st.DataObject) -> None:
    alphabet = st.sampled_from(
        [b"data:", b"event:", b":", b" ", b"a", b"\r", b"\n", b"\r\n", "\u2028".encode(), b"\xef\xbb\xbf", b"\xff"]
    )
    text = b"".join(data.draw(st.lists(alphabet, max_size=30)))
    assert read(*data.draw(pieces(text))) == read(text)


@given(
    st.binary(max_size=40).filter(lambda data: b"\n" not in data and b"\r" not in data), st.sampled_from([None, "name"])
)
def test_what_was_written_is_read(data: bytes, name: str | None) -> None:
    assert read(write(data, name)) == [Sse(name, data)]


def test_a_sign_of_life_is_a_comment() -> None:
    assert read(COMMENT) == [Sse(None, None)]


def test_an_event_beyond_the_limit_is_refused_and_a_small_one_after_a_large_stream_is_not() -> None:
    many = b"data: 0123456789\n\n" * 50
    assert len(read(many, max_bytes=100 + len(many))) == 50
    reader = SseReader(max_bytes=100)
    for _ in range(50):
        reader.feed(b"data: 0123456789\n\n")
    with pytest.raises(RemoteError, match="one event of more than 100 bytes") as caught:
        reader.feed(b"data: " + b"x" * 100)
    assert caught.value.code == "too_large"


class Counting(SseReader):
    """Counts the bytes that are joined into lines."""

    joined = 0

    def _take_line(self, line: bytes, events: list[Any]) -> None:
        self.joined += len(line)
        super()._take_line(line, events)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_each_byte_is_joined_once(size: int) -> None:
    """A long line in small pieces costs no more than the line: nothing is joined before it is whole."""
    text = b"data: " + b"x" * 50_000 + b"\n\n"
    reader = Counting()
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.close()
    assert reader.joined == len(text) - 2


def test_events_that_come_one_by_one_leave_nothing_behind() -> None:
    reader = SseReader(1_000)
    for at in range(1_000):
        assert reader.feed(b"data: %d\n\n" % at) == [Sse(None, b"%d" % at)]
    assert [value for value in vars(reader).values() if isinstance(value, list) and value] == []


@pytest.mark.parametrize("name", ["a\nb", "a\n\ndata: x", "a\rdata: x\r\r"])
def test_a_name_that_would_end_its_line_is_not_said(name: str) -> None:
    assert read(write(b"{}", name)) == [Sse(None, b"{}")]
