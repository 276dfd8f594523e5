"""Guards what clients are told when a model's service fails: the status it gave, its words, in the client's own shape; and no
key of anybody in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.catalog.target import Target
from dragoman.gateway.guard import Guard
from dragoman.secret import Secret
from dragoman.testing import FakeProvider
from gate import PATHS, Gate, body_of, events
from hazards.cases import data
from origin import Answer, Origin

WIRES = ("chat", "messages", "responses")
KEY = "sk-SECRET/abc+123 456"
QUOTED = ("sk-SECRET", "abc+123", "abc%2B123")


def spec(origin: Origin, wire: str = "chat") -> str:
    return f"{origin.url}/v1#{wire}:m"


def told(wire: str, body: Any) -> tuple[str, str]:
    """The type and the sentence of an error, in the one shape that clients of a wire read."""
    if wire == "messages":
        assert body["type"] == "error"
    assert {*body["error"]} == ({"type", "message"} if wire == "messages" else {"type", "message", "param", "code"})
    return body["error"]["type"], body["error"]["message"]


REFUSED: dict[str, tuple[Answer, int, str, str]] = {
    "a code that is a number": (
        Answer(400, body=json.dumps({"error": {"message": "list index", "type": "Bad", "code": 400}}).encode()),
        *(400, "invalid_request_error", "list index"),
    ),
    "another vendor's shape, with a wait": (
        Answer(429, {"retry-after": "7"}, b'{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}'),
        *(429, "rate_limit_error", "quota"),
    ),
    "a text": (
        Answer(429, body=b'{"error":"Too Many Requests"}'),
        *(429, "rate_limit_error", "Too Many Requests"),
    ),
    "a page": (
        Answer(502, {"content-type": "text/html"}, b"<html>bad gateway</html>"),
        *(502, "api_error", "the model's service answered 502"),
    ),
    "our key is refused": (
        Answer(401, body=b'{"detail":"no key"}'),
        *(502, "api_error", "the model's service does not take the key that this server has for it"),
    ),
    "nothing": (Answer(500), 500, "api_error", "the service gave no reason"),
    "moved": (Answer(307, {"location": "/elsewhere"}), 500, "api_error", "the service gave no reason"),
}


@pytest.mark.case("GWY-021")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_keeps_its_status_and_words_in_the_clients_shape(name: str, stream: bool) -> None:
    answer, status, kind, message = REFUSED[name]
    with Origin(answer) as origin, Gate(spec(origin)) as gate:
        got = {wire: gate.say(wire, stream=stream) for wire in WIRES}
    assert {wire: each.status for wire, each in got.items()} == dict.fromkeys(WIRES, status)
    assert told("messages", got["messages"].json) == (kind, message)
    assert [told(wire, got[wire].json)[1] for wire in WIRES] == [message] * 3
    assert {each.headers.get("retry-after") for each in got.values()} == {answer.headers.get("retry-after")}
    assert len(origin.seen) == 3  # nobody tried again in the client's place


@pytest.mark.case("GWY-022")
@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("quirk", ["bad-request-in-stream", "error-at-start"])
def test_an_error_before_the_first_word_has_its_real_status(wire: str, backend: str, quirk: str) -> None:
    with FakeProvider(backend, quirks=[quirk]) as fake, Gate(fake.spec) as gate:
        got = gate.say(wire, stream=True)
    kind, message = told(wire, got.json)
    assert message
    if quirk == "bad-request-in-stream":
        assert (got.status, kind) == (400, "invalid_request_error")
    else:
        assert got.status in (500, 503, 529)


@pytest.mark.case("GWY-022")
def test_the_error_event_as_met() -> None:
    error = {
        "message": "messages must contain a user role",
        "type": "invalid_request_error",
        "code": "invalid_parameter",
    }
    stream = Answer(200, {"content-type": "text/event-stream"}, [data({"error": error})])
    with Origin(stream) as origin, Gate(spec(origin)) as gate:
        got = gate.say("messages", stream=True)
    assert (got.status, *told("messages", got.json)) == (400, "invalid_request_error", error["message"])


@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("quirk", ["cut-in-stream", "no-end", "garbage", "error-in-stream"])
def test_a_cut_is_an_error(wire: str, backend: str, quirk: str) -> None:
    with FakeProvider(backend, quirks=[quirk]) as fake, Gate(fake.spec, passthrough=False) as gate:
        got = gate.say(wire, stream=True)
    last = events(got.body)[-1]
    if wire == "responses":
        assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
        assert [event["sequence_number"] for event in events(got.body)] == list(range(len(events(got.body))))
    else:
        assert last["error"]["message"]
        assert (wire, last.get("type")) in {("messages", "error"), ("chat", None)}
    assert b"message_stop" not in got.body
    assert b"[DONE]" not in got.body


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("quirk", ["cut-in-stream", "no-end"])
def test_a_cut_breaks_the_connection_where_bytes_pass(wire: str, quirk: str) -> None:
    asked = body_of(wire, stream=True)
    with (
        FakeProvider(wire, quirks=[quirk]) as fake,
        Gate(fake.spec) as gate,
        gate.knock(PATHS[wire], asked) as line,
    ):
        whole = b"".join(iter(lambda: line.recv(65536), b""))
    assert whole.startswith(b"HTTP/1.1 200")
    assert not whole.endswith(b"0\r\n\r\n")


CASES: dict[str, Answer] = {
    "refused": Answer(400, body=json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()),
    "refused, and quoted in a page": Answer(502, body=f"<html>{KEY}</html>".encode()),
    "in a stream": Answer(
        200, {"content-type": "text/event-stream"}, [data({"error": {"message": f"no: {KEY}", "code": 500}})]
    ),
    "not there": Answer(200, cut=True, body=b"{"),
}


@pytest.mark.case("GWY-026")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", CASES)
def test_no_key_is_in_what_a_client_is_told(name: str, wire: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with Origin(CASES[name]) as origin:
        target = Target(
            provider="p",
            label="P",
            wire="chat",
            model="m",
            base_url=f"{origin.url}/v1",
            key=Secret(KEY),
            key_env="P_KEY",
        )
        with Gate(target, guard=Guard(key=Secret("server-key-0001"))) as gate:
            right = gate.ask(PATHS[wire], body_of(wire, stream=True), {"x-api-key": "server-key-0001"})
            wrong = gate.ask(PATHS[wire], body_of(wire), {"authorization": "Bearer wrong-key-xyz"})
    assert (right.status >= 400 or b"error" in right.body, wrong.status) == (True, 401)
    said = repr((right, wrong, gate.app.seats.models, gate.app.guard)) + caplog.text
    assert [key for key in (*QUOTED, "server-key-0001", "wrong-key-xyz", "P_KEY") if key in said] == []
    assert [seen.headers["authorization"] for seen in origin.seen] == [f"Bearer {KEY}"]
    assert "server-key-0001" not in repr(origin.seen)


@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_of_ours_is_told_in_the_clients_shape_without_its_words(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(_: str) -> None:
        raise RuntimeError("/home/ada/secret")

    with FakeProvider() as fake, Gate(fake.spec) as gate:
        monkeypatch.setattr(gate.app.seats, "choose", choose)
        got = gate.say(wire)
    said = "a fault in this server, not in the request: whoever runs it was told where (RuntimeError)"
    assert (got.status, got.json["error"]["message"]) == (500, said)
    assert gate.app.active == 0
