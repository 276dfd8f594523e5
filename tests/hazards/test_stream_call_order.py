"""Guards against indexes taken for positions: they start anywhere, have holes, and only tell calls apart."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.types import ToolCall
from hazards.cases import calling, chat, piece, read_however_cut, said

INDEXES = [(0, 1), (1, 3), (1, 2), (7, 9), (0, 1000000), (-2, -1), ("1", "3"), (0.0, 1.0), (2**70, 2**70 + 1)]


@pytest.mark.case("STR-013")
@pytest.mark.parametrize("indexes", INDEXES, ids=str)
@pytest.mark.parametrize("interleaved", [False, True], ids=["one-by-one", "interleaved"])
@pytest.mark.parametrize("text", [None, "I read."], ids=["calls-alone", "after-text"])
def test_calls_are_found_by_index_and_stand_in_ascending_order(
    indexes: tuple[Any, Any], interleaved: bool, text: str | None
) -> None:
    begun = [piece(index=at, id=id, name="read", arguments='{"p":') for at, id in zip(indexes, "ab", strict=True)]
    ended = [piece(index=at, arguments=f"{n}}}") for n, at in enumerate(indexes)]
    order = [*begun, *ended] if interleaved else [begun[0], ended[0], begun[1], ended[1]]
    head = [{"content": text}] if text else []
    stream = chat(*head, *({"tool_calls": [each]} for each in order), finish="tool_calls")
    seen = read_however_cut("chat", stream)
    assert seen.calls == (("a", "read", '{"p":0}'), ("b", "read", '{"p":1}'))
    assert seen.outline == ((("text", text),) if text else ()) + (("call", '{"p":0}'), ("call", '{"p":1}'))
    assert (seen.reply.stop.reason, seen.notes) == ("tool_calls", ())


@pytest.mark.case("STR-013")
def test_several_calls_in_one_delta_are_several_calls() -> None:
    begun = [piece(index=at, id=id, name="read", arguments='{"p":') for at, id in ((1, "a"), (2, "b"), (4, "c"))]
    ended = [piece(index=at, arguments=f"{at}}}") for at in (4, 1, 2)]
    seen = read_however_cut("chat", chat({"tool_calls": begun}, {"tool_calls": ended}, finish="tool_calls"))
    assert seen.calls == (("a", "read", '{"p":1}'), ("b", "read", '{"p":2}'), ("c", "read", '{"p":4}'))


CALLS = (ToolCall(id="a", name="read", arguments='{"p":1}'), ToolCall(id="b", name="read", arguments='{"p":2}'))


@pytest.mark.case("STR-013")
@pytest.mark.parametrize("wire", ["messages", "responses"])
@pytest.mark.parametrize("indexes", [(1, 3), (5, 9), (0, 0)], ids=str)
def test_the_other_wires_take_indexes_for_names_too(wire: str, indexes: tuple[int, int]) -> None:
    stream = b"".join(said(wire, *CALLS, stop="tool_calls"))
    key = {"messages": "index", "responses": "output_index"}[wire]
    for at in (1, 0):
        stream = stream.replace(f'"{key}": {at}'.encode(), f'"{key}": <{at}>'.encode())
    for at, index in enumerate(indexes):
        stream = stream.replace(f"<{at}>".encode(), str(index).encode())
    seen = read_however_cut(wire, stream)
    assert seen.calls == (("a", "read", '{"p":1}'), ("b", "read", '{"p":2}'))
    assert (seen.reply.stop.reason, seen.notes) == ("tool_calls", ())


@pytest.mark.case("STR-013")
def test_pieces_at_an_index_that_never_began_go_to_the_open_call() -> None:
    seen = read_however_cut("chat", calling(piece(id="a", name="read"), piece(index=0, arguments='{"p":1}')))
    assert seen.calls == (("a", "read", '{"p":1}'),)


def test_many_calls_are_found_without_looking_through_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.wire import assemble
    from dragoman.wire.base import Exchange, Notes

    asked: list[str] = []

    class Counted(assemble._Slot):  # pyright: ignore[reportPrivateUsage]
        def __getattribute__(self, name: str) -> object:
            asked.append(name)
            return super().__getattribute__(name)

    def work(calls: int) -> int:
        asked.clear()
        indexes = iter(range(calls))
        assembler = assemble.Assembler("chat", indexes.__next__, Exchange())
        for at in range(calls):
            assembler.take(assemble.Piece(at, f"c{at}", "f", "{}"), "function", {}, Notes())
        return len(asked)

    monkeypatch.setattr(assemble, "_Slot", Counted)
    assert work(400) <= 4.2 * work(100)


def test_an_index_of_thousands_of_digits_is_none() -> None:
    seen = read_however_cut("chat", calling(piece(index="1" * 5000, id="c1", name="f", arguments="{}")))
    assert seen.calls == (("c1", "f", "{}"),)
