"""Guards tools of namespaces on wires that have none: both of one name are offered, and a call comes back to its own.

A coding agent that offers `multi_agent_v1.wait_agent` answers "unsupported call" to a call of `wait_agent`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Message, Reply, Request, Stop, Tool, ToolCall, ToolsChange, assistant, explode, user
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http

FLAT = ("chat", "messages")
NONE = {"type": "object", "properties": {}}


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": NONE, "strict": False}


def namespace(name: str, *tools: str) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": "d", "tools": [function(tool) for tool in tools]}


def crossed(target: str, *tools: dict[str, Any], items: tuple[dict[str, Any], ...] = ()) -> translate.Translated:
    turns = [{"role": "user", "content": "x"}, *items]
    said = {"model": "m", "input": turns, "tools": list(tools), "store": False}
    return translate.request(Http(body=json.dumps(said).encode()), find("responses"), find(target))


def offered(body: bytes) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in json.loads(body)["tools"]]


def called(target: str, there: translate.Translated, *names: str) -> list[tuple[str | None, str, str]]:
    """What the client reads of an answer that calls tools by their written names: whole, and streamed byte by byte."""
    content = tuple(ToolCall(id=f"call_{at}", name=name, arguments='{ "a":1}') for at, name in enumerate(names))
    answer = Reply(message=Message(role="assistant", content=content), stop=Stop(reason="tool_calls"))
    client, provider = find("responses"), find(target)
    options = Options(client=there.client, provider=there.provider)
    whole = translate.reply(provider.encode_reply(answer, BASE, Exchange(seed="s")).body, provider, client, options)
    output = json.loads(whole.body)["output"]
    encoder = provider.stream_encoder(BASE, Exchange(stream=True, seed="s"))
    stream = b"".join(encoder.encode(event) for event in explode(answer)) + encoder.close()  # type: ignore[arg-type]
    translator = StreamTranslator(provider, client, options)
    written = b"".join(translator.feed(stream[at : at + 1]) for at in range(len(stream))) + translator.close()
    events = [json.loads(line[6:]) for line in written.decode().splitlines() if line.startswith("data: {")]
    for kind in ("response.output_item.added", "response.output_item.done"):
        items = [event["item"] for event in events if event["type"] == kind]
        assert [_known(item) for item in items] == [_known(item) for item in output]
    return [(*_known(item), item["arguments"]) for item in output]


def _known(item: dict[str, Any]) -> tuple[str | None, str]:
    return item.get("namespace"), item["name"]


@pytest.mark.parametrize("target", FLAT)
def test_a_call_comes_back_with_the_namespace_of_its_tool(target: str) -> None:
    there = crossed(target, function("exec"), namespace("multi_agent_v1", "wait_agent", "send_input"))
    assert offered(there.http.body) == ["exec", "wait_agent", "send_input"]
    arguments = '{ "a":1}'
    assert called(target, there, "wait_agent", "exec") == [
        ("multi_agent_v1", "wait_agent", arguments),
        (None, "exec", arguments),
    ]
    told = {(note.path, note.loss) for note in there.notes if note.path[-1] == "namespace"}
    assert told == {(("tools", at, "namespace"), False) for at in (1, 2)}


@pytest.mark.parametrize("target", FLAT)
def test_two_tools_of_one_name_are_both_offered_and_told_apart(target: str) -> None:
    there = crossed(target, function("find"), namespace("crm", "find", "list"), namespace("erp", "find", "list"))
    names = offered(there.http.body)
    assert names == ["find", "crm__find", "list", "erp__find", "erp__list"]
    assert [known[:2] for known in called(target, there, *names)] == [
        (None, "find"),
        ("crm", "find"),
        ("crm", "list"),
        ("erp", "find"),
        ("erp", "list"),
    ]
    renamed = [note.path for note in there.notes if note.action == "renamed"]
    assert renamed == [("tools", 1, "name"), ("tools", 3, "name"), ("tools", 4, "name")]


@pytest.mark.parametrize("target", FLAT)
def test_a_name_that_the_wire_refuses_comes_back_whole(target: str) -> None:
    there = crossed(target, namespace("数据", "查 找"), namespace("b", "查 找"))
    names = offered(there.http.body)
    assert len(set(names)) == 2
    assert [known[:2] for known in called(target, there, *names)] == [("数据", "查 找"), ("b", "查 找")]


@pytest.mark.parametrize("target", FLAT)
def test_the_history_calls_a_tool_by_the_name_it_is_offered_under(target: str) -> None:
    call = {"type": "function_call", "call_id": "c1", "namespace": "erp", "name": "find", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    there = crossed(target, namespace("crm", "find"), namespace("erp", "find"), items=(call, result))
    assert offered(there.http.body) == ["find", "erp__find"]
    turn = json.loads(there.http.body)["messages"][1]
    made = turn["tool_calls"][0]["function"] if target == "chat" else turn["content"][0]
    assert made["name"] == "erp__find"


@pytest.mark.parametrize("target", FLAT)
def test_a_tool_that_appears_later_changes_no_earlier_name(target: str) -> None:
    call = ToolCall(id="c1", name="find", namespace="crm", arguments="{}")
    late = Message(role="system", content=(ToolsChange(add=(Tool(name="find", namespace="erp"),)),))
    begun = Request(
        model="m", messages=(user("x"), assistant(call)), tools=(Tool(name="find", namespace="crm"),), max_output=9
    )
    longer = Request(model="m", messages=(*begun.messages, late), tools=begun.tools, max_output=9)
    bodies = [json.loads(find(target).encode_request(each, BASE, Exchange()).http.body) for each in (begun, longer)]
    assert bodies[1]["messages"][: len(bodies[0]["messages"])] == bodies[0]["messages"]
    assert bodies[1]["tools"][0] == bodies[0]["tools"][0]
    assert [tool.get("function", tool)["name"] for tool in bodies[1]["tools"]] == ["find", "erp__find"]


@pytest.mark.parametrize("target", FLAT)
def test_a_call_whose_namespace_nobody_offers_keeps_the_name_of_its_tool(target: str) -> None:
    """A search for tools gives a tool that has no namespace its own name as one."""
    call = {"type": "function_call", "call_id": "c1", "namespace": "find", "name": "find", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    there = crossed(target, function("find"), items=(call, result))
    turn = json.loads(there.http.body)["messages"][1]
    made = turn["tool_calls"][0]["function"] if target == "chat" else turn["content"][0]
    assert (made["name"], offered(there.http.body)) == ("find", ["find"])
    assert called(target, there, "find") == [(None, "find", '{ "a":1}')]
