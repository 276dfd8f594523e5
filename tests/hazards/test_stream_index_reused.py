"""Guards against servers that count every parallel call as one index, or count none: calls must not be merged."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from hazards.cases import calling, piece, read_however_cut

PATHS = ("a", "b", "c")
ARGUMENTS = tuple(json.dumps({"path": path, "lines": [1, {"x": "}{"}]}) for path in PATHS)


def cut(text: str, how: str) -> list[str]:
    """Arguments in fragments."""
    if how == "chars":
        return ["", *text]
    middle = len(text) // 2
    return {"whole": [text], "halves": [text[:middle], text[middle:]], "after": ["", text]}[how]


INDEXES: dict[str, dict[str, Any]] = {
    "all 0": {"index": 0},
    "all 1": {"index": 1},
    "all null": {"index": None},
    "all missing": {},
    "all '0'": {"index": "0"},
}
HOW = ("whole", "halves", "after", "chars")


@pytest.mark.case("STR-004")
@pytest.mark.case("STR-005")
@pytest.mark.parametrize("restated", [False, True], ids=["name-once", "name-in-each"])
@pytest.mark.parametrize("names", [("f", "f", "f"), ("f", "g", "h")], ids=["one-tool", "three-tools"])
@pytest.mark.parametrize(("index", "how"), list(product(INDEXES, HOW)))
def test_another_id_begins_another_call_and_fragments_without_one_go_on_with_the_newest(
    index: str, how: str, names: tuple[str, ...], restated: bool
) -> None:
    pieces: list[dict[str, Any]] = []
    for id, name, arguments in zip(("call_a", "call_b", "call_c"), names, ARGUMENTS, strict=True):
        for at, text in enumerate(cut(arguments, how)):
            beginning = {"id": id, "name": name} if at == 0 else {"name": name} if restated else {}
            pieces.append(piece(**INDEXES[index], **beginning, arguments=text))
    seen = read_however_cut("chat", calling(*pieces), offered=("f", "g", "h"))
    ids = ("call_a", "call_b", "call_c")
    assert seen.calls == tuple(zip(ids, names, ARGUMENTS, strict=True))
    assert (seen.reply.stop.reason, seen.failure, seen.notes) == ("tool_calls", None, ())


@pytest.mark.case("STR-004")
@pytest.mark.parametrize("repeat_id", [False, True], ids=["id-once", "id-in-each"])
@pytest.mark.parametrize("index", INDEXES)
def test_interleaved_fragments_find_their_call_by_id(index: str, repeat_id: bool) -> None:
    first = [piece(**INDEXES[index], id=id, name="f", arguments="") for id in ("a", "b")]
    halves = [cut(arguments, "halves") for arguments in ARGUMENTS[:2]]
    rest = [
        piece(**INDEXES[index], id=id, arguments=text)
        for texts in zip(*halves, strict=True)
        for id, text in zip(("a", "b"), texts, strict=True)
    ]
    if not repeat_id:  # then only a call that is whole before the next begins can be told from it
        rest = [piece(**INDEXES[index], arguments=text) for text in halves[1]]
    seen = read_however_cut("chat", calling(*first, *rest))
    assert seen.calls == (("a", "f", ARGUMENTS[0] if repeat_id else ""), ("b", "f", ARGUMENTS[1]))


@pytest.mark.case("STR-004")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("index", INDEXES)
def test_calls_without_any_id_are_told_apart_by_name_and_whole_arguments(index: str, how: str) -> None:
    pieces = [
        piece(**INDEXES[index], **({"name": "f"} if at == 0 else {}), arguments=text)
        for arguments in ARGUMENTS
        for at, text in enumerate(cut(arguments, how))
    ]
    seen = read_however_cut("chat", calling(*pieces))
    assert [(name, arguments) for _, name, arguments in seen.calls] == [("f", text) for text in ARGUMENTS]
    assert len({id for id, _, _ in seen.calls}) == 3
    assert [note.action for note in seen.notes] == ["synthesised"] * 3


@pytest.mark.case("STR-004")
def test_two_calls_under_one_id_stay_two_and_their_ids_become_unique() -> None:
    pieces = [piece(index=at, id="call_0", name="f", arguments=ARGUMENTS[at]) for at in range(2)]
    seen = read_however_cut("chat", calling(*pieces))
    assert [(name, arguments) for _, name, arguments in seen.calls] == [("f", text) for text in ARGUMENTS[:2]]
    assert len({id for id, _, _ in seen.calls}) == 2
    assert [(note.action, note.loss) for note in seen.notes] == [("synthesised", False)]


@pytest.mark.case("STR-007")
@pytest.mark.parametrize(("how", "restated"), [("after", False), ("halves", False), ("chars", False), ("halves", True)])
@pytest.mark.parametrize("index", INDEXES)
def test_an_id_that_changes_within_a_call_does_not_split_it(index: str, how: str, restated: bool) -> None:
    pieces = [
        piece(**INDEXES[index], id=f"call_{at}", arguments=text, **({"name": "read"} if at == 0 or restated else {}))
        for at, text in enumerate(cut(ARGUMENTS[0], how))
    ]
    seen = read_however_cut("chat", calling(*pieces))
    assert seen.calls == ((pieces[0]["id"], "read", ARGUMENTS[0]),)
    assert seen.reply.stop.reason == "tool_calls"


@pytest.mark.case("STR-007")
def test_another_id_without_a_name_begins_another_call_once_the_one_before_is_whole() -> None:
    pieces = [piece(index=0, id="a", name="f", arguments="{}"), piece(index=0, id="b", arguments='{"x":1}')]
    seen = read_however_cut("chat", calling(*pieces))
    assert seen.calls == (("a", "f", "{}"), ("b", "", '{"x":1}'))
