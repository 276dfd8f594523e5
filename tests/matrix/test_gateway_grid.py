"""Guards every cell of client and back end: two parallel calls with reasoning before each, and the turn after them in the form
that real coding agents send; the whole body that the back end gets is asserted. Then what it fails with, cuts and is left in.

The hazards of the gateway are tested one by one elsewhere; here nothing may be lost, invented or moved between all of them.
"""

from __future__ import annotations

import json
from threading import Event
from typing import Any

import pytest

from dragoman.catalog.target import Target
from dragoman.dialect.model import BASE, override
from dragoman.testing import FakeProvider
from dragoman.types import Content, Message, Reasoning, Reply, Stop, ToolCall, Usage
from gate import PATHS, Gate, body_of, events
from matrix.talkers import HINT, LARK, PATCH, RESULTS, SCHEMA, TALKERS, Body, Talker

WIRES = ("chat", "responses", "messages")
SOON = 2.0
PROOFS: dict[str, Any] = {
    "chat": lambda at: None,
    "responses": lambda at: {"responses": {"id": f"rs_{at}", "encrypted_content": f"enc{at}"}},
    "messages": lambda at: {"messages": {"signature": f"sig{at}"}},
}
NEEDED = {"reasoning_out": "reasoning_content", "replay": "required"}  # a chat server that wants its thoughts again


def answer(talker: Talker, backend: str) -> Reply:
    """Thought, call, thought, call, as a model of the back end's wire says them."""
    blocks: list[Content] = []
    for at, (name, said) in enumerate(talker.calls, 1):
        text = {"summary": (f"thought {at}",)} if backend == "responses" else {"text": f"thought {at}"}
        blocks.append(Reasoning(opaque=PROOFS[backend](at), **text))  # type: ignore[arg-type]
        blocks.append(_call(f"call_{at}", name, said, own=backend == talker.wire))
    stop, usage = Stop(reason="tool_calls"), Usage(input=9, output=9)
    return Reply(
        message=Message(role="assistant", content=tuple(blocks)), stop=stop, usage=usage, id="r1", model="fake"
    )


def _call(id: str, name: str, said: Any, *, own: bool) -> ToolCall:
    if not isinstance(said, str):
        return ToolCall(
            id=id, name=name, arguments=text_of(said), namespace="agents" if own and name == "wait_agent" else None
        )
    return ToolCall(
        id=id, name=name, arguments=said if own else text_of({"input": said}), kind="custom" if own else "function"
    )


def target(fake: FakeProvider) -> Target:
    wire = fake.wire.id
    dialect = override(BASE, NEEDED) if wire == "chat" else BASE
    return Target(provider="fake", label="Fake", wire=wire, model="fake", base_url=f"{fake.url}/v1", dialect=dialect)


def text_of(value: Any) -> str:
    """JSON as the clients write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- what the back end must get, written by hand for each of its wires


def tool(wire: str, name: str, description: str = "Run.", parameters: Any = SCHEMA, **more: Any) -> Body:
    match wire:
        case "chat":
            function = {"name": name, "description": description, "parameters": parameters, **more}
            return {"type": "function", "function": function}
        case "responses":
            return {
                "type": "function",
                "name": name,
                "description": description,
                "parameters": parameters,
                "strict": False,
                **more,
            }
        case _:
            return {"name": name, "description": description, "input_schema": parameters, **more}


def turn(wire: str, calls: list[tuple[str, Any]], *, hint: bool = False, errors: Body | None = None) -> list[Body]:
    """The model's turn and the results, with the state that its server gave."""
    ids = [f"call_{at}" for at in range(1, len(calls) + 1)]
    match wire:
        case "chat":
            said = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": text_of(arguments)}}
                for id, (name, arguments) in zip(ids, calls, strict=True)
            ]
            thought = "thought 1\nthought 2"
            told = [
                {"role": "tool", "tool_call_id": id, "content": text} for id, text in zip(ids, RESULTS, strict=True)
            ]
            return [{"role": "assistant", "content": None, "reasoning_content": thought, "tool_calls": said}, *told]
        case "responses":
            items: list[Body] = []
            for at, (id, (name, arguments)) in enumerate(zip(ids, calls, strict=True), 1):
                summary = [{"type": "summary_text", "text": f"thought {at}"}]
                items.append(
                    {"type": "reasoning", "id": f"rs_{at}", "summary": summary, "encrypted_content": f"enc{at}"}
                )
                items.append({"type": "function_call", "call_id": id, "name": name, "arguments": text_of(arguments)})
            outputs = zip(ids, RESULTS, strict=True)
            return [*items, *({"type": "function_call_output", "call_id": id, "output": text} for id, text in outputs)]
        case _:
            blocks: list[Body] = []
            for at, (id, (name, arguments)) in enumerate(zip(ids, calls, strict=True), 1):
                blocks.append({"type": "thinking", "thinking": f"thought {at}", "signature": f"sig{at}"})
                blocks.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
            results = [
                {"type": "tool_result", "tool_use_id": id, "content": text, **(errors or {})}
                for id, text in zip(ids, RESULTS, strict=True)
            ]
            results[-1] |= HINT if hint else {}
            return [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]


USER = {"role": "user", "content": "Do both."}
BASH = [("bash", {"cmd": "a"}), ("bash", {"cmd": "b"})]
WAIT = [("wait_agent", {"cmd": "a"}), ("apply_patch", {"input": PATCH})]
SAID = f"The text itself, which must be of this lark grammar:\n{LARK['definition']}"  # of a tool that takes text
TEXT = {"type": "object", "properties": {"input": {"type": "string", "description": SAID}}, "required": ["input"]}
STREAM: Body = {"model": "fake", "stream": True}
CHAT: Body = {**STREAM, "stream_options": {"include_usage": True}}
SYSTEM: Body = {"system": [{"type": "text", "text": "Rules.", **HINT}]}
REMINDED = [{"type": "text", "text": "<reminder>"}, {"type": "text", "text": "Do both."}]
PARTS = [{"type": "text", "text": text} for text in ("billing", "You are an agent.", "Rules: 规则")]
UNKEPT: Body = {
    "store": False,
    "include": ["reasoning.encrypted_content"],
}  # as a client whose wire keeps nothing expects
EXPECTED: dict[tuple[str, str], Body] = {
    ("claude-code", "chat"): {
        **CHAT,
        "messages": [
            {"role": "system", "content": PARTS},
            {"role": "user", "content": REMINDED},
            {"role": "system", "content": "# Environment"},
            *turn("chat", BASH),
        ],
        "tools": [tool("chat", "bash"), tool("chat", "Later", "Later.")],
        "max_tokens": 128000,
        "reasoning_effort": "medium",
        "user": "u",
    },
    ("claude-code", "responses"): {
        **STREAM,
        **UNKEPT,
        "instructions": "billing\nYou are an agent.\nRules: 规则",
        "input": [
            {"role": "user", "content": [{**part, "type": "input_text"} for part in REMINDED]},
            {"role": "system", "content": "# Environment"},
            *turn("responses", BASH),
        ],
        "tools": [tool("responses", "bash"), tool("responses", "Later", "Later.")],
        "max_output_tokens": 128000,
        "reasoning": {"effort": "medium"},
        "user": "u",
    },
    ("codex", "chat"): {
        **CHAT,
        "messages": [{"role": "developer", "content": "Rules."}, USER, *turn("chat", WAIT)],
        "tools": [
            tool("chat", "bash", strict=False),
            tool("chat", "wait_agent", strict=False),
            tool("chat", "apply_patch", "Patch.", TEXT),
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning_effort": "medium",
        "store": False,
        "prompt_cache_key": "k",
        "verbosity": "low",
    },
    ("codex", "messages"): {
        **STREAM,
        **SYSTEM,
        "messages": [USER, *turn("messages", WAIT, hint=True)],
        "tools": [
            tool("messages", "bash", strict=False),
            tool("messages", "wait_agent", strict=False),
            tool("messages", "apply_patch", "Patch.", TEXT, **HINT),
        ],
        "tool_choice": {"type": "auto"},
        "output_config": {"effort": "medium"},
        "max_tokens": 8192,
    },
    ("pi", "responses"): {
        **STREAM,
        "instructions": "Rules.",
        "input": [USER, *turn("responses", BASH)],
        "tools": [tool("responses", "bash")],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 16384,
    },
    ("pi", "messages"): {
        **STREAM,
        **SYSTEM,
        "messages": [USER, *turn("messages", BASH, hint=True)],
        "tools": [tool("messages", "bash", **HINT)],
        "max_tokens": 16384,
    },
    ("opencode", "responses"): {
        **STREAM,
        **UNKEPT,
        "instructions": "Rules.",
        "input": [USER, *turn("responses", BASH)],
        "tools": [tool("responses", "bash")],
        "tool_choice": "auto",
        "max_output_tokens": 8192,
    },
    ("opencode", "messages"): {
        **STREAM,
        **SYSTEM,
        "messages": [USER, *turn("messages", BASH, hint=True)],
        "tools": [tool("messages", "bash", **HINT)],
        "tool_choice": {"type": "auto"},
        "max_tokens": 8192,
    },
    ("pi on responses", "chat"): {
        **CHAT,
        "messages": [{"role": "system", "content": "Rules."}, USER, *turn("chat", BASH)],
        "tools": [tool("chat", "bash")],
        "store": False,
        "prompt_cache_key": "k",
        "max_tokens": 16384,
    },
    ("pi on responses", "messages"): {
        **STREAM,
        **SYSTEM,
        "messages": [USER, *turn("messages", BASH, hint=True)],
        "tools": [tool("messages", "bash", **HINT)],
        "max_tokens": 16384,
    },
}


# What has no place on the back end's wire, and is told in a header; all else is in the body.
HINTS = {"cache", "output_config", "defer_loading", "thinking", "context_management"}
LOST: dict[tuple[str, str], set[str]] = {
    ("claude-code", "chat"): HINTS,
    ("claude-code", "responses"): HINTS,
    ("codex", "chat"): {"description", "format", "tools[3]", "client_metadata"},
    ("codex", "messages"): {
        "description",
        "format",
        "tools[3]",
        "client_metadata",
        "cache_key",
        "verbosity",
    },
    ("pi on responses", "messages"): {"cache_key"},
}
CELLS = [(client, backend, True) for client in TALKERS for backend in WIRES]
CELLS += [(client, TALKERS[client].wire, False) for client in TALKERS]


@pytest.mark.req("I-06", "I-13")
@pytest.mark.parametrize(("client", "backend", "passthrough"), CELLS)
def test_the_turn_after_two_calls_reaches_the_back_end_whole(client: str, backend: str, passthrough: bool) -> None:
    talker = TALKERS[client]
    path = talker.path or PATHS[talker.wire]
    with (
        FakeProvider(backend, script=[answer(talker, backend), "ok"]) as fake,
        Gate(target(fake), passthrough=passthrough) as gate,
    ):
        first = gate.ask(path, text_of(talker.first).encode())
        second = talker.second(first.body)
        done = gate.ask(path, text_of(second).encode())
    assert (first.status, done.status, b'"ok"' in done.body) == (200, 200, True)
    assert fake.seen[1].body == EXPECTED.get((client, backend), {**second, "model": "fake"})
    lost = [
        said.partition(" ")[0].rpartition(".")[2] for said in done.headers.get("dragoman-lost", "").split("; ") if said
    ]
    assert set(lost) == LOST.get((client, backend), set())


# --- what goes wrong


def told(wire: str, body: Any) -> tuple[str, str]:
    """The type and the sentence of an error, in the one shape that clients of a wire read."""
    if wire == "messages":
        assert (body["type"], {*body["error"]}) == ("error", {"type", "message"})
    else:
        assert ({*body}, {*body["error"]}) == ({"error"}, {"type", "message", "param", "code"})
    return body["error"]["type"], body["error"]["message"]


FAULTY = [{"text": "no", "quirks": ["rate-limit-seconds"]}, {"text": "no", "quirks": ["bad-request"]}]


@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_has_its_status_its_wait_and_the_clients_own_shape(wire: str, backend: str, stream: bool) -> None:
    with FakeProvider(backend, script=FAULTY) as fake, Gate(fake.spec) as gate:
        limited, refused = gate.say(wire, stream=stream), gate.say(wire, stream=stream)
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    assert told(wire, limited.json)[0] == "rate_limit_error"
    assert (refused.status, refused.headers.get("retry-after")) == (400, None)
    assert told(wire, refused.json)[0] == "invalid_request_error"
    assert (len(fake.seen), told(wire, refused.json)[1] != "") == (2, True)


@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("quirk", ["cut-in-stream", "error-in-stream"])
def test_a_cut_in_the_arguments_of_a_call_is_an_error_and_no_call(wire: str, backend: str, quirk: str) -> None:
    call = {"calls": [{"id": "call_1", "name": "bash", "arguments": {"cmd": "a" * 99}}]}
    with FakeProvider(backend, quirks=[quirk], script=[call]) as fake, Gate(fake.spec, passthrough=False) as gate:
        got = gate.say(wire, stream=True)
    said = events(got.body)
    last = said[-1]
    match wire:
        case "responses":
            assert (last["type"], last["response"]["status"], last["response"]["output"]) == (
                "response.failed",
                "failed",
                [],
            )
            assert not any(event["type"].endswith(".done") for event in said)
        case "messages":
            assert (last["type"], {*last["error"]}) == ("error", {"type", "message"})
            assert not any(event["type"] in ("content_block_stop", "message_delta", "message_stop") for event in said)
        case _:
            assert {*last["error"]} == {"type", "message", "param", "code"}
            assert not any(choice["finish_reason"] for event in said[:-1] for choice in event["choices"])
            assert b"[DONE]" not in got.body


@pytest.mark.case("GWY-023")
@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("quirk", ["silence", "silence-in-stream"], ids=["before a word", "in mid-stream"])
def test_the_back_end_is_let_go_when_the_client_leaves(wire: str, backend: str, quirk: str) -> None:
    came, done = Event(), Event()
    with (
        FakeProvider(backend, quirks=[quirk], log=lambda _: came.set()) as fake,
        Gate(fake.spec, observers=[lambda _: done.set()]) as gate,
    ):
        line = gate.knock(PATHS[wire], body_of(wire, stream=True))
        assert came.wait(SOON)
        if quirk == "silence-in-stream":
            assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.close()
        assert (fake.left.wait(SOON), done.wait(SOON)) == (True, True)
    assert (len(fake.seen), gate.app.active) == (1, 0)
