"""Guards the arguments of a call: said twice they count once, and what is no JSON stays the model's own text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.types import Invalid, Usage, Valid
from hazards.cases import DONE, calling, chunk, piece, read_however_cut

RIGA = '{"city":"Riga"}'


def call(*texts: Any, again: dict[str, Any] | None = None) -> bytes:
    """A call with its arguments in these pieces; `again` is what each later piece says beside them."""
    first = piece(index=0, id="call_a", type="function", name="w", arguments=texts[0])
    return calling(first, *(piece(index=0, **(again or {}), arguments=text) for text in texts[1:]))


AGAIN: dict[str, dict[str, Any]] = {"alone": {}, "with-id": {"id": "call_a"}, "with-name": {"name": "w"}}
REPEATED: dict[str, list[Any]] = {
    "once-more": ['{"city":', '"Riga"}', RIGA],
    "in-the-piece-that-ends-it": ['{"city":', '"Riga"}' + RIGA],
    "twice-more": [RIGA, RIGA, RIGA],
    "in-fragments": ['{"city":', '"Riga"}', '{"ci', 'ty":"Riga"}'],
    "all-in-one": [RIGA * 3],
    "spaced-anew": ['{"city":', '"Riga"}', '{"city": "Riga"}'],
    "apart": [RIGA, " \n", RIGA],
    "as-objects": [{"city": "Riga"}, {"city": "Riga"}],
    "text-then-object": [RIGA, {"city": "Riga"}],
}
BEGINNINGS = ("in-fragments", "apart")


@pytest.mark.case("STR-015")
@pytest.mark.parametrize(
    ("how", "beside"),  # a name and no whole object begin another call
    [(how, beside) for how in REPEATED for beside in AGAIN if how not in BEGINNINGS or beside != "with-name"],
)
def test_arguments_said_over_again_count_once(how: str, beside: str) -> None:
    seen = read_however_cut("chat", call(*REPEATED[how], again=AGAIN[beside]))
    assert seen.calls == (("call_a", "w", RIGA),)
    assert seen.reply.calls[0].parsed() == Valid({"city": "Riga"})
    assert [(note.action, note.loss) for note in seen.notes] == [("merged", False)]


@pytest.mark.case("STR-015")
def test_the_repetition_may_come_with_the_finish_reason() -> None:
    first = piece(index=0, id="call_a", name="w", arguments='{"city":')
    pieces = [chunk({"tool_calls": [each]}) for each in (first, piece(index=0, arguments='"Riga"}'))]
    last = chunk({"tool_calls": [piece(index=0, arguments=RIGA)]}, "tool_calls")
    seen = read_however_cut("chat", b"".join([*pieces, last, DONE]))
    assert seen.calls == (("call_a", "w", RIGA),)
    assert seen.reply.stop.reason == "tool_calls"


@pytest.mark.case("STR-015")
@pytest.mark.parametrize(
    "texts",
    [
        [RIGA, '{"city":"Oslo"}'],
        [RIGA, '"}'],
        [RIGA, "]"],
        [RIGA, '{"city":"Ri'],
        [RIGA, "null"],
        ['{"city":"Riga"', "]"],
        ["{'city': 'Riga'}"],
        ['{"city":'],
        ["city=Riga"],
        ['["Riga"]'],
        ['"Riga"'],
        ["}{"],
    ],
    ids=str,
)
def test_anything_else_that_is_no_object_stays_as_it_was_said_and_cannot_run(texts: list[str]) -> None:
    seen = read_however_cut("chat", call(*texts))
    assert seen.calls == (("call_a", "w", "".join(texts)),)
    assert isinstance(seen.reply.calls[0].parsed(), Invalid)


@pytest.mark.case("STR-015")
@pytest.mark.parametrize("empty", ["{}", "{ }", {}], ids=str)
@pytest.mark.parametrize("rest", [[RIGA], ['{"ci', 'ty":"Riga"}'], [{"city": "Riga"}]], ids=str)
def test_an_empty_object_before_the_real_one_is_no_part_of_it(empty: Any, rest: list[Any]) -> None:
    seen = read_however_cut("chat", call(empty, *rest))
    assert seen.calls == (("call_a", "w", RIGA),)
    assert [(note.action, note.loss) for note in seen.notes] == [("merged", False)]


@pytest.mark.case("STR-015")
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "",
        '{"a":"}{"}',
        '{"a":"\\\\"}',
        '{"a":"\\"}"}',
        '{"a":[{"b":{}},{"b":{}}]}',
        '{"s":"{\\"x\\":1}{\\"x\\":1}"}',
    ],
)
def test_what_only_looks_repeated_is_left_alone(text: str) -> None:
    for texts in ([text], ["", *text], [text, ""]):
        seen = read_however_cut("chat", call(*texts))
        assert seen.calls == (("call_a", "w", text),)
        assert seen.notes == ()


@pytest.mark.case("STR-016")
@pytest.mark.parametrize("finish", ["in-the-same-chunk", "in-the-next"])
@pytest.mark.parametrize("usage", ["in-the-same-chunk", "in-the-next", "in-both", "never"])
@pytest.mark.parametrize("arguments", [RIGA, {"city": "Riga"}], ids=["text", "object"])
def test_everything_in_one_chunk_is_one_call(finish: str, usage: str, arguments: Any) -> None:
    counts = {"usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}
    each = piece(index=0, id="D681PevKs", type="function", name="w", arguments=arguments)
    beside = {
        "in-the-same-chunk": (counts, {}),
        "in-the-next": ({}, counts),
        "in-both": (counts, counts),
        "never": ({}, {}),
    }
    one, two = beside[usage]
    delta = {"role": "assistant", "content": "", "tool_calls": [each]}
    stream = chunk(delta, "tool_calls" if finish == "in-the-same-chunk" else None, **one)
    stream += chunk({}, None if finish == "in-the-same-chunk" else "tool_calls", **two) + DONE
    seen = read_however_cut("chat", stream)
    assert seen.calls == (("D681PevKs", "w", json.dumps({"city": "Riga"}, separators=(",", ":"))),)
    wanted = None if usage == "never" else Usage(input=9, output=4, opaque={"chat": counts["usage"]})
    assert (seen.reply.stop.reason, seen.reply.usage, seen.notes) == ("tool_calls", wanted, ())
