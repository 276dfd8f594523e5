"""Guards the doors of the gateway: who may come in, what is asked at which address, and that whatever cannot be had is refused
by name in the client's own shape."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import pytest

from dragoman.errors import UsageError
from dragoman.gateway import heads
from dragoman.gateway.guard import Guard
from dragoman.gateway.seats import split
from dragoman.gateway.serving import Bounds
from dragoman.secret import Secret
from dragoman.testing import FakeProvider
from dragoman.types import Reply, Request, Stop, assistant
from dragoman.types.collect import explode
from dragoman.types.note import Note
from gate import PATHS, Gate, body_of, events
from hazards.test_gateway_leaves import until

WIRES = ("chat", "messages", "responses")
VERSION = {"anthropic-version": "2023-06-01"}
COUNT = "/v1/messages/count_tokens?beta=true"


@pytest.mark.case("GWY-014")
@pytest.mark.parametrize("backend", ["chat", "responses"])
def test_a_count_has_everything_in_it_and_asks_nobody(backend: str) -> None:
    tool = {"name": "f", "description": "long " * 40, "input_schema": {"type": "object", "properties": {}}}
    bare = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        counts = [
            gate.ask(COUNT, body).json["input_tokens"]
            for body in (bare, {**bare, "system": "You are helpful. " * 20}, {**bare, "tools": [tool]})
        ]
        whole = gate.ask(COUNT, {**bare, "system": "You are helpful. " * 20, "tools": [tool]})
    assert (whole.status, {*whole.json}, fake.seen) == (200, {"input_tokens"}, [])
    assert [count - counts[0] > 30 for count in counts] == [False, True, True]
    assert whole.json["input_tokens"] > counts[1] + counts[2] - counts[0] - 10


@pytest.mark.case("GWY-015")
def test_the_list_of_models_is_in_the_form_of_its_reader() -> None:
    with FakeProvider() as fake, Gate(f"one={fake.spec}", f"two={fake.spec}") as gate:
        ours, theirs = gate.ask("/v1/models").json, gate.ask("/v1/models", headers=VERSION).json
        found = [gate.ask("/v1/models/two", headers=headers).json for headers in ({}, VERSION)]
        missing = [gate.ask("/v1/models/three", headers=headers) for headers in ({}, VERSION)]
    born = ours["data"][0]["created"]
    assert ours == {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": born, "owned_by": "dragoman"} for name in ("one", "two")],
    }
    assert (theirs["has_more"], theirs["first_id"], theirs["last_id"]) == (False, "one", "two")
    assert [{*each} for each in theirs["data"]] == [{"type", "id", "display_name", "created_at"}] * 2
    assert found == [ours["data"][1], theirs["data"][1]]
    assert [each.status for each in missing] == [404, 404]
    assert ("code" in missing[0].json["error"], missing[1].json["type"]) == (True, "error")


@pytest.mark.parametrize("wire", WIRES)
def test_several_models_are_picked_by_name_and_one_answers_to_any(wire: str) -> None:
    with FakeProvider(script=["one"]) as one, FakeProvider("messages", script=["two"]) as two:
        with Gate(f"a={one.spec}", f"b/c={two.spec}") as gate:
            said = [gate.say(wire, model=name) for name in ("a", "b/c")]
            unknown = gate.say(wire, model="gpt")
        with Gate(one.spec) as gate:
            assert gate.say(wire, model="whatever").status == 200
            assert [each["id"] for each in gate.ask("/v1/models").json["data"]] == ["fake"]
            assert gate.ask("/v1/models/whatever/else").json["id"] == "whatever/else"
    assert [b"one" in said[0].body, b"two" in said[1].body] == [True, True]
    assert (unknown.status, "a, b/c" in unknown.json["error"]["message"]) == (404, True)
    assert ("type" in unknown.json) == (wire == "messages")


def test_how_a_model_is_said() -> None:
    url = "http://127.0.0.1:1/v1?key=a#chat:m"
    assert [split(said) for said in ("openai/gpt", "x=openai/gpt", url, f"x={url}", "local")] == [
        ("openai/gpt", "openai/gpt"),
        ("x", "openai/gpt"),
        (url, url),
        ("x", url),
        ("local", "local"),
    ]
    for wrong in ("=a", "a="):
        with pytest.raises(UsageError, match="write SPEC or NAME=SPEC"):
            split(wrong)


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "store", "background", "item_reference"])
def test_state_that_the_model_cannot_keep_is_refused_by_name(field: str) -> None:
    value: Any = {"previous_response_id": "resp_1", "conversation": "conv_1", "store": True, "background": True}.get(
        field
    )
    body = body_of("responses", **({field: value} if value else {}))
    if not value:
        body["input"] = [{"type": "item_reference", "id": "rs_1"}, {"role": "user", "content": "x"}]
    with FakeProvider("chat") as chat, Gate(chat.spec) as gate:
        refused = gate.ask(PATHS["responses"], body)
        assert gate.say("responses", store=False).status == 200
        told = [gate.say("responses").json, *events(gate.say("responses", stream=True).body)]
    assert {each.get("response", each).get("store") for each in told if "response" in each or "id" in each} == {False}
    with FakeProvider("responses") as own, Gate(own.spec) as gate:
        assert gate.ask(PATHS["responses"], body).status == 200
    assert (refused.status, field in refused.json["error"]["message"]) == (400, True)
    assert refused.json["error"]["param"] == ("input" if field == "item_reference" else field)
    assert {**own.seen[0].body, "model": "m"} == body


@pytest.mark.parametrize("backend", WIRES)
def test_a_thread_is_refused_so_that_the_history_is_sent(backend: str) -> None:
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        got = gate.say("messages", thread={"type": "create"})
    assert (got.status, fake.seen) == (400, [])
    assert got.json["error"]["details"] == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
    assert got.json["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("wire", WIRES)
def test_who_may_not_come_in(wire: str) -> None:
    path, body = PATHS[wire], body_of(wire)
    with FakeProvider() as fake:
        with Gate(fake.spec) as gate:
            names = ("localhost", f"127.0.0.1:{gate.port}", "[::1]:80", "evil.example", "", "127.0.0.1.evil.example")
            hosts = [gate.ask(path, body, {"host": host}).status for host in names]
            page = gate.ask(path, body, {"origin": "https://evil.example"})
            assert (hosts, page.status) == ([200, 200, 200, 403, 403, 403], 403)
            assert "access-control-allow-origin" not in page.headers
        guard = Guard(key=Secret("k1-Ünï"), origins=frozenset({"https://a.example"}))
        with Gate(fake.spec, guard=guard) as gate:
            shown = ({}, {"x-api-key": "no"}, {"authorization": "Bearer "}, {"authorization": "k1-Ünï"})
            assert [gate.ask(path, body, each).status for each in shown] == [401] * 4
            ask = {"origin": "https://a.example", "access-control-request-method": "POST"}
            preflight = gate.ask(path, None, ask, method="OPTIONS")
            assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (200, "https://a.example")
            assert gate.ask("/health").status == 200
            assert gate.ask("/v1/models").status == 401
    assert len(fake.seen) == 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_body_that_cannot_be_taken_is_refused_in_the_clients_shape(wire: str) -> None:
    path = PATHS[wire]
    with FakeProvider() as fake, Gate(fake.spec, bounds=Bounds(body=2000)) as gate:
        got = [
            gate.ask(path, b"{"),
            gate.ask(path, json.dumps(body_of(wire, "x" * 3000)).encode()),
            gate.ask(path, b"x", {"content-encoding": "zstd"}),
            gate.ask(path, {"model": "m", "messages" if wire != "responses" else "input": 7}),
            gate.ask(path),
            gate.ask(path, None, {"upgrade": "websocket", "connection": "upgrade"}),
            gate.ask("/nowhere" if wire != "messages" else "/v1/messages/batches", {}),
        ]
    assert [each.status for each in got] == [400, 413, 415, 400, 405, 426, 404]
    assert all(each.json["error"]["message"] for each in got)
    assert fake.seen == []


def test_a_body_without_a_length_is_counted_as_it_comes_and_who_leaves_in_the_middle_takes_no_place() -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with FakeProvider() as fake, Gate(fake.spec, bounds=Bounds(body=2000)) as gate:
        with socket.create_connection(("127.0.0.1", gate.port), timeout=5) as line:
            line.sendall(head + b"3e8\r\n" + b" " * 1000 + b"\r\n")
            line.sendall(b"3e9\r\n" + b" " * 1001 + b"\r\n")
            answer = line.recv(65536)
        with socket.create_connection(("127.0.0.1", gate.port), timeout=5) as line:
            line.sendall(head + b"3e8\r\n")  # and away
        assert gate.say("messages").status == 200
        assert until(lambda: gate.app.active == 0)
    assert answer.startswith(b"HTTP/1.1 413") and b"at most 2000 bytes" in answer
    assert len(fake.seen) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("came", ["", "{"])
def test_a_body_that_does_not_go_on_is_refused_and_takes_no_place(wire: str, came: str) -> None:
    with FakeProvider() as fake, Gate(fake.spec, bounds=Bounds(pause=0.05)) as gate:
        with socket.create_connection(("127.0.0.1", gate.port), timeout=5) as line:
            line.sendall(f"POST {PATHS[wire]} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{came}".encode())
            answer = line.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408") and b"nothing of the request came for 0.05 s" in answer
        assert until(lambda: gate.app.active == 0)


ENDLESS: dict[str, Callable[[int], bytes]] = {
    "a header": lambda n: b"x: " * (n == 0) + b"a" * 50_000,
    "headers": lambda n: b"x-%d: " % n + b"a" * 50_000 + b"\r\n",
    "an address": lambda n: b"a" * 50_000,
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("before", [0, 1])
def test_a_head_without_an_end_is_refused(name: str, before: int) -> None:
    whole = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with FakeProvider() as fake, Gate(fake.spec, guard=Guard(key=Secret("ours"))) as gate:
        with socket.create_connection(("127.0.0.1", gate.port), timeout=5) as line:
            for _ in range(before):
                line.sendall(whole)
                assert b"200 OK" in line.recv(65536)
            line.sendall(b"GET /" if name == "an address" else b"GET /health HTTP/1.1\r\nhost: localhost\r\n")
            sent, answer = 0, b""
            with suppress(OSError):
                while sent < 1000:
                    line.sendall(ENDLESS[name](sent))
                    sent += 1
            with suppress(OSError):
                answer = line.recv(65536)
        assert sent < 400  # buffers of the sockets on the way, and little more
        assert not answer or answer.startswith(b"HTTP/1.1 400")  # a reset takes with it what nobody has read yet
        assert gate.ask("/health").status == 200


@pytest.mark.parametrize(
    "came", [b"", b"GET / HTTP/1.1\r\nhost: lo", b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET"]
)
def test_a_head_that_does_not_go_on_is_let_go(came: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "SECONDS", 0.05)
    answer = b""
    with (
        FakeProvider() as fake,
        Gate(fake.spec) as gate,
        socket.create_connection(("127.0.0.1", gate.port), timeout=5) as line,
    ):
        line.sendall(came)
        while part := line.recv(65536):
            answer += part
    assert (b"200 OK" in answer) == (came.endswith(b"GET"))


def test_signs_of_life() -> None:
    with FakeProvider() as fake, Gate(fake.spec) as gate:
        assert [gate.ask("/", method=method).status for method in ("GET", "HEAD")] == [200, 200]
        assert gate.ask("/health").json == {"status": "ok"}


@pytest.mark.parametrize("wire", WIRES)
def test_bytes_pass_where_nothing_must_change(wire: str) -> None:
    odd: dict[str, Any] = {"unheard_of": {"b": 1, "a": [1.0, 2]}}
    headers = {**VERSION, "anthropic-beta": "x-1", "authorization": "Bearer mine", "cookie": "c=1"}
    with FakeProvider(wire, script=["hello"]) as fake, Gate(fake.spec) as gate:
        direct = gate.ask(PATHS[wire], body_of(wire, model="asked", stream=True, **odd), headers)
    (seen,) = fake.seen
    assert seen.body == {**body_of(wire, model="fake", stream=True), **odd}
    assert direct.status == 200
    assert ("authorization" in seen.headers, "cookie" in seen.headers) == (False, False)
    assert (seen.headers["anthropic-beta"], seen.headers["anthropic-version"]) == ("x-1", "2023-06-01")


@pytest.mark.parametrize("backend", WIRES)
def test_a_client_of_text_completions_asks_any_model(backend: str) -> None:
    body = {"model": "m", "prompt": "Say this"}
    with FakeProvider(backend, script=["Said ☔."]) as fake, Gate(fake.spec) as gate:
        whole = gate.ask("/v1/completions", body)
        stream = events(gate.ask("/v1/completions", {**body, "stream": True}).body)
        wrong = gate.ask("/v1/completions", {"model": "m", "messages": []})
    assert (whole.json["object"], whole.json["choices"][0]["text"]) == ("text_completion", "Said ☔.")
    assert "".join(choice["text"] for event in stream for choice in event["choices"]) == "Said ☔."
    assert (wrong.status, "message" in wrong.json["error"]) == (400, True)
    assert len(fake.seen) == 2


class Telling:
    """A model in this process, and what of a question it cannot make use of."""

    notes = (
        Note(path=("tools", 0), action="dropped", reason="no tools here"),
        Note(path=("user",), action="dropped", reason="of no use here", loss=False),
    )

    def __init__(self) -> None:
        self.events = iter(explode(Reply(message=assistant("hi"), stop=Stop(reason="end"))))

    def stream(self, _: Request) -> Telling:
        return Telling()

    def __next__(self) -> Any:
        return next(self.events)

    def __iter__(self) -> Self:
        return self


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
def test_what_a_model_in_this_process_could_not_use_is_told_as_of_any_other(wire: str, stream: bool) -> None:
    with Gate(Telling()) as gate:
        got = gate.say(wire, stream=stream)
    assert (got.status, got.headers.get("dragoman-lost")) == (200, "tools[0] dropped")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("prompt", ["one", ["one", "two"]])
def test_so_is_what_it_could_not_use_of_a_text_completion(prompt: Any, stream: bool) -> None:
    with Gate(Telling()) as gate:
        got = gate.ask("/v1/completions", {"model": "m", "prompt": prompt, "stream": stream})
    assert (got.status, got.headers.get("dragoman-lost")) == (200, "tools[0] dropped")


@pytest.mark.parametrize(
    "key", ["a\r\nx-evil: 1\r\n\r\n", "\0", "\x7f", "\t", "\x85", "\u2028", "名字", "\udc00", "n" * 70_000]
)
def test_a_key_that_no_header_can_hold_is_told_as_far_as_one_can(key: str) -> None:
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        got = gate.ask(PATHS["chat"], {**body_of("chat"), key: 1})
    assert got.status in (200, 400)  # half a character is no JSON
    if got.status == 200:
        assert got.headers["dragoman-lost"].startswith("?" if key[0] not in "an" else key[0])
        assert {*got.headers} <= {"content-type", "content-length", "dragoman-lost", "date"}


HALF = "half a surrogate pair, \\ud83d, is no character: send both halves of it, or U+FFFD"
TURN = '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"ok \\ud83d\\ude00"},%s]}'
UNREADABLE: dict[str, tuple[str, str]] = {
    "half a character": (TURN % r'{"role":"user","content":"a \ud83d b"}', f"messages[1].content: {HALF}"),
    "the other half": (TURN % r'{"role":"user","content":["\ude00"]}', "messages[1].content[0]: half a surrogate"),
    "half in a key": (TURN % r'{"\ud83d":1}', "messages[1]: a key holds half a surrogate pair"),
    "no number": (TURN % '{"role":"user","n":NaN}', "NaN is no JSON number"),
    "no end": (TURN[:40], "the JSON ends too early"),
    "nothing": (" ", "the body is empty"),
}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/api/chat"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_body_that_is_no_json_is_told_what_is_wrong_and_where(name: str, path: str) -> None:
    body, said = UNREADABLE[name]
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        got = gate.ask(path, body.encode())
    error = got.json["error"]
    assert (got.status, fake.seen) == (400, [])
    assert (error if isinstance(error, str) else error["message"]).startswith(said)


def test_nor_is_a_prompt_changed_without_a_word() -> None:
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        half, huge = (
            gate.ask("/api/generate", b'{"model":"m",%s}' % said) for said in (b'"prompt":"\\ud83d"', b'"x":1e999')
        )
    assert (half.status, half.json, huge.status, fake.seen) == (400, {"error": f"prompt: {HALF}"}, 400, [])
    assert "1e999 is beyond a double" in huge.json["error"]


def raw(gate: Gate, target: str, head: str) -> int:
    """The status of a request whose head is written by hand."""
    body = json.dumps(body_of("messages")).encode()
    with socket.create_connection(("127.0.0.1", gate.port), timeout=30) as line:
        told = f"POST {target} HTTP/1.1\r\n{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        line.sendall(told.encode() + body)
        with line.makefile("rb") as answer:
            return int(answer.read().split()[1])


def test_what_a_header_says_in_several_lines_is_one_list_and_no_second_line_lets_anybody_in() -> None:
    twice = "anthropic-beta: one\r\nAnthropic-Beta: two, three\r\n"
    key = "x-api-key: ours\r\n"
    with FakeProvider("messages") as fake, Gate(fake.spec, guard=Guard(key=Secret("ours"))) as gate:
        let_in = raw(gate, "/v1/messages", f"host: localhost\r\n{key}{twice}")
        hosts = raw(gate, "/v1/messages", f"host: evil.example\r\nhost: localhost\r\n{key}")
        keys = raw(gate, "/v1/messages", f"host: localhost\r\nx-api-key: no\r\n{key}")
        (seen,) = fake.seen
    assert (let_in, hosts, keys) == (200, 403, 401)
    assert seen.headers["anthropic-beta"] == "one, two, three"


@pytest.mark.parametrize(
    "path", ["/v1/messages/", "//v1/messages", "/v1/models/", "/health/", "/v1/messages/../models"]
)
@pytest.mark.parametrize("origins", [frozenset[str](), frozenset({"https://a.page"})])
def test_nobody_is_sent_elsewhere(path: str, origins: frozenset[str]) -> None:
    with FakeProvider() as fake, Gate(fake.spec, guard=Guard(hosts=None, origins=origins)) as gate:
        got = gate.ask(path, body_of("messages"), headers={"host": "evil.example"})
    assert (got.status in (404, 405), got.headers.get("location")) == (True, None)
    assert (b"nothing answers POST" in got.body, fake.seen) == (True, [])


def test_a_key_in_the_address_goes_no_further() -> None:
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        for query in ("?api_key=theirs", "?beta=true&key=theirs", "?access_token=theirs&beta=true", "?beta=true", ""):
            assert gate.ask(f"/v1/messages{query}", body_of("messages")).status == 200
        assert [seen.path.partition("?")[2] for seen in fake.seen] == ["", *["beta=true"] * 3, ""]
