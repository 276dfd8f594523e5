"""Guards what clients get of a stream through the gateway: an end where there was one, once; every byte of a long event; signs
of life while a model thinks."""

from __future__ import annotations

import json
from threading import Event
from typing import Any

import pytest

from dragoman.gateway.serving import Bounds
from dragoman.testing import FakeProvider
from gate import PATHS, Gate, body_of, events
from hazards.cases import DONE, chat, data
from origin import HOLD, Answer, Origin

WIRES = ("chat", "messages", "responses")
SSE = {"content-type": "text/event-stream"}


def spec(origin: Origin, wire: str = "chat") -> str:
    return f"{origin.url}/v1#{wire}:m"


@pytest.mark.case("GWY-007")
@pytest.mark.parametrize("marker", [True, False])
def test_a_stream_without_a_finish_reason_still_closes_its_items(marker: bool) -> None:
    stream = data({"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": None}]})
    stream += DONE if marker else b""
    with Origin(Answer(200, SSE, [stream])) as origin, Gate(spec(origin)) as gate:
        said = events(gate.say("responses", stream=True).body)
    kinds = [event["type"].removeprefix("response.") for event in said]
    assert kinds[-1] in ("completed", "incomplete", "failed")
    assert (kinds[-1] == "completed") <= marker
    done = [event["item"] for event in said if event["type"] == "response.output_item.done"]
    assert [item["content"][0]["text"] for item in done] == ["hello"]
    assert [kind for kind in kinds if kind.endswith(".done")] == [
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]


@pytest.mark.case("GWY-010")
@pytest.mark.parametrize("last", ["response.completed", "response.done"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_responses_stream_ends_with_its_own_last_event_and_says_its_text_once(wire: str, last: str) -> None:
    item = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}],
    }
    usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    ended = {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}
    delta = {
        "type": "response.output_text.delta",
        "item_id": "msg_1",
        "output_index": 0,
        "content_index": 0,
        "delta": "ok",
    }
    told = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}, delta]
    told.append({"type": last, "response": ended})
    answer = Answer(200, SSE, [data(each) for each in told])
    with Origin(answer) as origin, Gate(spec(origin, "responses"), passthrough=False) as gate:
        got = gate.say(wire, stream=True)
    deltas = [
        event["choices"][0]["delta"].get("content") or ""
        if wire == "chat"
        else (event.get("delta", "") if wire == "responses" else event.get("delta", {}).get("text", ""))
        for event in events(got.body)
        if wire != "responses" or event["type"] == "response.output_text.delta"
    ]
    assert (got.status, "".join(deltas)) == (200, "ok")
    assert {"chat": b"[DONE]", "messages": b"message_stop", "responses": b"response.completed"}[wire] in got.body


@pytest.mark.case("GWY-033")
@pytest.mark.parametrize("wire", WIRES)
def test_an_event_of_three_million_letters_comes_through(wire: str) -> None:
    long = chat({"content": "a" * 3_000_000})
    pieces = [long[at : at + 65536] for at in range(0, len(long), 65536)]
    with Origin(Answer(200, SSE, pieces)) as origin, Gate(spec(origin)) as gate:
        got = gate.say(wire, stream=True)
    assert got.status == 200
    assert got.body.count(b"a" * 3_000_000) >= 1


@pytest.mark.case("GWY-034")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("passthrough", [True, False])
def test_a_client_hears_signs_of_life_before_and_between(wire: str, passthrough: bool) -> None:
    bounds = Bounds(patience=0.02, alive=0.02)
    begun = chat({"content": "so"}).partition(b"\n\n")[0] + b"\n\n"
    for parts in ([HOLD], [begun, HOLD]):
        with (
            Origin(Answer(200, SSE, parts)) as origin,
            Gate(spec(origin), bounds=bounds, passthrough=passthrough) as gate,
            gate.knock(PATHS[wire], body_of(wire, stream=True)) as line,
        ):
            heard = b""
            while heard.count(b": keep-alive\n\n") + heard.count(b"event: ping\n") < 2:
                piece = line.recv(65536)
                assert piece
                heard += piece
    assert heard.startswith(b"HTTP/1.1 200")
    assert all(json.dumps(event) for event in events(b"\n".join(heard.split(b"\r\n"))))


@pytest.mark.case("GWY-034")
@pytest.mark.parametrize("wire", WIRES)
def test_what_fails_after_a_sign_of_life_is_told_in_the_stream(wire: str) -> None:
    heard_of = Event()
    late = FakeProvider("chat", quirks=["rate-limit-seconds"])
    plan = late.plan

    def held(http: Any) -> Any:
        assert heard_of.wait(5)
        return plan(http)

    late.plan = held  # type: ignore[method-assign]
    with (
        late as fake,
        Gate(fake.spec, bounds=Bounds(patience=0.01, alive=0.02)) as gate,
        gate.knock(PATHS[wire], body_of(wire, stream=True)) as line,
    ):
        heard = b""
        while b"keep-alive" not in heard:
            heard += line.recv(65536)
        heard_of.set()
        heard += b"".join(iter(lambda: line.recv(65536), b""))
    assert heard.startswith(b"HTTP/1.1 200")
    assert b"rate_limit" in heard.partition(b"keep-alive")[2]
