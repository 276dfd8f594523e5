"""Guards calls that arrive in pieces: each piece to its call, by id, index or place, whatever the server says of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import BlockEnd, BlockStart, Finish, Start, Stop, ToolCall, collect
from dragoman.wire.assemble import Assembler, Piece
from dragoman.wire.base import Exchange, Notes

READ, LIST = '{"path":"a"}', '{"dir":"b"}'


def assembled(*pieces: Piece, offered: tuple[str, ...] = ("read", "list")) -> tuple[list[ToolCall], Notes]:
    """The calls that the pieces add up to."""
    notes, count = Notes(), iter(range(100))
    calls = Assembler("chat", lambda: next(count), Exchange(seed="s", offered=offered))
    events: list[Any] = [Start()]
    for piece in pieces:
        events += calls.take(piece, "function", {}, notes)
    events += [*calls.close(notes), Finish(stop=Stop(reason="tool_calls"))]
    begun = [event.index for event in events if isinstance(event, BlockStart)]
    assert begun == sorted(set(begun)) == sorted(event.index for event in events if isinstance(event, BlockEnd))
    content = collect(events).message.content
    return [block for block in content if isinstance(block, ToolCall)], notes


def said(*pieces: Piece) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in assembled(*pieces)[0]]


TWO = [("t1", "read", READ), ("t2", "list", LIST)]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([Piece(0, "t1", "read", READ), Piece(1, "t2", "list", LIST)], id="whole"),
        pytest.param(
            [
                Piece(0, "t1", "read", ""),
                Piece(0, None, None, READ),
                Piece(1, "t2", "list", ""),
                Piece(1, None, None, LIST),
            ],
            id="in turn",
        ),
        pytest.param(
            [
                *(Piece(0, "t1", "read", ""), Piece(1, "t2", "list", ""), Piece(0, None, None, '{"path"')),
                *(Piece(1, None, None, '{"dir":'), Piece(0, None, None, ':"a"}'), Piece(1, None, None, '"b"}')),
            ],
            id="interleaved by index",
        ),
        pytest.param(
            [
                *(Piece(None, "t1", "read", ""), Piece(None, "t2", "list", ""), Piece(None, "t1", None, READ)),
                Piece(None, "t2", None, LIST),
            ],
            id="interleaved by id",
        ),
        pytest.param(
            [
                Piece(0, "t1", "read", ""),
                Piece(0, None, None, READ),
                Piece(0, "t2", "list", ""),
                Piece(0, None, None, LIST),
            ],
            id="every call counted as 0",
        ),
        pytest.param(
            [Piece(None, "t1", "read", ""), Piece(None, None, None, READ), Piece(None, "t2", "list", LIST)],
            id="no index",
        ),
        pytest.param([Piece("0", "t1", "read", READ), Piece("1", "t2", "list", LIST)], id="indexes as text"),
        pytest.param(
            [Piece(0, "t1", None, ""), Piece(0, None, "read", READ), Piece(1, "t2", "list", LIST)], id="name late"
        ),
        pytest.param(
            [Piece(0, "t1", "re", ""), Piece(0, None, "ad", READ), Piece(1, "t2", "list", LIST)], id="name split"
        ),
        pytest.param(
            [Piece(0, "t1", "read", '{"path"'), Piece(0, "t1", "read", ':"a"}'), Piece(1, "t2", "list", LIST)],
            id="name again",
        ),
        pytest.param(
            [Piece(0, "t1", "read", {"path": "a"}), Piece(1, "t2", "list", {"dir": "b"})], id="arguments as objects"
        ),
        pytest.param(
            [Piece(0, "t1", "read", ""), Piece(0, "", "", READ), Piece(1, "t2", "list", ""), Piece(1, "", "", LIST)],
            id="empty ids and names",
        ),
    ],
)
def test_two_calls_however_they_are_told(pieces: list[Piece]) -> None:
    assert said(*pieces) == TWO


def test_a_call_without_an_id_gets_a_made_one_and_it_is_told() -> None:
    calls, notes = assembled(Piece(0, None, "read", READ), Piece(1, "null", "list", LIST))
    again, _ = assembled(Piece(0, None, "read", READ), Piece(1, "null", "list", LIST))
    assert [call.id for call in calls] == [call.id for call in again]
    assert len({call.id for call in calls}) == 2
    assert [(note.action, note.loss) for note in notes.taken] == [("synthesised", False)] * 2


def test_a_call_whose_name_never_came_is_told_all_the_same() -> None:
    assert said(Piece(0, "t1", None, READ)) == [("t1", "", READ)]


def test_cut_arguments_stay_cut() -> None:
    assert said(Piece(0, "t1", "read", '{"path": "a')) == [("t1", "read", '{"path": "a')]


def test_a_call_is_not_whole_when_its_text_happens_to_parse() -> None:
    assert said(Piece(0, "t1", "read", '{"a":1'), Piece(0, None, None, "}")) == [("t1", "read", '{"a":1}')]
    assert said(Piece(0, "t1", "read", "1"), Piece(0, None, None, "2")) == [("t1", "read", "12")]


def test_no_piece_no_call() -> None:
    calls = Assembler("chat", lambda: 0, Exchange())
    assert not calls
    assert calls.close(Notes()) == []


@pytest.mark.req("S3-36")
@given(data=st.data())
def test_any_order_of_the_pieces_of_two_calls(data: st.DataObject) -> None:
    """With indexes, each call's own pieces in order are enough."""
    texts = {0: READ, 1: LIST}
    queues = {key: [Piece(key, f"t{key + 1}", ("read", "list")[key], "")] for key in texts}
    for key, text in texts.items():
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
        queues[key] += [Piece(key, None, None, text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    pieces: list[Piece] = [queues[0].pop(0)]
    while any(queues.values()):
        key = data.draw(st.sampled_from([key for key, queue in queues.items() if queue]))
        pieces.append(queues[key].pop(0))
    assert sorted(said(*pieces)) == TWO


@given(
    st.lists(
        st.tuples(*(st.sampled_from([None, "", 0, 1, "0", "t1", [], {}, "read", '{"a":', "}"]) for _ in range(4))),
        max_size=6,
    )
)
def test_any_pieces_are_calls(pieces: list[Any]) -> None:
    for call in assembled(*(Piece(*piece) for piece in pieces))[0]:
        assert json.dumps([call.id, call.name, call.arguments])
