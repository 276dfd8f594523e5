"""Guards real clients: every request that one of them was seen to send gets a 200 of the gateway on each back end, and what
reaches the back end is valid by its vendor's own types, with every tool and call of the client in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.testing import FakeProvider
from gate import Gate
from matrix import captures, valid
from matrix.captures import Capture
from matrix.pairs import WRITTEN

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not captures.present(), reason="the captures are not beside this checkout"),
]
WIRES = ("chat", "messages", "responses")
REPLIES = ("/v1/chat/completions", "/v1/messages", "/v1/responses")


def requests(wire: str) -> list[Capture]:
    """The captured requests for a reply, one of each client's kind of request."""
    return [capture for capture in captures.captures(wire) if capture.path in REPLIES]


def keeps_state(body: dict[str, Any]) -> bool:
    """What only a service that stores conversations can answer, which is refused by name elsewhere."""
    items = body["input"] if isinstance(body.get("input"), list) else ()
    refers = any(item.get("type") == "item_reference" for item in items if isinstance(item, dict))
    return bool(body.get("previous_response_id") or body.get("store") or body.get("background") or refers)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("backend", WIRES)
def test_each_request_of_a_real_client_is_answered_and_valid_for_the_back_end(wire: str, backend: str) -> None:
    wrong: dict[str, Any] = {}
    asked = 0
    with FakeProvider(backend, script=["Done."]) as fake, Gate(fake.spec) as gate:
        for capture in requests(wire):
            refused = ("thread" in capture.body) or (wire == "responses" != backend and keeps_state(capture.body))
            kept = {name: value for name, value in capture.http.headers if name.lower() != "content-length"}
            kept = {name: value for name, value in kept.items() if name.lower().startswith("anthropic")}
            before = len(fake.seen)
            got = gate.ask(capture.http.path, capture.http.body, kept)
            if got.status != (400 if refused else 200):
                wrong[capture.name] = (got.status, got.body[:200])
            elif not refused and backend != wire:
                asked += 1
                if said := errors(backend, fake.seen[before].body):
                    wrong[capture.name] = said
    assert wrong == {}
    assert asked > 10 or backend == wire


def errors(backend: str, body: dict[str, Any]) -> list[str]:
    """What the vendor's types say against a body that we wrote."""
    assert "drg1" not in json.dumps(body)
    for row in valid.ACCEPTED:
        if row.wire == backend and row.name in WRITTEN:
            row.mend(body)
    return valid.errors(backend, body)
