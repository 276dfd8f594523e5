"""Guards tools that appear in mid-conversation: on a wire with one list they are what the same tools are at its head, and finding what is offered is work that grows with the talk and no faster."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import translate, wire
from dragoman.engine.constrain import offered
from dragoman.types import Message, Request, Tool, ToolChoice, ToolsChange, user
from dragoman.types.note import Note
from dragoman.wire import jsonio
from dragoman.wire.base import Http

PATCH: dict[str, Any] = {
    "type": "custom",
    "name": "patch",
    "description": "d",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'},
}
TEXT: dict[str, Any] = {"type": "custom", "name": "note", "format": {"type": "text"}}
FUNCTION: dict[str, Any] = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
HELLO: dict[str, Any] = {"role": "user", "content": "hi"}
PLACE = ("messages", 0, "content", 0)


def sent(to: str, *tools: Any, later: bool) -> tuple[dict[str, Any], set[tuple[Any, ...]]]:
    """The body, and what was told of each tool, by its number and what is beneath it."""
    added = {"type": "additional_tools", "role": "developer", "tools": tools}
    said: dict[str, Any] = {"input": [added, HELLO]} if later else {"input": [HELLO], "tools": tools}
    http = Http(path="", body=jsonio.encode({"model": "m", **said}))
    there = translate.request(http, wire.find("responses"), wire.find(to))
    at = (*PLACE, "add") if later else ("tools",)
    return jsonio.decode(there.http.body)[0], {
        _told(note, len(at)) for note in there.notes if note.path[: len(at)] == at
    }


def _told(note: Note, above: int) -> tuple[Any, ...]:
    return (note.path[above:], note.action, note.reason, note.loss)


@pytest.mark.parametrize("to", ["chat", "messages", "ollama", "completions"])
@pytest.mark.parametrize("tool", [PATCH, TEXT, FUNCTION], ids=["grammar", "text", "function"])
def test_a_tool_of_a_later_turn_is_written_as_at_the_head_and_told_the_same(to: str, tool: dict[str, Any]) -> None:
    later, told_later = sent(to, tool, later=True)
    head, told = sent(to, tool, later=False)
    assert later == head
    if to != "completions":  # which has no tools, and says so once for all of them
        assert told_later == told


def test_its_grammar_crosses_to_the_wire_that_says_it_otherwise_and_back() -> None:
    there, told = sent("chat", PATCH, later=True)
    grammar = {key: PATCH["format"][key] for key in ("syntax", "definition")}
    custom = {"name": "patch", "description": "d", "format": {"type": "grammar", "grammar": grammar}}
    assert (there["tools"], told) == ([{"type": "custom", "custom": custom}], set())
    http = Http(path="", body=jsonio.encode(there))
    back = translate.request(http, wire.find("chat"), wire.find("responses"), translate.Options(strict=True))
    assert jsonio.decode(back.http.body)[0]["tools"] == [PATCH]


@pytest.mark.parametrize("tools", [None, (Tool(name="first"),)])
def test_a_change_that_adds_nothing_stays_what_it_is(tools: Any) -> None:
    change = Message(role="developer", content=(ToolsChange(remove=("first",)),))
    request = Request(model="m", tools=tools, messages=(change, user("hi")))
    body = wire.find("ollama").encode_request(request, translate.BASE, translate.Exchange()).http.body
    assert jsonio.decode(body)[0]["messages"] == [HELLO]


class _Name(str):
    """A name that counts how often it is looked for."""

    looked = 0

    def __hash__(self) -> int:
        _Name.looked += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        _Name.looked += 1
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def looked_for(many: int, choice: bool) -> int:
    """How often names are looked for in a talk in which tools come and go `many` times."""
    names = [_Name(f"t{n}") for n in range(many)]
    come = [
        ToolsChange(add=(Tool(name=name),), remove=(names[n - 2],) if n % 3 == 2 else ())
        for n, name in enumerate(names)
    ]
    chosen = ToolChoice(mode="auto", names=tuple(names)) if choice else None
    messages = tuple(Message(role="developer", content=(change,)) for change in come)
    request = Request(messages=messages, tool_choice=chosen)
    _Name.looked = 0
    assert len(offered(request)) == many - many // 3
    return _Name.looked


@pytest.mark.parametrize("choice", [False, True])
def test_what_is_offered_is_found_in_linear_work(choice: bool) -> None:
    assert looked_for(3000, choice) <= 11 * looked_for(300, choice)


def test_what_came_and_went_is_offered_no_more_unless_it_came_again() -> None:
    one, two, anew = Tool(name="one"), Tool(name="two"), Tool(name="one", description="anew")
    turns = (ToolsChange(add=(two,)), ToolsChange(remove=("one", "never")), ToolsChange(add=(anew,)))
    request = Request(tools=(one,), messages=(Message(role="developer", content=turns),))
    assert offered(request) == (two, anew)
