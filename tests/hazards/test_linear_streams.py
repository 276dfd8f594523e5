"""Guards that streams which no honest server sends are read and written in linear work: counted in steps of the interpreter and characters looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import RemoteError
from dragoman.types import BlockEnd, BlockStart, Delta, Reasoning, Start
from dragoman.types.content import Foreign
from dragoman.wire import find, jsonio, sse
from dragoman.wire.assemble import NAME_MAX, Assembler, Piece
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.tags import ThinkTags


def work(does: Callable[[], Any]) -> int:
    """Steps of the interpreter, and characters of the texts whose methods were called."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        said = getattr(arg, "__self__", None) if event == "c_call" else None
        count += len(said) if isinstance(said, str) else 0

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        does()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def taken(pieces: Iterable[Piece | None], *offered: str) -> None:
    """Calls in pieces; None is where another block begins."""
    numbers = iter(range(10**6))
    assembler, notes = Assembler("chat", lambda: next(numbers), Exchange(offered=offered)), Notes()
    for piece in pieces:
        if piece is None:
            assembler.settle(notes)
        else:
            assembler.take(piece, "function", {}, notes)
    assembler.close(notes)


def nameless(count: int) -> list[Piece]:
    return [Piece(index=at, id=f"n{at}", arguments="{") for at in range(count)]


def calls_after_nameless_ones(count: int) -> None:
    taken([*nameless(count), *(Piece(index=count + at, name="f", arguments="{}") for at in range(count))])


def blocks_after_nameless_ones(count: int) -> None:
    taken([*nameless(count), *[None] * count])


def calls_that_waited_for_each_other(count: int) -> None:
    begun = [Piece(index=at, id=f"c{at}", name="f") for at in range(count)]
    taken([*begun, *(Piece(index=at, arguments="{") for at in range(count))])


def calls_after_half_named_ones(count: int) -> None:
    begun = [Piece(index=at, id=f"c{at}", name="f") for at in range(count)]
    more = [Piece(index=count + at, id=f"d{at}", name="g", arguments="{}") for at in range(count)]
    taken([*begun, *more], "find", "g")


def other_arguments_under_one_id(count: int) -> None:
    whole = Piece(index=0, id="c", name="f", arguments=f'{{"a": "{"x" * 100 * count}"}}')
    taken([whole, *[Piece(index=0, id="c", name="f", arguments='{"b": 1}')] * count])


def pieces_beyond_an_empty_object(count: int) -> None:
    blank = Piece(index=0, id="c", name="f", arguments=f"{{{' ' * 100 * count}}}")
    taken([blank, *[Piece(index=0, arguments="x")] * count])


def blanks_after_blanks(count: int) -> None:
    tags = ThinkTags()
    for text in (" " * 100 * count, *(" ", "") * count):
        tags.feed(text)
    tags.close()


def texts_after_parts_of_a_summary(count: int) -> None:
    encoder = find("responses").stream_encoder(Dialect(reasoning_as_summary=True), Exchange())
    encoder.encode(Start())
    encoder.encode(BlockStart(index=0, block=Reasoning(summary=())))
    for part in range(count):
        encoder.encode(Delta(index=0, field="summary", text="a", part=part))
    for _ in range(count):
        encoder.encode(Delta(index=0, text="b"))


@pytest.mark.parametrize(
    "stream",
    [
        calls_after_nameless_ones,
        blocks_after_nameless_ones,
        calls_that_waited_for_each_other,
        calls_after_half_named_ones,
        other_arguments_under_one_id,
        pieces_beyond_an_empty_object,
        blanks_after_blanks,
        texts_after_parts_of_a_summary,
    ],
)
def test_eight_times_as_much_is_eight_times_the_work(stream: Callable[[int], None]) -> None:
    stream(1)  # what is loaded on first use is loaded
    few, many = (work(lambda count=count: stream(count)) for count in (50, 400))
    assert many < 10 * few


def test_a_name_without_end_is_refused() -> None:
    with pytest.raises(RemoteError, match="name of more than") as caught:
        taken([Piece(index=0, name="x" if at else "f") for at in range(NAME_MAX + 1)])
    assert caught.value.code == "too_large"
    taken([Piece(index=0, name="x" * 2 * NAME_MAX, arguments="{}")])  # whole, it is looked at once


def test_what_an_unknown_block_gathers_is_in_its_end_and_not_in_its_start() -> None:
    block = {"type": "novel", "a": 1}
    said: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {"id": "m", "content": []}}),
        ("content_block_start", {"index": 0, "content_block": block}),
        *(("content_block_delta", {"index": 0, "delta": {"type": "novel_delta", key: 2}}) for key in "abc"),
        ("content_block_stop", {"index": 0}),
    ]
    decoder = find("messages").stream_decoder(BASE, Exchange())
    stream = b"".join(sse.write(jsonio.encode({"type": kind, **value}), kind) for kind, value in said)
    events = decoder.feed(stream)
    start, end = (next(event for event in events if isinstance(event, kind)) for kind in (BlockStart, BlockEnd))
    assert isinstance(start, BlockStart) and isinstance(end, BlockEnd)
    assert isinstance(start.block, Foreign) and isinstance(end.block, Foreign)
    assert (start.block.payload, end.block.payload) == (block, {"type": "novel", "a": 2, "b": 2, "c": 2})
