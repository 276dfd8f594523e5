"""Guards the tools of real clients on another wire: free-text and namespaced tools there and back, tools that only a vendor runs,
demands that cannot be met together, cache hints within their number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.catalog.target import Target
from dragoman.dialect.model import BASE, override
from dragoman.testing import FakeProvider
from dragoman.types import Reply, Stop, ToolCall, Usage, assistant
from dragoman.wire import find
from dragoman.wire.base import Http
from gate import PATHS, Gate, body_of, events
from hazards.cases import calling, piece
from origin import Answer, Origin

WIRES = ("chat", "messages", "responses")
PATCH = "*** Begin Patch\n*** End Patch"
CUSTOM = {
    "type": "custom",
    "name": "apply_patch",
    "description": "d",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
}
TEXT = {"type": "custom", "name": "note", "format": {"type": "text"}}
CHOICE = {"type": "custom", "name": "apply_patch"}
STRICT = translate.Options(strict=True)
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
HINT = {"cache_control": {"type": "ephemeral"}}


def nested(tool: Any) -> Any:
    """A free-text tool as the chat wire says it."""
    said = {key: value for key, value in tool.items() if key != "type"}
    kind = said["format"]["type"]
    form = {
        "type": kind,
        **({kind: {k: v for k, v in said["format"].items() if k != "type"}} if kind != "text" else {}),
    }
    return {"type": "custom", "custom": {**said, "format": form}}


def tools_of(wire: str, body: Any) -> list[str]:
    """The names of the functions that were offered."""
    return [tool["function"]["name"] if wire in ("chat", "ollama") else tool["name"] for tool in body.get("tools", ())]


@pytest.mark.case("GWY-011")
@pytest.mark.parametrize("backend", ["chat", "messages", "ollama"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_free_text_tool_goes_there_and_back(backend: str, stream: bool) -> None:
    call = {"calls": [{"id": "c1", "name": "apply_patch", "arguments": {"input": PATCH}}]}
    with FakeProvider(backend, script=[call, "done"]) as fake, Gate(fake.spec) as gate:
        first = gate.say("responses", "patch", tools=[CUSTOM], stream=stream)
        if stream:
            said = events(first.body)
            kinds = [event["type"].removeprefix("response.") for event in said]
            assert "custom_tool_call_input.delta" in kinds
            assert [e["input"] for e in said if e["type"] == "response.custom_tool_call_input.done"] == [PATCH]
            output = said[-1]["response"]["output"]
        else:
            output = first.json["output"]
        (item,) = output
        assert (item["type"], item["call_id"], item["name"], item["input"]) == (
            "custom_tool_call",
            "c1",
            "apply_patch",
            PATCH,
        )
        back = {"type": "custom_tool_call_output", "call_id": "c1", "output": "patched"}
        history = [{"role": "user", "content": "patch"}, item, back]
        assert gate.ask(PATHS["responses"], {"model": "m", "input": history, "tools": [CUSTOM]}).status == 200
    assert tools_of(backend, fake.seen[0].body) == ["apply_patch"]
    assert first.headers["dragoman-lost"] == "tools[0].format substituted"
    schema = json.dumps(fake.seen[0].body["tools"])
    assert "of this lark grammar:\\nstart: /.+/" in schema  # how else would the model know what to write
    assert ('"input"' in schema, '"custom"' in schema) == (True, False)
    again = json.dumps(fake.seen[1].body)
    assert (again.count('"c1"'), "patched" in again) == (2, True)


@pytest.mark.case("GWY-011")
@pytest.mark.parametrize("stream", [True, False])
def test_a_service_that_knows_free_text_tools_gets_them_as_they_are(stream: bool) -> None:
    call = ToolCall(id="c1", name="apply_patch", arguments=PATCH, kind="custom")
    said = Reply(message=assistant(call), stop=Stop(reason="tool_calls"), usage=Usage(input=1, output=1), model="fake")
    with FakeProvider("chat", script=[said, "done"]) as fake:
        dialect = override(BASE, {"custom_tools": True})
        knows = Target(provider="f", label="F", wire="chat", model="fake", base_url=f"{fake.url}/v1", dialect=dialect)
        with Gate(knows) as gate:
            first = gate.say("responses", "patch", tools=[CUSTOM], tool_choice=CHOICE, stream=stream)
            (item,) = events(first.body)[-1]["response"]["output"] if stream else first.json["output"]
            back = {"type": "custom_tool_call_output", "call_id": "c1", "output": "patched"}
            body = body_of("responses", tools=[CUSTOM])
            again = gate.ask(PATHS["responses"], {**body, "input": [{"role": "user", "content": "patch"}, item, back]})
        one, two = fake.seen
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", PATCH)
    assert (first.headers.get("dragoman-lost"), again.status) == (None, 200)
    named = {"type": "custom", "custom": {"name": "apply_patch"}}
    grammar = {key: value for key, value in CUSTOM["format"].items() if key != "type"}
    form = {"type": "grammar", "grammar": grammar}
    assert one.body["tools"] == [
        {"type": "custom", "custom": {"name": "apply_patch", "description": "d", "format": form}}
    ]
    assert one.body["tool_choice"] == named
    (made,) = two.body["messages"][1]["tool_calls"]
    assert made == {"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}


@pytest.mark.case("GWY-011")
def test_the_form_of_a_free_text_tool_goes_there_and_back_between_the_wires_that_have_such_tools() -> None:
    for wire in ("chat", "responses"):
        other = "responses" if wire == "chat" else "chat"
        body = {"responses": {"tools": [CUSTOM, TEXT]}, "chat": {"tools": [nested(CUSTOM), nested(TEXT)]}}
        asked = json.dumps({**body_of(wire), **body[wire]}).encode()
        there = translate.request(Http(body=asked), find(wire), find(other), STRICT)
        assert json.loads(there.http.body)["tools"] == body[other]["tools"]
        again = translate.request(there.http, find(other), find(wire), STRICT)
        assert json.loads(again.http.body)["tools"] == body[wire]["tools"]


def test_a_form_that_is_not_known_is_told_as_lost() -> None:
    odd = {**CUSTOM, "format": {"type": "regex", "syntax": "x"}}
    asked = json.dumps({**body_of("responses"), "tools": [odd]}).encode()
    there = translate.request(Http(body=asked), find("responses"), find("chat"))
    assert [note.path for note in there.notes if note.loss] == [("tools", 0, "format")]


@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("stream", [True, False])
def test_a_namespaced_tool_goes_there_and_back(backend: str, stream: bool) -> None:
    inner = {
        "type": "function",
        "name": "wait_agent",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
    space = {"type": "namespace", "name": "multi_agent_v1", "description": "d", "tools": [inner]}
    with FakeProvider(backend, script=["hi"]) as fake, Gate(fake.spec) as gate:
        gate.say("responses", "go", tools=[space])
        offered = fake.seen[0].body["tools"]
    name = "wait_agent" if backend == "responses" else tools_of(backend, {"tools": offered})[0]
    assert "wait_agent" in name
    call: dict[str, Any] = {"calls": [{"id": "c1", "name": name}]}
    if backend == "responses":
        return  # its own wire says namespaces itself
    with FakeProvider(backend, script=[call]) as fake, Gate(fake.spec) as gate:
        got = gate.say("responses", "go", tools=[space], stream=stream)
    output = events(got.body)[-1]["response"]["output"] if stream else got.json["output"]
    assert [(item["type"], item["name"], item["namespace"]) for item in output] == [
        ("function_call", "wait_agent", "multi_agent_v1")
    ]


@pytest.mark.case("GWY-012")
@pytest.mark.parametrize("backend", ["chat", "messages"])
@pytest.mark.parametrize("kind", ["web_search", "local_shell", "image_generation", "code_interpreter"])
def test_a_tool_that_only_a_vendor_runs_is_told_and_never_forced(backend: str, kind: str) -> None:
    hosted = {"type": kind}
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        got = gate.say("responses", tools=[hosted, FUNCTION])
        assert (got.status, "tools[0]" in got.headers.get("dragoman-lost", "")) == (200, True)
        assert tools_of(backend, fake.seen[0].body) == ["f"]
        forced = gate.say("responses", tools=[hosted, FUNCTION], tool_choice={"type": kind})
        assert (forced.status, forced.json["error"]["param"], kind in forced.json["error"]["message"]) == (
            400,
            "tool_choice",
            True,
        )
        assert len(fake.seen) == 1


@pytest.mark.case("GWY-030")
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}])
def test_a_forced_call_while_thinking_is_refused_by_name(choice: Any) -> None:
    function = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    asked: dict[str, Any] = {"tools": [function], "tool_choice": choice}
    thinking = {"type": "enabled", "budget_tokens": 2000}
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        refused = gate.say("chat", "x", **asked, thinking=thinking)
        assert (refused.status, refused.json["error"]["param"]) == (400, "tool_choice")
        assert "thinking" in refused.json["error"]["message"]
        assert gate.say("chat", "x", **asked).status == 200
        assert gate.say("chat", "x", **{**asked, "tool_choice": "none"}).status == 200
    kinds = [seen.body["tool_choice"]["type"] for seen in fake.seen]
    assert kinds == ["any" if choice == "required" else "tool", "none"]


@pytest.mark.case("GWY-019")
@pytest.mark.parametrize("passthrough", [True, False])
@pytest.mark.parametrize("wire", ["messages", "chat"])
@pytest.mark.parametrize("own", [0, 3, 4, 5, 9])
def test_no_more_than_four_cache_hints_leave(wire: str, own: int, passthrough: bool) -> None:
    talk: list[Any] = []
    for at in range(own):
        talk += [
            {"role": "user", "content": [{"type": "text", "text": str(at), **HINT}]},
            {"role": "assistant", "content": "a"},
        ]
    talk.append({"role": "user", "content": "last"})
    system: dict[str, Any] = {"system": [{"type": "text", "text": "S", **HINT}]} if wire == "messages" else {}
    with FakeProvider("messages") as fake, Gate(fake.spec, passthrough=passthrough) as gate:
        got = gate.ask(PATHS[wire], {"model": "m", "max_tokens": 9, **system, "messages": talk})
        (seen,) = fake.seen
    said = own + bool(system)
    sent = json.dumps(seen.body).count("cache_control")
    assert (got.status, got.headers.get("dragoman-lost", "").count("cache dropped")) == (200, max(said - 4, 0))
    assert sent == min(said, 4) if wire == "messages" or said >= 4 else sent <= 4  # none is added to what is his own
    if wire == "messages":
        assert "cache_control" in seen.body["system"][0]
    marked = [m["content"][0]["text"] for m in seen.body["messages"] if "cache_control" in m["content"][0]]
    assert marked == [str(at) for at in range(own)][-(4 - bool(system)) :] or wire == "chat"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("backend", WIRES)
def test_two_calls_at_once_are_two_calls_with_their_own_arguments(wire: str, backend: str) -> None:
    calls = [{"id": f"c{at}", "name": "f", "arguments": {"n": at}} for at in (1, 2)]
    with FakeProvider(backend, script=[{"calls": calls}]) as fake, Gate(fake.spec) as gate:
        got = gate.say(wire, stream=False)
    match wire:
        case "chat":
            found = [(c["id"], c["function"]["arguments"]) for c in got.json["choices"][0]["message"]["tool_calls"]]
        case "messages":
            found = [(b["id"], json.dumps(b["input"])) for b in got.json["content"]]
        case _:
            found = [(i["call_id"], i["arguments"]) for i in got.json["output"]]
    assert [(id, json.loads(arguments)) for id, arguments in found] == [("c1", {"n": 1}), ("c2", {"n": 2})]


def test_interleaved_fragments_of_two_calls_stay_apart() -> None:
    said = [
        piece(index=0, id="c1", type="function", name="a", arguments='{"x"'),
        piece(index=1, id="c2", type="function", name="b", arguments='{"y"'),
        piece(index=0, arguments=":1}"),
        piece(index=1, arguments=":2}"),
    ]
    answer = Answer(200, {"content-type": "text/event-stream"}, [calling(*said)])
    with Origin(answer) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
        got = events(gate.say("messages", stream=True).body)
    written: dict[int, str] = {}
    for event in got:
        if event["type"] == "content_block_delta":
            written[event["index"]] = written.get(event["index"], "") + event["delta"]["partial_json"]
    assert list(written.values()) == ['{"x":1}', '{"y":2}']
    assert body_of("chat")["model"] == "m"
