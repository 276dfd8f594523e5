"""Guards the table of real clients: what peers' gateways did to a turn is seen in it, and called by its name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from clients import check, sdks
from clients.backend import ANSWER, SIGNATURE, THOUGHT
from clients.client import Fault, Ran
from clients.tee import Exchanged

from dragoman.testing import Received

CLIENT = next(client for client in sdks.CLIENTS if client.name == "anthropic-messages")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HINT = {"cache_control": {"type": "ephemeral"}}
FIRST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 2048,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be brief.", **HINT}],
    "tools": [{"name": name, "input_schema": SCHEMA} for name in ("get_weather", "get_time")],
    "messages": [{"role": "user", "content": "Go."}],
}
CALLS = [
    {"type": "tool_use", "id": f"call_{number}", "name": name, "input": {"city": "Zürich"}}
    for number, name in enumerate(("get_weather", "get_time"), 1)
]
RESULTS = [{"type": "tool_result", "tool_use_id": call["id"], "content": "21 °C"} for call in CALLS]
SECOND: dict[str, Any] = {
    **FIRST,
    "messages": [
        *FIRST["messages"],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}, *CALLS]},
        {"role": "user", "content": RESULTS},
    ],
}
DONE = Ran(code=0, out="", err="", seconds=1.0, answer=ANSWER)


def spoiled(spoil: Callable[[Any], object]) -> Any:
    body = copy.deepcopy(SECOND)
    spoil(body)
    return body


def outcome(second: Any, ran: Ran = DONE) -> check.Cell:
    """The cell of a run whose second request reached the back end like this."""
    said = [Exchanged(method="POST", path="/v1/messages", body=body, status=200) for body in (FIRST, SECOND)]
    got = [
        Received(number=1, method="POST", path="/v1/messages", headers={}, body=body, quirks=(), status=200)
        for body in (FIRST, second)
        if body is not None
    ]
    return check.cell(check.Seen(client=CLIENT, wire="messages", scene="turns", ran=ran, said=said, got=got))


def turn(body: Any) -> Any:
    return body["messages"][1]["content"]


SPOILED: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a tool lost": ("WRONG", lambda body: body["tools"].pop()),
    "parameters lost": ("WRONG", lambda body: body["tools"][0].update(input_schema={"type": "object"})),
    "a schema changed": ("degraded", lambda body: body["tools"][0]["input_schema"].update(required=[])),
    "a system text lost": ("WRONG", lambda body: body.pop("system")),
    "a system text moved": (
        "degraded",
        lambda body: body["messages"].insert(0, {"role": "user", "content": body.pop("system")[0]["text"]}),
    ),
    "a call lost": ("WRONG", lambda body: (turn(body).pop(), body["messages"][2]["content"].pop())),
    "arguments lost": ("WRONG", lambda body: turn(body)[1].update(input={})),
    "one id for two calls": ("WRONG", lambda body: turn(body)[2].update(id="call_1")),
    "other ids": (
        "WRONG",
        lambda body: (turn(body)[1].update(id="x"), body["messages"][2]["content"][0].update(tool_use_id="x")),
    ),
    "a result without a call": ("WRONG", lambda body: body["messages"][2]["content"][1].update(tool_use_id="x")),
    "a result spoiled": ("WRONG", lambda body: body["messages"][2]["content"][1].update(content="22 °C")),
    "reasoning lost": ("degraded", lambda body: turn(body).pop(0)),
    "reasoning without its seal": ("WRONG", lambda body: turn(body)[0].pop("signature")),
    "reasoning as text": ("WRONG", lambda body: turn(body).insert(0, {"type": "text", "text": THOUGHT})),
    "reasoning not asked for": ("degraded", lambda body: body.pop("thinking")),
    "cache marks lost": ("degraded", lambda body: body["system"][0].pop("cache_control")),
    "no limit": ("WRONG", lambda body: body.pop("max_tokens")),
    "another limit": ("degraded", lambda body: body.update(max_tokens=4096)),
    "one call at a time": (
        "degraded",
        lambda body: body.update(tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
    ),
}


def test_a_turn_that_arrived_as_it_was_said_is_done() -> None:
    assert (outcome(SECOND).outcome, outcome(SECOND).faults) == ("done", ())


@pytest.mark.parametrize("kind", SPOILED)
def test_what_was_spoiled_is_seen(kind: str) -> None:
    weight, spoil = SPOILED[kind]
    assert outcome(spoiled(spoil)).outcome == weight


def test_a_turn_that_did_not_arrive_or_was_not_answered_is_wrong() -> None:
    assert outcome(None).outcome == "WRONG"
    assert outcome(SECOND, Ran(code=0, out="", err="", seconds=1.0, answer="Hello.")).outcome == "WRONG"


@pytest.mark.parametrize(("scene", "ran"), [("cut", DONE), ("limit", DONE), ("leave", DONE)])
def test_a_success_where_there_was_none_is_wrong(scene: str, ran: Ran) -> None:
    got = [Received(number=1, method="POST", path="/v1/messages", headers={}, body=FIRST, quirks=(), status=200)]
    assert check.cell(check.Seen(client=CLIENT, wire="messages", scene=scene, ran=ran, got=got)).outcome == "WRONG"


def test_a_wait_that_the_client_does_not_learn_is_told() -> None:
    fault = Fault(kind="RateLimitError", message="Error code: 429")
    ran = Ran(code=0, out="", err="", seconds=1.0, fault=fault)
    assert check.cell(check.Seen(client=CLIENT, wire="messages", scene="limit", ran=ran)).outcome == "degraded"
