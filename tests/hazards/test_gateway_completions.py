"""Guards text completions before models that answer in turns: several prompts and several answers to one are choices in their
order, tokens add up, and what such a model cannot do is refused by the name of its field."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.client import Exchanged
from dragoman.errors import Cancelled
from dragoman.testing import FakeProvider
from gate import Gate, Got, events
from hazards.cases import DONE, data
from hazards.test_gateway_leaves import until
from origin import Answer, Origin

PATH = "/v1/completions"
BACKENDS = ("chat", "messages", "responses")


def asked(gate: Gate, prompt: Any, **fields: Any) -> Got:
    return gate.ask(PATH, {"model": "m", "prompt": prompt, "max_tokens": 9, **fields})


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize("backend", BACKENDS)
def test_several_prompts_are_choices_in_their_order_with_all_their_tokens(backend: str) -> None:
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:  # which says back what it was told
        got = asked(gate, ["从前 one", "two", "three"]).json
        assert [seen.body.get("stream", False) for seen in fake.seen] == [False] * 3
    choices = [
        {"text": text, "index": at, "logprobs": None, "finish_reason": "stop"}
        for at, text in enumerate(("从前 one", "two", "three"))
    ]
    assert (got["object"], got["choices"]) == ("text_completion", choices)
    assert got["usage"]["prompt_tokens"] == 3 * 20


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize("backend", BACKENDS)
def test_they_are_streamed_as_choices_of_one_stream(backend: str) -> None:
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        got = asked(gate, ["one", "two"], stream=True, stream_options={"include_usage": True})
    said = events(got.body)
    texts: dict[int, str] = {}
    for choice in (choice for event in said for choice in event["choices"]):
        texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
    assert texts == {0: "one", 1: "two"}
    ends = [(c["index"], c["finish_reason"]) for e in said for c in e["choices"] if c["finish_reason"]]
    assert sorted(ends) == [(0, "stop"), (1, "stop")]
    assert (got.status, {(event["id"], event["object"]) for event in said}) == (
        200,
        {(said[0]["id"], "text_completion")},
    )
    assert (said[-1]["usage"]["prompt_tokens"], got.body.endswith(b"data: [DONE]\n\n")) == (40, True)


@pytest.mark.parametrize("stream", [True, False])
def test_several_answers_to_a_prompt_are_as_many_questions_with_seeds_of_their_own(stream: bool) -> None:
    with FakeProvider("chat", script=["a", "b", "c", "d"]) as fake, Gate(fake.spec) as gate:
        got = asked(gate, ["x", "y"], n=2, seed=7, stream=stream)
        sent = sorted(
            (seen.body["messages"][0]["content"], seen.body["seed"], seen.body.get("n")) for seen in fake.seen
        )
    assert sent == [("x", 7, None), ("x", 8, None), ("y", 7, None), ("y", 8, None)]
    found = [choice for event in (events(got.body) if stream else [got.json]) for choice in event["choices"]]
    assert {choice["index"] for choice in found} == {0, 1, 2, 3}
    assert "".join(sorted("".join(choice["text"] for choice in found))) == "abcd"


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", [1, 2, 3]),
        ("prompt", ["a", [1, 2]]),
        ("prompt", ["a"] * 129),
        ("suffix", "end"),
        ("echo", True),
        ("best_of", 3),
        ("logprobs", 0),
        ("logit_bias", {"5": 1}),
    ],
)
def test_what_a_model_of_turns_cannot_do_is_refused_by_its_field(backend: str, field: str, value: Any) -> None:
    with FakeProvider(backend) as fake, Gate(fake.spec) as gate:
        got = gate.ask(PATH, {"model": "m", "prompt": "x", field: value})
        error = got.json["error"]
        assert (got.status, error["param"], f"`{field}`" in error["message"], fake.seen) == (400, field, True, [])


def test_what_asks_for_nothing_is_refused_by_nobody() -> None:
    nothing = {"suffix": None, "echo": False, "best_of": 1, "logprobs": None, "logit_bias": {}, "n": 1}
    with FakeProvider("messages") as fake, Gate(fake.spec) as gate:
        assert asked(gate, "x", **nothing).status == 200


def test_a_text_completion_gets_all_of_it_as_it_was_said() -> None:
    body = {"model": "m", "prompt": [[1, 2], [3]], "n": 2, "echo": True, "suffix": "s", "logprobs": 2}
    with FakeProvider("completions") as fake, Gate(fake.spec) as gate:
        assert gate.ask(PATH, body).status == 200
        (seen,) = fake.seen
    assert {**seen.body, "model": "m"} == body


@pytest.mark.parametrize("passthrough", [True, False])
def test_a_text_completions_own_choices_stay_apart_in_a_stream(passthrough: bool) -> None:
    def piece(index: int, text: str, finish: str | None = None) -> bytes:
        choice = {"text": text, "index": index, "logprobs": None, "finish_reason": finish}
        return data({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]})

    said = [piece(0, "a"), piece(1, "b"), piece(1, "B", "stop"), piece(0, "A", "length"), DONE]
    answer = Answer(200, {"content-type": "text/event-stream"}, said)
    with Origin(answer) as origin, Gate(f"{origin.url}/v1#completions:m", passthrough=passthrough) as gate:
        got = events(asked(gate, ["x", "y"], stream=True).body)
        assert origin.seen[0].json["prompt"] == ["x", "y"]
    choices = [choice for event in got for choice in event["choices"]]
    texts = {at: "".join(choice["text"] for choice in choices if choice["index"] == at) for at in (0, 1)}
    ends = {choice["index"]: choice["finish_reason"] for choice in choices if choice["finish_reason"]}
    assert (texts, ends) == ({0: "aA", 1: "bB"}, {0: "length", 1: "stop"})


@pytest.mark.parametrize("stream", [True, False])
def test_one_that_fails_is_the_failure_of_all(stream: bool) -> None:
    refused = Answer(
        429, {"content-type": "application/json", "retry-after": "7"}, b'{"error":{"message":"slow down"}}'
    )
    with Origin(refused) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
        got = asked(gate, ["x", "y", "z"], stream=stream)
    assert (got.status, got.headers["retry-after"], got.json["error"]["message"]) == (429, "7", "slow down")


def test_one_that_breaks_off_in_mid_stream_is_told_and_the_rest_not_asked() -> None:
    with FakeProvider("chat", quirks=["cut-in-stream"]) as fake, Gate(fake.spec) as gate:
        got = asked(gate, ["x", "y"], stream=True)
        assert len(fake.seen) == 1
    assert ("error" in events(got.body)[-1], b"[DONE]" in got.body) == (True, False)


@pytest.mark.parametrize("stream", [True, False])
def test_who_leaves_lets_all_of_them_go(stream: bool) -> None:
    told: list[Exchanged] = []
    asked_at_once = 1 if stream else 3
    with FakeProvider("messages", quirks=["silence"]) as fake, Gate(fake.spec, observers=[told.append]) as gate:
        line = gate.knock(PATH, {"model": "m", "prompt": ["x", "y", "z"], "stream": stream})
        assert until(lambda: len(fake.seen) == asked_at_once)
        line.close()
        assert until(lambda: gate.app.active == 0 and len(told) == asked_at_once)
        assert fake.left.wait(2)
    assert [type(each.error) for each in told] == [Cancelled] * asked_at_once
    assert len(fake.seen) == asked_at_once
