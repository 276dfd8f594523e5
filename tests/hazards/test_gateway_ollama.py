"""Guards clients of the ollama wire before any model: what they ask before they speak, a prompt as a chat of one turn, a model
that is to be loaded, and what a server of turns cannot do, refused by its field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.catalog.models import find
from dragoman.gateway.guard import Guard
from dragoman.secret import Secret
from dragoman.testing import FakeProvider
from dragoman.types import Reasoning, Reply, Stop, Text, ToolCall, Usage, assistant
from gate import Gate
from matrix.captures import CAPTURES

BACKENDS = ("chat", "messages", "responses", "ollama")
WORDS = Reply(
    message=assistant(Reasoning(text="So."), Text(text="Said ☔.")),
    stop=Stop(reason="end"),
    usage=Usage(input=7, output=3),
    model="fake",
)


def lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines()]


def test_what_they_ask_before_they_speak() -> None:
    spec = "anthropic/claude-sonnet-4-5"
    with FakeProvider() as fake, Gate(f"fast={fake.spec}", f"smart={spec}", env={"ANTHROPIC_API_KEY": "k"}) as gate:
        version = tuple(int(part) for part in gate.ask("/api/version").json["version"].split("."))
        listed, running = gate.ask("/api/tags").json["models"], gate.ask("/api/ps").json["models"]
        fast, smart = (
            gate.ask("/api/show", {key: name}) for key, name in (("model", "fast"), ("name", "smart:latest"))
        )
        missing = [gate.ask(path, {"model": "none"}) for path in ("/api/show", "/api/pull")]
        nameless, broken = gate.ask("/api/show", {}), gate.ask("/api/show", b"{")
        pulled = [gate.ask("/api/pull", {"name": "fast", **more}) for more in ({}, {"stream": False})]
        head = gate.ask("/", method="HEAD")
        assert fake.seen == []
    assert version >= (0, 14)
    assert [{*each} for each in listed] == [{"name", "model", "modified_at", "size", "digest", "details"}] * 2
    assert [(each["name"], each["model"]) for each in listed] == [("fast", "fast"), ("smart", "smart")]
    assert running == listed
    assert fast.json["capabilities"] == ["completion", "tools", "thinking"]
    assert smart.json["capabilities"] == ["completion", "tools", "thinking", "vision"]
    known = find("anthropic", "claude-sonnet-4-5")
    size = [size for key, size in smart.json["model_info"].items() if key.endswith(".context_length")]
    assert known is not None and size == [known.context]
    assert "tools" in fast.json["template"].lower()  # as some clients tell
    assert [(each.status, {*each.json}) for each in missing] == [(404, {"error"})] * 2
    assert [(each.status, {*each.json}) for each in (nameless, broken)] == [(400, {"error"})] * 2
    assert [(each.status, lines(each.body)) for each in pulled] == [(200, [{"status": "success"}])] * 2
    assert (head.status, head.body) == (200, b"")


def test_they_show_a_key_where_one_is_needed() -> None:
    with FakeProvider() as fake, Gate(fake.spec, guard=Guard(key=Secret("open sesame"))) as gate:
        got = [gate.ask(path) for path in ("/api/tags", "/api/version", "/api/ps")]
        got += [gate.ask(path, {"model": "m"}) for path in ("/api/show", "/api/pull", "/api/generate", "/api/chat")]
        assert gate.ask("/", method="HEAD").status == 200
        assert gate.ask("/api/tags", headers={"authorization": "Bearer open sesame"}).status == 200
    assert [(each.status, {*each.json}) for each in got] == [(401, {"error"})] * 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_they_chat_with_any_model(backend: str) -> None:
    body = {"model": "m:latest", "messages": [{"role": "user", "content": "Say this"}]}
    with FakeProvider(backend, script=[WORDS]) as fake, Gate(fake.spec) as gate:
        got = gate.ask("/api/chat", body)
        whole = gate.ask("/api/chat", {**body, "stream": False})
        assert [seen.body.get("stream", False) for seen in fake.seen] == [True, False] or backend == "ollama"
    said = lines(got.body)
    assert got.headers["content-type"] == "application/x-ndjson"
    assert "".join(each["message"]["content"] for each in said) == whole.json["message"]["content"] == "Said ☔."
    assert [each["done"] for each in said] == [False] * (len(said) - 1) + [True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_prompt_is_a_chat_of_one_turn(backend: str) -> None:
    body = {
        "model": "m",
        "prompt": "Say 这个",
        "system": "Be brief.",
        "options": {"num_predict": 9},
        "keep_alive": "5m",
    }
    with FakeProvider(backend, script=[WORDS, WORDS]) as fake, Gate(fake.spec) as gate:
        got = gate.ask("/api/generate", body)
        whole = gate.ask("/api/generate", {**body, "stream": False, "raw": False, "context": [], "suffix": ""})
        asked = [json.dumps(seen.body, ensure_ascii=False) for seen in fake.seen]
    *pieces, last = lines(got.body)
    keys = {"model", "created_at", "response", "done"}
    assert {frozenset(each) for each in pieces} == {frozenset({*keys}), frozenset({*keys, "thinking"})}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3}
    assert last == {"model": "fake", "created_at": last["created_at"], "response": "", **end}
    said = {key: "".join(each.get(key, "") for each in pieces) for key in ("response", "thinking")}
    assert said == {"response": "Said ☔.", "thinking": "So."}
    assert whole.json == {"model": "fake", "created_at": whole.json["created_at"], **said, **end}
    assert [("Say 这个" in each, "Be brief." in each, '"prompt"' in each) for each in asked] == [
        (True, True, False)
    ] * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_is_told_at_either_address(backend: str, stream: bool) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    body = {"model": "m", "tools": [tool], "stream": stream}
    said = assistant(ToolCall(id="c", name="f", arguments='{"a":1}'))
    call = Reply(message=said, stop=Stop(reason="tool_calls"))
    with FakeProvider(backend, script=[call, call]) as fake, Gate(fake.spec) as gate:
        chat = lines(gate.ask("/api/chat", {**body, "messages": [{"role": "user", "content": "hi"}]}).body)
        alone = lines(gate.ask("/api/generate", {**body, "prompt": "hi"}).body)
    calls = [each for line in chat for each in line["message"].get("tool_calls", ())]
    assert [each["function"] for each in calls] == [{"name": "f", "arguments": {"a": 1}}]
    assert [each for line in alone for each in line.get("tool_calls", ())] == calls


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", ["/api/generate", "/api/chat"])
@pytest.mark.parametrize(("keep", "word"), [("5m", "load"), (0, "unload")])
def test_a_model_that_is_to_be_loaded_is_there(backend: str, path: str, keep: Any, word: str) -> None:
    body = {"model": "m", "keep_alive": keep, **({"messages": []} if path == "/api/chat" else {})}
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        got = [gate.ask(path, {**body, "stream": stream}) for stream in (False, True)]
        if backend == "ollama":  # a server that knows what is meant
            assert [seen.body["messages"] for seen in fake.seen] == [[], []]
            return
        assert fake.seen == []
    silence = {"message": {"role": "assistant", "content": ""}} if path == "/api/chat" else {"response": ""}
    for each in got:
        (said,) = lines(each.body)
        assert said == {"model": "m", "created_at": said["created_at"], **silence, "done": True, "done_reason": word}
    assert [each.status for each in got] == [200, 200]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("raw", True),
        ("template", "{{ .Prompt }}"),
        ("context", [1, 2]),
        ("suffix", "end"),
        ("messages", [{"role": "user", "content": "hi"}]),
        ("prompt", 5),
        ("system", []),
    ],
)
def test_what_a_chat_cannot_ask_is_refused_by_its_field(field: str, value: Any) -> None:
    with FakeProvider() as fake, Gate(fake.spec) as gate:
        got = gate.ask("/api/generate", {"model": "m", "prompt": "x", field: value})
        assert (got.status, {*got.json}, field in got.json["error"], fake.seen) == (400, {"error"}, True, [])


def test_a_failure_is_a_line_or_a_status() -> None:
    for path, said in (
        ("/api/generate", {"prompt": "x"}),
        ("/api/chat", {"messages": [{"role": "user", "content": "x"}]}),
    ):
        with FakeProvider(quirks=["error-503:1", "cut-in-stream"]) as fake, Gate(fake.spec) as gate:
            first = gate.ask(path, {"model": "m", **said})
            second = gate.ask(path, {"model": "m", **said})
        assert (first.status, {*first.json}) == (503, {"error"})
        assert (second.status, {*lines(second.body)[-1]}) == (200, {"error"})


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not beside this checkout")
@pytest.mark.parametrize("client", ["sdk-ollama", "codex-oss", "aider-ollama"])
def test_all_that_a_real_client_asked_is_answered(client: str) -> None:
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        got: dict[str, list[int]] = {}
        for path in sorted((CAPTURES / client).glob("*.json")):
            said = json.loads(path.read_bytes())
            answer = gate.ask(said["path"], said["body"], method=said["method"])
            got.setdefault(said["path"], []).append(answer.status)
    assert got.pop("/api/embed", [404]) == [404]  # no model of ours makes vectors
    assert {status for all_of_it in got.values() for status in all_of_it} == {200}
    assert len(got) >= 2
