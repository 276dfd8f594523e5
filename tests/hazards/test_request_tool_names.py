"""Guards names of tools that a wire refuses: legal, different, alike in offer, choice and history, and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from dragoman.dialect.model import BASE, override
from dragoman.types import (
    Collector,
    Message,
    Note,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
    assistant,
    tool,
    user,
)
from dragoman.wire import WIRES, find, naming
from dragoman.wire.base import Exchange, Notes, Outgoing
from dragoman.wire.glance import glance
from dragoman.wire.naming import legalised
from hazards import cases

LIMIT = {"chat": 64, "responses": 64, "messages": 128}
LONG = "mcp_very_long_server_name_with_many_words_and_more_words_inside__list_items_"
ODD = ("calendar.respondToEvent", "1mcp search", "größe", "a.b", "搜索", "fs/read:file", "x" * 200)
LEGAL = ("a_b", "plain-Name_1")


def asked(*names: str, called: tuple[str, ...] = ()) -> Request:
    """A request that offers these tools, wants the first, and has called some."""
    calls = tuple(ToolCall.of(f"c{at}", name, {}) for at, name in enumerate(called))
    results = (tool(ToolResult(call_id=call.id, name=call.name, content=(Text(text="ok"),))) for call in calls)
    return Request(
        model="m",
        messages=(user("x"), *((assistant(*calls), *results) if calls else ())),
        tools=tuple(Tool(name=name, parameters={"type": "object"}) for name in names),
        tool_choice=ToolChoice(mode="required", names=names[:1]),
    )


def sent(request: Request, wire: str) -> Outgoing:
    return find(wire).encode_request(request, BASE, Exchange())


def offered(wire: str, body: dict[str, Any]) -> list[str]:
    """The names among `tools` of a body."""
    return [(entry["function"] if wire == "chat" else entry)["name"] for entry in body["tools"]]


def chosen(wire: str, body: dict[str, Any]) -> str:
    """The name in `tool_choice`."""
    choice = body["tool_choice"]
    return (choice["function"] if wire == "chat" else choice)["name"]


def called(wire: str, body: dict[str, Any]) -> list[str]:
    """The names of the calls in the history."""
    if wire == "chat":
        return [call["function"]["name"] for one in body["messages"] for call in one.get("tool_calls", ())]
    if wire == "responses":
        return [item["name"] for item in body["input"] if item.get("type") == "function_call"]
    parts = [part for one in body["messages"] if isinstance(one["content"], list) for part in one["content"]]
    return [part["name"] for part in parts if part["type"] == "tool_use"]


@pytest.mark.case("REQ-022")
@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_name_is_mapped_alike_in_tools_choice_and_history(wire: str) -> None:
    names = (*ODD, *LEGAL)
    out = sent(asked(*names, called=names), wire)
    body = json.loads(out.http.body)
    made = offered(wire, body)
    assert all(re.fullmatch(f"[a-zA-Z0-9_-]{{1,{LIMIT[wire]}}}", name) for name in made)
    assert len(set(made)) == len(names)
    assert made[-2:] == list(LEGAL)
    assert (chosen(wire, body), called(wire, body)) == (made[0], made)
    assert out.exchange.names == dict(zip(made[: len(ODD)], ODD, strict=True))
    assert out.exchange.offered == names
    told = [note for note in out.notes if note.action == "renamed" and note.path[0] == "tools"]
    assert told == [
        Note(path=("tools", at, "name"), action="renamed", reason=f"this wire calls it {made[at]}", loss=False)
        for at in range(len(ODD))
    ]


@pytest.mark.case("REQ-022")
@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_and_a_stream_name_the_tool_as_its_caller_did(wire: str) -> None:
    out = sent(asked(*ODD, *LEGAL), wire)
    for made, name in (*out.exchange.names.items(), (LEGAL[0], LEGAL[0])):
        call = ToolCall(id="c1", name=made, arguments='{"a":1}')
        decoder, collector = find(wire).stream_decoder(BASE, out.exchange), Collector()
        events = [event for piece in cases.said(wire, call, stop="tool_calls") for event in decoder.feed(piece)]
        for event in (*events, *decoder.close()):
            collector.feed(event)
        whole = find(wire).encode_reply(collector.reply, BASE, Exchange()).body.replace(name.encode(), made.encode())
        again = find(wire).decode_reply(whole, BASE, out.exchange).value
        assert [(one.name, one.arguments) for one in collector.reply.calls] == [(name, '{"a":1}')]
        assert [(one.name, one.arguments) for one in again.calls] == [(name, '{"a":1}')]


@pytest.mark.case("REQ-023")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "names",
    [
        (LONG + "a", LONG + "b"),
        (LONG * 2 + "a", LONG * 2 + "b"),
        ("a.b", "a_b"),
        ("a.b", "a b", "a/b", "a_b"),
        ("x" * 129, "x" * 130),
    ],
    ids=["long", "longer", "dot", "marks", "letters"],
)
def test_names_that_would_fall_together_stay_different(wire: str, names: tuple[str, ...]) -> None:
    out = sent(asked(*names), wire)
    made = offered(wire, json.loads(out.http.body))
    assert len(set(made)) == len(names)
    assert all(len(name) <= LIMIT[wire] for name in made)
    assert [out.exchange.names.get(name, name) for name in made] == list(names)
    assert made == offered(wire, json.loads(sent(asked(*names[::-1]), wire).http.body))[::-1]


@pytest.mark.case("REQ-023")
@pytest.mark.parametrize("wire", WIRES)
def test_a_made_name_never_takes_one_that_is_offered(wire: str) -> None:
    (made,) = offered(wire, json.loads(sent(asked("a.b"), wire).http.body))
    both = offered(wire, json.loads(sent(asked("a.b", made), wire).http.body))
    assert both[1] == made != both[0]


@pytest.mark.case("REQ-022")
def test_tools_that_come_and_go_have_the_same_names() -> None:
    change = Message(role="system", content=(ToolsChange(names=("a.b",), remove=("c.d",)),))
    request = msgspec.structs.replace(asked("a.b", "c.d"), messages=(user("x"), change))
    body = json.loads(sent(request, "messages").http.body)
    first, second = offered("messages", body)
    said = [part["tool"]["name"] for part in body["messages"][-1]["content"]]
    assert said == [first, second]


@pytest.mark.case("REQ-022")
@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_takes_any_name_gets_the_name_itself(wire: str) -> None:
    out = find(wire).encode_request(asked(*ODD), override(BASE, {"tool_name_pattern": "(?s:.+)"}), Exchange())
    assert offered(wire, json.loads(out.http.body)) == list(ODD)
    assert out.exchange.names == {}


class Copied(frozenset[str]):
    """Names that count what is copied of them."""

    count = 0

    def union(self, *others: Iterable[Any]) -> Copied:
        Copied.count += len(self)
        return Copied(super().union(*others))


def copied(changes: int) -> int:
    blocks = tuple(ToolsChange(add=(Tool(name=f"t{at}"),), remove=(f"r{at}",)) for at in range(changes))
    request = Request(messages=(Message(role="developer", content=blocks),))
    Copied.count = 0
    seen = msgspec.structs.replace(glance(request), named=Copied({"called"}))
    assert legalised(request, "[a-z0-9]+", 64, Notes(), seen) == (request, {})
    return Copied.count


def test_tools_that_come_and_go_are_named_in_linear_work() -> None:
    assert copied(300) <= 11 * copied(30)


def test_names_without_end_are_not_remembered() -> None:
    def kept(name: str) -> int:
        before = naming.remembered.cache_info().currsize
        request = Request(tools=(Tool(name=name),))
        assert list(legalised(request, "[a-z]+", 64, Notes())[1].values()) == [name]
        return naming.remembered.cache_info().currsize - before

    naming.remembered.cache_clear()
    assert (kept("some.name"), kept("some.name" * 2000)) == (1, 0)
