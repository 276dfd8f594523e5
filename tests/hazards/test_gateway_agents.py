"""Guards coding agents behind the gateway: a call that broke off is never one that they run, and tools that a client names in
its input are as much its tools as those of the list."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from dragoman.gateway.losses import header, places
from dragoman.gateway.serving import Bounds
from dragoman.testing import FakeProvider
from dragoman.types import Note, Reasoning, ToolCall
from gate import PATHS, Gate, events
from hazards.cases import said
from origin import HOLD, Answer, Origin

WIRES = ("chat", "messages", "responses")
SSE = {"content-type": "text/event-stream"}
CALLS = (
    ToolCall(id="call_a", name="bash", arguments='{"command":"rm -r build 你好"}'),
    ToolCall(id="call_b", name="bash", arguments='{"command":"make"}'),
)


def ended(wire: str, told: list[Any]) -> dict[str, str]:
    """The calls that a client would run: those whose end it was told, with their arguments."""
    match wire:
        case "messages":
            begun = {e["index"]: e["content_block"] for e in told if e["type"] == "content_block_start"}
            ends = [e["index"] for e in told if e["type"] == "content_block_stop"]
            pieces = [e for e in told if e["type"] == "content_block_delta"]
            texts = {at: "".join(e["delta"].get("partial_json", "") for e in pieces if e["index"] == at) for at in ends}
            return {begun[at]["id"]: texts[at] for at in ends if begun[at]["type"] == "tool_use"}
        case "responses":
            items = [e["item"] for e in told if e["type"] == "response.output_item.done"]
            items += told[-1].get("response", {}).get("output", ())
            return {item["call_id"]: item["arguments"] for item in items if item["type"] == "function_call"}
        case _:
            assert not any(e["choices"][0]["finish_reason"] for e in told if "choices" in e)
            return {}


def failed(wire: str, last: Any) -> bool:
    """Whether a stream's last event is an error."""
    return last["type"] == "response.failed" if wire == "responses" else "error" in last


@pytest.mark.req("I-01")
@pytest.mark.case("GWY-007")
@pytest.mark.parametrize("client", WIRES)
@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("breaks", [True, False])
def test_a_call_that_broke_off_is_not_one_to_run(client: str, backend: str, breaks: bool) -> None:
    whole = said(backend, Reasoning(text="hm"), *CALLS, stop="tool_calls")
    last = {"chat": 2, "messages": 2, "responses": 1}[backend]
    cuts = [whole[:at] for at in range(1, len(whole) - last + 1)]
    answers = [Answer(200, SSE, cut, cut=breaks) for cut in cuts]
    with Origin(*answers) as origin, Gate(f"{origin.url}/v1#{backend}:m", passthrough=False) as gate:
        for cut in cuts:
            got = gate.say(client, "x", stream=True)
            if got.status != 200:
                continue  # it failed before a word was said
            told = events(got.body)
            assert failed(client, told[-1])
            arrived = b"".join(cut)
            for id, arguments in ended(client, told).items():
                (call,) = (call for call in CALLS if call.id == id)
                assert arguments == call.arguments
                assert backend != "chat"  # which ends its calls with the stream, all at once
                assert arrived.count(b"block_stop") + arrived.count(b"item.done") >= 2


CODE = 'text(await tools.exec_command({cmd: "ls 你好"}));\n'
FREE = {"type": "custom", "name": "exec", "description": "d", "format": {"type": "text"}}
PLAIN = {"type": "function", "name": "wait", "parameters": {"type": "object", "properties": {}}, "strict": False}
SPACE = {"type": "namespace", "name": "functions", "description": "d", "tools": [FREE, PLAIN]}
ADDED = {"type": "additional_tools", "role": "developer", "tools": [SPACE]}
ASKED = {"role": "user", "content": "go"}


@pytest.mark.case("GWY-011")
@pytest.mark.parametrize("backend", ["chat", "messages", "ollama"])
@pytest.mark.parametrize("stream", [True, False])
def test_free_text_tools_of_the_input_go_there_and_back(backend: str, stream: bool) -> None:
    call = {"calls": [{"id": "c1", "name": "exec", "arguments": {"input": CODE}}]}
    body = {"model": "m", "input": [ADDED, ASKED], "stream": stream}
    with FakeProvider(backend, script=[call, "done"]) as fake, Gate(fake.spec) as gate:
        first = gate.ask(PATHS["responses"], body)
        (item,) = events(first.body)[-1]["response"]["output"] if stream else first.json["output"]
        said = (item["type"], item["name"], item.get("namespace"), item["input"])
        assert said == ("custom_tool_call", "exec", "functions", CODE)
        back = {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "listed"}
        assert gate.ask(PATHS["responses"], {**body, "input": [ADDED, ASKED, item, back]}).status == 200
    for seen in fake.seen:
        offered = [tool.get("function", tool) for tool in seen.body["tools"]]
        schemas = {tool["name"]: tool.get("parameters", tool.get("input_schema")) for tool in offered}
        assert list(schemas["exec"]["properties"]) == ["input"]
        assert [*schemas] == ["exec", "wait"]
    assert "listed" in str(fake.seen[1].body)
    assert "custom" not in str(fake.seen[1].body)


LOOKS = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = {"type": "tool_search", "execution": "client", "description": "finds tools", "parameters": LOOKS}
FOUND = {"type": "function", "name": "wait_agent", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.mark.case("GWY-012")
@pytest.mark.parametrize("backend", ["chat", "messages", "ollama"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_search_for_tools_that_the_client_does_goes_there_and_back(backend: str, stream: bool) -> None:
    call = {"calls": [{"id": "c1", "name": "tool_search", "arguments": {"query": "agents 你好"}}]}
    body = {"model": "m", "input": [ASKED], "tools": [SEARCH, PLAIN], "stream": stream}
    with FakeProvider(backend, script=[call, "done"]) as fake, Gate(fake.spec) as gate:
        first = gate.ask(PATHS["responses"], body)
        (item,) = events(first.body)[-1]["response"]["output"] if stream else first.json["output"]
        if stream:
            (done,) = (e["item"] for e in events(first.body) if e["type"] == "response.output_item.done")
            assert done == item
        said = (item["type"], item["execution"], item["arguments"])
        assert said == ("tool_search_call", "client", {"query": "agents 你好"})
        space = {"type": "namespace", "name": "agents", "description": "d", "tools": [FOUND]}
        back = {"type": "tool_search_output", "call_id": item["call_id"], "execution": "client", "tools": [space]}
        again = gate.ask(PATHS["responses"], {**body, "input": [ASKED, item, back]})
        assert (again.status, "dragoman-lost" in first.headers) == (200, False)
    offered = [[tool.get("function", tool)["name"] for tool in seen.body["tools"]] for seen in fake.seen]
    assert offered == [["tool_search", "wait"], ["tool_search", "wait", "wait_agent"]]
    last = json.dumps(fake.seen[1].body["messages"], ensure_ascii=False)
    assert (last.count("wait_agent"), last.count("agents 你好")) == (1, 1)
    assert "tool_search_call" not in last


def test_what_is_lost_of_a_place_is_told_once() -> None:
    notes = [Note(path=("tools", at), action="dropped", reason=why, loss=True) for at in (0, 1) for why in ("a", "b")]
    assert header(places(notes)) == (("dragoman-lost", "tools[0] dropped; tools[1] dropped"),)


LIFE = b'event: keepalive\ndata: {"type":"keepalive"}\n\n'


@pytest.mark.case("GWY-034")
@pytest.mark.parametrize("comments", [True, False])
@pytest.mark.parametrize("name", ["codex_exec/0.171.0 (Debian)", "other/1"])
def test_a_client_to_whom_comments_are_no_sign_of_life_gets_its_vendors_own(name: str, comments: bool) -> None:
    begun = said("chat", Reasoning(text="hm"), stop="end")[:3]
    parts = [*begun, *([b": wait\n\n"] * 9 if comments else []), HOLD]
    bounds = Bounds(patience=0.01, alive=60.0 if comments else 0.01)
    data = json.dumps({"model": "m", "input": "x", "stream": True}).encode()
    head = f"POST {PATHS['responses']} HTTP/1.1\r\nhost: localhost\r\nuser-agent: {name}\r\ncontent-length: {len(data)}"
    with (
        Origin(Answer(200, SSE, parts)) as origin,
        Gate(f"{origin.url}/v1#chat:m", bounds=bounds) as gate,
        socket.create_connection(("127.0.0.1", gate.port), timeout=30) as line,
    ):
        line.sendall(head.encode() + b"\r\n\r\n" + data)
        heard = b""
        while heard.count(LIFE) + heard.count(b": keep-alive\n\n") < 2:
            heard += line.recv(65536)
    assert (LIFE in heard, b": keep-alive" in heard) == (name.startswith("codex"), not name.startswith("codex"))
