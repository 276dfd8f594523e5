"""Guards calls and results that lost each other on their way: trimmed, doubled, torn apart, or answered by nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.errors import LossyError
from dragoman.history import check, check_body, repair, unfinished
from dragoman.translate import Options
from dragoman.types import Reasoning, Request, Text, ToolCall, ToolResult, assistant, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Http

Body = dict[str, Any]


def call(id: str, name: str = "f") -> Body:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calls(*ids: str) -> Body:
    return {"role": "assistant", "content": None, "tool_calls": [call(id) for id in ids]}


def result(id: str, content: str = "ok") -> Body:
    return {"role": "tool", "tool_call_id": id, "content": content}


def said(text: str) -> Body:
    return {"role": "user", "content": text}


def sent(body: Body, source: str, target: str) -> Body:
    """The body that the target's server gets, which breaks no rule there; every change was told."""
    done = translate.request(Http(body=json.dumps(body).encode()), find(source), find(target))
    assert [finding for finding in check_body(target, done.http.body) if finding.severity == "error"] == []
    assert done.notes
    return json.loads(done.http.body)


def everything(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.case("REQ-002")
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_result_whose_call_was_trimmed_away_goes_as_plain_user_text(target: str) -> None:
    out = sent({"messages": [result("call_0", "old output"), said("next")]}, "chat", target)
    assert "old output" in everything(out)
    assert "tool_result" not in everything(out)
    assert "function_call_output" not in everything(out)
    first = out["messages" if target == "messages" else "input"][0]
    assert first["role"] == "user"


@pytest.mark.case("GWY-029")
def test_what_is_sent_has_a_user_message_even_when_the_history_was_cut() -> None:
    used = {"type": "tool_result", "tool_use_id": "t0", "content": "old"}
    cut = {"messages": [{"role": "user", "content": [used]}, {"role": "assistant", "content": "ok"}]}
    out = sent(cut, "messages", "chat")
    assert [message["role"] for message in out["messages"]] == ["user", "assistant"]
    assert out["messages"][0]["content"].endswith("\nold")


@pytest.mark.case("REQ-017")
@pytest.mark.req("S0-44")
def test_results_of_parallel_calls_stand_together_first_and_before_any_text() -> None:
    body = {
        "messages": [said("x"), calls("c1", "c2"), result("c2", "2"), said("wait"), result("c1", "1"), said("next")]
    }
    out = sent(body, "chat", "messages")
    kinds = [
        [part["type"] for part in message["content"]] if isinstance(message["content"], list) else message["content"]
        for message in out["messages"]
    ]
    assert kinds == ["x", ["tool_use", "tool_use"], ["tool_result", "tool_result"], "wait", "next"]
    assert [part["tool_use_id"] for part in out["messages"][2]["content"]] == ["c2", "c1"]


@pytest.mark.req("S0-44")
def test_a_user_between_the_results_of_a_messages_client_speaks_after_them_on_chat() -> None:
    uses = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("c1", "c2")]
    used = [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ("c1", "c2")]
    wait = {"type": "text", "text": "wait"}
    body = {
        "messages": [
            said("x"),
            {"role": "assistant", "content": uses},
            {"role": "user", "content": [used[0], wait]},
            {"role": "user", "content": [used[1]]},
        ]
    }
    out = sent(body, "messages", "chat")
    assert [message["role"] for message in out["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert out["messages"][4]["content"] in ("wait", [wait])


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_call_that_nobody_answered_is_answered_by_an_error(target: str) -> None:
    out = sent({"messages": [said("x"), calls("c1", "c2"), result("c2"), said("go on")]}, "chat", target)
    assert everything(out).count("No result provided") == 1
    if target == "messages":
        assert [part.get("is_error") for part in out["messages"][2]["content"]] == [None, True]


@pytest.mark.case("AGT-014")
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_two_calls_of_one_id_in_one_turn_are_two_calls_with_a_result_each(target: str) -> None:
    out = sent(
        {"messages": [said("x"), calls("call_x", "call_x"), result("call_x", "1"), result("call_x", "2")]},
        "chat",
        target,
    )
    if target == "messages":
        ids = [part["id"] for part in out["messages"][1]["content"]]
        answers = {part["tool_use_id"]: part["content"] for part in out["messages"][2]["content"]}
    else:
        ids = [item["call_id"] for item in out["input"] if item.get("type") == "function_call"]
        answers = {
            item["call_id"]: item["output"] for item in out["input"] if item.get("type") == "function_call_output"
        }
    assert len(set(ids)) == 2
    assert answers == {ids[0]: "1", ids[1]: "2"}


@pytest.mark.parametrize("wire", WIRES)
def test_of_two_results_of_one_call_the_last_one_stays(wire: str) -> None:
    answers = [ToolResult(call_id="c1", content=(Text(text=text),)) for text in ("first", "second")]
    request = Request(messages=(user("x"), assistant(ToolCall.of("c1", "f", {})), tool(*answers)))
    repaired = repair(request, wire).request
    assert [
        block for message in repaired.messages for block in message.content if isinstance(block, ToolResult)
    ] == answers[1:]


@pytest.mark.parametrize("wire", WIRES)
def test_a_late_second_answer_is_not_put_into_what_was_said_before(wire: str) -> None:
    answered = (
        user("x"),
        assistant(ToolCall.of("c1", "f", {})),
        tool(ToolResult(call_id="c1", content=(Text(text="1"),))),
    )
    late = tool(ToolResult(call_id="c1", content=(Text(text="2"),)))
    request = Request(messages=(*answered, user("and?"), late))
    repaired = repair(request, wire).request.messages
    assert all(new is old for new, old in zip(repaired, request.messages[:4], strict=False))
    assert repaired[4] == user("(result of an earlier tool call c1)\n2")


@pytest.mark.case("REA-004")
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_that_broke_off_is_not_sent_nor_a_thought_of_it(wire: str) -> None:
    half = assistant(Reasoning(text="abc"), ToolCall.of("c1", "f", {}))
    answer = tool(ToolResult(call_id="c1", content=(Text(text="cancelled"),)))
    request = Request(messages=(user("x"), unfinished(half, "cancelled"), answer, user("go on")))
    assert {finding.rule for finding in check(request, wire)} >= {"unfinished-turn"}
    repaired = repair(request, wire)
    assert repaired.request.messages == (user("x"), user("go on"))
    assert {note.action for note in repaired.notes} == {"dropped"}


@pytest.mark.parametrize("wire", WIRES)
def test_the_words_of_a_turn_that_broke_off_stay_where_that_is_asked_for(wire: str) -> None:
    half = unfinished(assistant("I was about", ToolCall.of("c1", "f", {})))
    request = Request(messages=(user("x"), half, user("go on")))
    repaired = repair(request, wire, keep_unfinished=True).request
    assert repaired.messages == (user("x"), assistant("I was about"), user("go on"))


def test_results_that_name_no_call_answer_the_open_calls_in_their_order() -> None:
    bare: Body = {"role": "tool", "content": "1"}
    nameless = [{key: value for key, value in call("x").items() if key != "id"} for _ in range(2)]
    turn: Body = {"role": "assistant", "content": None, "tool_calls": nameless}
    out = sent({"messages": [said("x"), turn, bare, {**bare, "content": "2"}]}, "chat", "messages")
    ids = [part["id"] for part in out["messages"][1]["content"]]
    assert [(part["tool_use_id"], part["content"]) for part in out["messages"][2]["content"]] == [
        (ids[0], "1"),
        (ids[1], "2"),
    ]


def test_a_turn_in_two_messages_is_one_where_the_wire_wants_results_at_once() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    body = {
        "messages": [
            said("x"),
            {"role": "assistant", "content": [use]},
            {"role": "assistant", "content": [{**use, "id": "c2"}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ("c1", "c2")],
            },
        ]
    }
    out = sent(body, "messages", "chat")
    assert [message["role"] for message in out["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in out["messages"][1]["tool_calls"]] == ["c1", "c2"]


def test_strict_refuses_a_repair_that_loses_something_and_no_other() -> None:
    strict = Options(strict=True)
    orphan = {"messages": [said("x"), result("call_0"), said("next")], "max_tokens": 9}
    with pytest.raises(LossyError) as raised:
        translate.request(Http(body=json.dumps(orphan).encode()), find("chat"), find("messages"), strict)
    assert [note.path for note in raised.value.notes] == [("messages", 1, "content", 0)]
    open_call = {"messages": [said("x"), calls("c1"), said("next")], "max_tokens": 9}
    done = translate.request(Http(body=json.dumps(open_call).encode()), find("chat"), find("messages"), strict)
    assert b"No result provided" in done.http.body


def test_what_a_codec_tells_after_a_repair_has_its_place_in_what_was_given() -> None:
    named = {**said("next"), "name": "ann"}
    body = {"messages": [said("x"), calls("c1"), named], "max_tokens": 9}
    done = translate.request(Http(body=json.dumps(body).encode()), find("chat"), find("messages"))
    assert [note.path for note in done.notes if "name" in note.path] == [("messages", 2, "name")]


@pytest.mark.parametrize("wire", WIRES)
def test_a_broken_body_that_stays_on_its_wire_passes_as_it_is(wire: str) -> None:
    bodies: dict[str, Body] = {
        "chat": {"messages": [said("x"), calls("c1")]},
        "messages": {"messages": [{"role": "user", "content": " "}]},
        "responses": {"input": [{"type": "function_call_output", "call_id": "c1", "output": "ok"}]},
    }
    body = json.dumps(bodies[wire], indent=1).encode()
    done = translate.request(Http(body=body), find(wire), find(wire))
    assert (done.http.body, done.notes) == (body, ())
