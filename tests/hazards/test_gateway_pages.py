"""Guards clients that are pages in a browser: what the gateway tells them, refusals above all, their browser lets them read; other
pages read nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from dragoman.gateway.guard import Guard
from dragoman.gateway.serving import Bounds
from dragoman.secret import Secret
from dragoman.testing import FakeProvider
from gate import PATHS, Gate, Got, body_of
from origin import Answer, Origin

PAGE = "https://a.example"
SHOWN = {"origin": PAGE, "x-api-key": "ours-0001"}
BODY = body_of("chat")
CHAT = PATHS["chat"]
ALLOW, EXPOSE = "access-control-allow-origin", "access-control-expose-headers"


def broken(_: Any) -> NoReturn:
    raise LookupError


def crowded(gate: Gate) -> Got:
    gate.app.active = 1000
    return gate.ask(CHAT, BODY, SHOWN)


def faulty(gate: Gate) -> Got:
    gate.app.seats.choose = broken  # type: ignore[method-assign]
    return gate.ask(CHAT, BODY, SHOWN)


def listless(gate: Gate) -> Got:
    gate.app.seats.models = None  # type: ignore[assignment]  a fault where no model is asked
    return gate.ask("/v1/models", None, SHOWN)


ASKS: dict[str, tuple[int, Callable[[Gate], Got]]] = {
    "an answer": (200, lambda gate: gate.ask(CHAT, BODY, SHOWN)),
    "a stream": (200, lambda gate: gate.ask(CHAT, {**BODY, "stream": True}, SHOWN)),
    "the models": (200, lambda gate: gate.ask("/v1/models", None, SHOWN)),
    "what cannot be read": (400, lambda gate: gate.ask(CHAT, b"{", SHOWN)),
    "no key": (401, lambda gate: gate.ask(CHAT, BODY, {"origin": PAGE})),
    "no key for the models": (401, lambda gate: gate.ask("/v1/models", None, {"origin": PAGE})),
    "another host": (403, lambda gate: gate.ask(CHAT, BODY, {**SHOWN, "host": "elsewhere.example"})),
    "nothing there": (404, lambda gate: gate.ask("/nowhere", BODY, SHOWN)),
    "another method": (405, lambda gate: gate.ask(CHAT, None, SHOWN)),
    "too much": (413, lambda gate: gate.ask(CHAT, b" " * 3000, SHOWN)),
    "packed": (415, lambda gate: gate.ask(CHAT, b"x", {**SHOWN, "content-encoding": "zstd"})),
    "a socket": (426, lambda gate: gate.ask(CHAT, None, {**SHOWN, "upgrade": "websocket", "connection": "upgrade"})),
    "a fault": (500, faulty),
    "a fault where no model is asked": (500, listless),
    "too many": (503, crowded),
}


@pytest.mark.parametrize("origins", [frozenset({PAGE}), frozenset({"*"})])
@pytest.mark.parametrize("name", ASKS)
def test_a_page_that_may_ask_may_read_whatever_it_is_told(name: str, origins: frozenset[str]) -> None:
    status, ask = ASKS[name]
    guard = Guard(key=Secret("ours-0001"), origins=origins)
    with FakeProvider() as fake, Gate(fake.spec, guard=guard, bounds=Bounds(body=2000)) as gate:
        got = ask(gate)
    assert (got.status, got.headers.get(ALLOW)) == (status, min(origins))
    assert got.headers.get(EXPOSE) == "dragoman-lost, retry-after"
    assert status < 400 or json.loads(got.body)["error"]["message"]


@pytest.mark.parametrize("wire", PATHS)
def test_and_what_the_service_says(wire: str) -> None:
    refused = Answer(429, {"retry-after": "7"}, b'{"error":{"message":"later"}}')
    with Origin(refused) as origin, Gate(f"{origin.url}/v1#chat:m", guard=Guard(origins=frozenset({PAGE}))) as gate:
        got = gate.ask(PATHS[wire], body_of(wire), {"origin": PAGE})
    assert (got.status, got.headers[ALLOW], got.headers["retry-after"]) == (429, PAGE, "7")


@pytest.mark.parametrize("origins", [frozenset[str](), frozenset({PAGE})])
def test_any_other_page_is_let_read_nothing(origins: frozenset[str]) -> None:
    other = {"origin": "https://evil.example"}
    first = {**other, "access-control-request-method": "POST", "access-control-request-private-network": "true"}
    with FakeProvider() as fake, Gate(fake.spec, guard=Guard(origins=origins)) as gate:
        got = [gate.ask(CHAT, BODY, other), gate.ask("/v1/models", None, other)]
        before = gate.ask(CHAT, None, first, method="OPTIONS")
    assert ([each.status for each in got], before.status >= 400, fake.seen) == ([403, 403], True, [])
    assert [each.headers[ALLOW] for each in (*got, before) if ALLOW in each.headers] == []


def test_a_page_elsewhere_that_was_named_may_reach_this_machine() -> None:
    first = {"origin": PAGE, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    first["access-control-request-private-network"] = "true"
    guard = Guard(key=Secret("ours-0001"), origins=frozenset({PAGE}))
    with FakeProvider() as fake, Gate(fake.spec, guard=guard) as gate:
        got = gate.ask(CHAT, None, first, method="OPTIONS")
        bare = gate.ask(CHAT, None, {}, method="OPTIONS")
    told = [got.headers[f"access-control-allow-{name}"] for name in ("origin", "headers", "private-network")]
    assert (got.status, told) == (200, [PAGE, "x-api-key", "true"])
    assert bare.status == 401
