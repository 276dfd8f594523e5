"""Guards the order of speakers, what is offered with a history, and text that no JSON may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import LocalError
from dragoman.history import check, repair, require
from dragoman.translate import Options
from dragoman.types import (
    Media,
    Message,
    Note,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http

STRICT = override(BASE, {"alternate_roles": True})
PIXEL = Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")


def sent(
    body: dict[str, Any], source: str, target: str, dialect: Dialect = BASE
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    options = Options(target=dialect)
    done = translate.request(Http(body=json.dumps(body).encode()), find(source), find(target), options)
    return json.loads(done.http.body), done.notes


def roles(request: Request, dialect: Dialect = STRICT) -> list[str]:
    """Who speaks in the body that a chat server gets."""
    out = find("chat").encode_request(repair(request, "chat", dialect).request, dialect, Exchange())
    return [message["role"] for message in json.loads(out.http.body)["messages"]]


@pytest.mark.case("REQ-016", "TPL-004")
@pytest.mark.req("S4-19")
def test_neighbours_of_one_role_become_one_message_in_their_order() -> None:
    said = [("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e")]
    body = {"messages": [{"role": role, "content": text} for role, text in said]}
    out, notes = sent(body, "chat", "chat", STRICT)
    parts = [
        [part["text"] for part in message["content"]] if isinstance(message["content"], list) else message["content"]
        for message in out["messages"]
    ]
    assert parts == [["a", "b"], "c\nd", "e"]
    assert [note.action for note in notes] == ["merged", "merged"]
    assert not any(note.loss for note in notes)


@pytest.mark.req("S4-19")
def test_what_cannot_be_one_message_has_the_placeholder_between() -> None:
    ann, ben = (Message(role="user", content=(Text(text="hi"),), name=name) for name in ("ann", "ben"))
    repaired = repair(Request(messages=(ann, ben)), "chat", STRICT)
    assert repaired.request.messages == (ann, assistant("(nothing said)"), ben)
    assert [(note.path, note.action) for note in repaired.notes] == [(("messages", 1), "synthesised")]


@pytest.mark.req("S4-19")
def test_the_user_begins_and_runs_of_results_are_exempt() -> None:
    call = assistant(ToolCall.of("c1", "f", {}), ToolCall.of("c2", "f", {}))
    answers = [tool(ToolResult(call_id=id, content=(Text(text="ok"),))) for id in ("c1", "c2")]
    request = Request(messages=(system("S"), call, *answers, user("and?")))
    assert roles(request) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert roles(request, BASE) == ["system", "assistant", "tool", "tool", "user"]


@pytest.mark.req("S4-19", "S0-41")
def test_images_of_results_make_no_second_user_in_a_row() -> None:
    shot = tool(ToolResult(call_id="c1", content=(PIXEL,)), Text(text="look"))
    request = Request(messages=(user("x"), assistant(ToolCall.of("c1", "f", {})), shot, user("and?")))
    assert roles(request) == ["user", "assistant", "tool", "user", "assistant", "user"]


@pytest.mark.case("PAR-004")
def test_a_history_of_calls_without_tools_gets_them_named_again_where_servers_want_that() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {
        "tools": [],
        "tool_choice": "auto",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            {"role": "user", "content": "sum up"},
        ],
    }
    out, _ = sent(body, "chat", "messages")
    assert [(tool["name"], tool["input_schema"]["type"]) for tool in out["tools"]] == [("f", "object")]
    assert out["tool_choice"] == {"type": "none"}


@pytest.mark.case("PAR-004")
def test_a_tool_choice_without_tools_is_left_out() -> None:
    body = {
        "tools": [],
        "tool_choice": {"type": "auto"},
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 9,
    }
    out, _ = sent(body, "messages", "chat")
    assert "tools" not in out
    assert "tool_choice" not in out


@pytest.mark.case("REQ-024")
@pytest.mark.parametrize("wire", WIRES)
def test_a_copy_of_a_tool_is_left_out_and_two_different_ones_of_a_name_are_refused(wire: str) -> None:
    search = Tool(name="search", description="d", parameters={"type": "object"})
    twice = Request(messages=(user("x"),), tools=(search, search))
    assert repair(twice, wire).request.tools == (search,)
    other = Request(messages=(user("x"),), tools=(search, Tool(name="search", description="another")))
    assert repair(other, wire).request is other
    with pytest.raises(LocalError, match=r"tools\[0\] and tools\[1\] are both named 'search'"):
        require(other, wire)


@pytest.mark.case("REQ-019")
@pytest.mark.parametrize("wire", WIRES)
def test_half_a_surrogate_pair_becomes_u_fffd_and_a_whole_one_its_character(wire: str) -> None:
    answer = ToolResult(call_id="c1", content=(Text(text="ok \ud83d end \udc00 \ud83d\ude00 👍"),))
    request = Request(
        model="m",
        messages=(user("x"), assistant(ToolCall.of("c1", "cat", {})), tool(answer)),
        tools=(Tool(name="cat", parameters={"type": "object"}),),
    )
    repaired = repair(request, wire)
    body = find(wire).encode_request(repaired.request, BASE, Exchange()).http.body
    assert "ok � end � 😀 👍" in body.decode()
    assert b"\\ud83d" not in body
    assert [(note.path, note.action) for note in repaired.notes] == [(("messages", 2, "content", 0), "substituted")]


def test_arguments_that_are_no_object_arrive_whole_where_an_object_is_wanted() -> None:
    call = ToolCall(id="c1", name="f", arguments='{"path": "READ')
    request = Request(
        messages=(user("x"), assistant(call), tool(ToolResult(call_id="c1", content=(Text(text="bad"),)))),
        tools=(Tool(name="f"),),
    )
    (broken,) = repair(request, "messages").notes
    assert (broken.path, broken.action) == (("messages", 1, "content", 0, "arguments"), "substituted")
    body = find("messages").encode_request(repair(request, "messages").request, BASE, Exchange()).http.body
    (use,) = json.loads(body)["messages"][1]["content"]
    assert list(use["input"].values()) == [call.arguments]


def test_a_last_assistant_message_is_marked_where_only_marked_ones_are_continued() -> None:
    request = Request(messages=(user("JSON please"), assistant("{")))
    marked = override(BASE, {"prefill": "marked"})
    assert repair(request, "chat", marked).request.messages[1].prefill is True
    assert repair(request, "chat").request is request
    refused = override(BASE, {"prefill": "refused"})
    (finding,) = check(request, "chat", refused)
    assert (finding.rule, finding.fixable) == ("assistant-last", False)


@pytest.mark.parametrize("choice", [ToolChoice(mode="auto"), ToolChoice(mode="required", names=("f",))])
def test_a_choice_that_is_dropped_is_a_loss_when_it_wanted_a_call(choice: ToolChoice) -> None:
    request = Request(messages=(user("x"),), tool_choice=choice)
    (note,) = repair(request, "chat").notes
    assert (note.path, note.action, note.loss) == (("tool_choice",), "dropped", choice.mode == "required")
