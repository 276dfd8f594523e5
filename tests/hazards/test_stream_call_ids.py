"""Guards against ids that say nothing, are no text, or never come: each call has one id, and keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agent import run
from dragoman.dialect.model import BASE
from dragoman.types import Request, Text, Tool, ToolCall, ToolResult, tool, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import Seen, calling, piece, read_however_cut

NOTHING: dict[str, dict[str, Any]] = {
    "''": {"id": ""},
    "null": {"id": None},
    "'null'": {"id": "null"},
    "absent": {},
    "false": {"id": False},
    "{}": {"id": {}},
}
CITY = ('{"city":', '"Rome"', "}")


def name_again(how: str, name: str) -> dict[str, Any]:
    """What a fragment says of the name."""
    return {"absent": {}, "empty": {"name": ""}, "null": {"name": None}, "restated": {"name": name}}[how]


@pytest.mark.case("STR-006")
@pytest.mark.parametrize("name", ["absent", "empty", "null", "restated"])
@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["index", "no-index"])
def test_an_id_that_says_nothing_is_no_id(index: dict[str, Any], nothing: str, name: str) -> None:
    first = piece(**index, id="call_q1", type="function", name="get_weather", arguments="")
    rest = [
        piece(**index, **NOTHING[nothing], type="function", arguments=text, **name_again(name, "get_weather"))
        for text in CITY
    ]
    seen = read_however_cut("chat", calling(first, *rest))
    assert seen.calls == (("call_q1", "get_weather", '{"city":"Rome"}'),)
    assert (seen.reply.stop.reason, seen.notes) == ("tool_calls", ())


@pytest.mark.case("STR-006")
@pytest.mark.parametrize("nothing", NOTHING)
def test_an_id_that_comes_late_is_the_id(nothing: str) -> None:
    pieces = [
        piece(index=0, **NOTHING[nothing], name="f"),
        piece(index=0, id="call_late", name="f", arguments='{"x":'),
        piece(index=0, arguments="1}"),
    ]
    assert read_however_cut("chat", calling(*pieces)).calls == (("call_late", "f", '{"x":1}'),)


@pytest.mark.case("STR-011")
@pytest.mark.parametrize(("id", "text"), [(17, "17"), (0, "0"), (-3, "-3"), (1.5, "1.5"), (2**70, str(2**70))])
@pytest.mark.parametrize("again", [False, True], ids=["once", "in-each"])
def test_an_id_that_is_a_number_is_read_as_text(id: Any, text: str, again: bool) -> None:
    pieces = [piece(index=0, id=id, type="function", name="bash", arguments='{"cmd":')]
    pieces.append(piece(index=0, arguments='"ls"}', **({"id": id} if again else {})))
    seen = read_however_cut("chat", calling(*pieces))
    assert seen.calls == ((text, "bash", '{"cmd":"ls"}'),)
    assert seen.notes == ()


@pytest.mark.case("STR-012")
@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("split", [False, True], ids=["whole", "fragments"])
def test_a_call_without_an_id_gets_one_of_its_own_and_is_answered_under_it(
    nothing: str, count: int, split: bool
) -> None:
    pieces: list[dict[str, Any]] = []
    for at in range(count):
        text = f'{{"filepath":"{at}.ts"}}'
        texts = [text[:9], text[9:]] if split else [text]
        pieces += [
            piece(index=at, **NOTHING[nothing], arguments=part, **({"name": "read_file"} if part == texts[0] else {}))
            for part in texts
        ]
    seen = read_however_cut("chat", calling(*pieces))
    assert [(name, arguments) for _, name, arguments in seen.calls] == [
        ("read_file", f'{{"filepath":"{at}.ts"}}') for at in range(count)
    ]
    ids = [id for id, _, _ in seen.calls]
    assert len(set(ids)) == count and all(ids)
    assert [(note.action, note.loss) for note in seen.notes] == [("synthesised", False)] * count
    assert answered(seen) == ids


def answered(seen: Seen) -> list[str]:
    """The ids of the results that go back to the server once an agent has run the calls."""
    machine = run.Run(Request(messages=(user("x"),), tools=(Tool(name="read_file"),)))
    machine.give(seen.reply)
    step = machine.step()
    assert isinstance(step, run.NeedTools)
    results = [
        ToolResult(call_id=open_call.call.id, name="read_file", content=(Text(text="ok"),)) for open_call in step.calls
    ]
    request = Request(model="m", messages=(user("x"), seen.reply.message, tool(*results)))
    incoming = find("chat").decode_request(
        find("chat").encode_request(request, BASE, Exchange()).http, BASE, Exchange()
    )
    called = [
        block.id for message in incoming.request.messages for block in message.content if isinstance(block, ToolCall)
    ]
    results_ids = [
        block.call_id
        for message in incoming.request.messages
        for block in message.content
        if isinstance(block, ToolResult)
    ]
    assert called == results_ids
    return results_ids
