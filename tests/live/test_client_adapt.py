"""Guards adapt-on-400 over real sockets: repaired at once, each lesson once, remembered, told; never a loss in strict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from chat_script import chunk
from dragoman.client import AsyncModel, Model, Outcome
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError
from dragoman.testing import QUIRKS, FakeClock, FakeProvider
from dragoman.types import Failure, Finish, Reply, Request, Start, Stop, Text, Tool, assistant, user
from dragoman.types.message import Message
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from origin import Answer, Origin, Seen

JSON = {"content-type": "application/json"}
SAID = Reply(message=assistant(Text(text="Hello")), stop=Stop(reason="end"), id="r1", model="m")


def refuses(*rules: tuple[str, str], wire: str = "chat") -> Callable[[Seen], Answer]:
    """A service that refuses a body that says a key, in its words, one at a time, and answers any other."""

    def answer(seen: Seen) -> Answer:
        body = seen.json
        for key, said in rules:
            if key in body or f'"{key}"' in json.dumps(body.get("messages", body.get("input"))):
                return Answer(status=400, headers=JSON, body=json.dumps({"error": {"message": said}}).encode())
        if not body.get("stream"):
            return Answer(headers=JSON, body=find(wire).encode_reply(SAID, BASE, Exchange()).body)
        encoder = find(wire).stream_encoder(BASE, Exchange(stream=True))
        events = [encoder.encode(Start(model="m")), encoder.encode(Finish(stop=Stop(reason="end"))), encoder.close()]
        return Answer(headers={"content-type": "text/event-stream"}, body=events)

    return answer


MAX_TOKENS = (
    "max_tokens",
    "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
)
NEW_KEY = ("max_completion_tokens", "Unsupported parameter: 'max_completion_tokens' is not supported with this model.")
TEMPERATURE = ("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model.")


class Told:
    """A service, a model of it that knows nothing of it, and what came."""

    def __init__(self, *rules: tuple[str, str], wire: str = "chat", **options: Any) -> None:
        self.clock = FakeClock()
        self.origin = Origin(refuses(*rules, wire=wire))
        self.wire = wire
        self.options: dict[str, Any] = {"env": {}, "clock": self.clock, **options}

    def __enter__(self) -> Told:
        self.origin.__enter__()
        self.model = Model(f"{self.origin.url}/v1#{self.wire}:m", **self.options)
        return self

    def __exit__(self, *_: object) -> None:
        self.model.close()
        self.origin.__exit__()

    @property
    def bodies(self) -> list[Any]:
        return [seen.json for seen in self.origin.seen]


@pytest.mark.req("S3-15")
@pytest.mark.parametrize("stream", [False, True])
def test_max_tokens_becomes_the_new_key_with_the_same_value(stream: bool) -> None:
    with Told(MAX_TOKENS) as told:
        if stream:
            assert isinstance([*told.model.stream("hi", max_output=500)][-1], Finish)
        else:
            assert told.model.chat("hi", max_output=500).text == "Hello"
        first, second = told.bodies
        assert (first.pop("max_tokens"), second.pop("max_completion_tokens")) == (500, 500)
        assert first == second
        assert told.clock.waits == []


@pytest.mark.req("S3-15")
def test_a_request_that_was_read_off_the_older_key_gets_the_newer_one_too() -> None:
    """A codec keeps the key that its client used; a server's refusal of that key is stronger."""
    body = json.dumps({"model": "m", "max_tokens": 7, "messages": [{"role": "user", "content": "hi"}]}).encode()
    request = find("chat").decode_request(Http(body=body), BASE, Exchange()).request
    with Told(MAX_TOKENS) as told:
        assert told.model.chat(request).text == "Hello"
        assert [body.get("max_completion_tokens") for body in told.bodies] == [None, 7]
        assert "max_tokens" not in told.bodies[1]


@pytest.mark.req("S3-16")
@pytest.mark.case("PAR-001")
@pytest.mark.parametrize("wire", WIRES)
def test_temperature_is_left_out(wire: str) -> None:
    with Told(TEMPERATURE, wire=wire) as told:
        outcome = told.model.outcome("hi", temperature=0.2)
        assert outcome.reply.text == "Hello"
        first, second = told.bodies
        assert first.pop("temperature") == 0.2
        assert first == second
        lost = [note for note in outcome.notes if note.loss and note.path == ("sampling", "temperature")]
        assert [note.action for note in lost] == ["dropped"]


@pytest.mark.req("S3-16", "S3-18")
@pytest.mark.case("PAR-001")
def test_one_thing_a_pass_and_as_many_passes_as_there_are_things() -> None:
    rules = (MAX_TOKENS, TEMPERATURE, *((key, f"Unsupported parameter: '{key}'") for key in ("top_p", "seed", "stop")))
    with Told(*rules, retry=0) as told:
        outcome = told.model.outcome("hi", max_output=5, temperature=0.2, top_p=0.5, seed=1, stop="X")
        assert told.bodies[-1] == {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "max_completion_tokens": 5,
        }
        assert [(each.status, each.code, each.waited) for each in outcome.attempts] == [
            *[(400, "invalid_request", 0.0)] * 5,
            (200, None, 0.0),
        ]
        told_of = [note.reason for note in outcome.notes if note.path[0] == "attempts"]
        assert len(told_of) == 5
        assert told_of[0].endswith("sent again at once, as this server refuses 'max_tokens'")


@pytest.mark.req("S3-15")
def test_what_was_learned_is_remembered_by_the_model() -> None:
    with Told(MAX_TOKENS, TEMPERATURE) as told:
        told.model.chat("hi", max_output=5, temperature=0.2)
        assert len(told.bodies) == 3
        told.model.chat("hi", max_output=6, temperature=0.2)
        assert len(told.bodies) == 4
        assert told.bodies[3]["max_completion_tokens"] == 6 and "temperature" not in told.bodies[3]
        assert told.model.target is not None and told.model.target.dialect.max_tokens_key == "max_completion_tokens"
        assert "temperature" not in told.model.plan("hi", temperature=0.2).json


@pytest.mark.req("S3-17")
def test_words_of_the_other_key_or_of_a_value_adapt_nothing() -> None:
    for said in ("'max_completion_tokens' too large", "max_tokens is not supported", "'max_tokens' is too large: 9"):
        with Told(("max_tokens", said)) as told, pytest.raises(ApiError, match="API error 400"):
            told.model.chat("hi", max_output=5)
        assert len(told.origin.seen) == 1


@pytest.mark.req("S3-18")
def test_an_unknown_refusal_costs_one_request() -> None:
    with Told(("messages", "no")) as told:
        with pytest.raises(ApiError) as caught:
            told.model.chat("hi", max_output=5, temperature=0.2)
        assert len(told.origin.seen) == 1
        assert caught.value.code == "invalid_request"


@pytest.mark.req("S3-18")
def test_a_server_that_refuses_both_spellings_is_believed_after_each_was_tried_once() -> None:
    with Told(MAX_TOKENS, NEW_KEY) as told:
        with pytest.raises(ApiError, match=r"\(after 3 attempts\)"):
            told.model.chat("hi", max_output=5)
        assert len(told.bodies) == 3
        assert told.model.target is not None and told.model.target.dialect.max_tokens_key == "max_tokens", "not learned"


def test_opting_out() -> None:
    with Told(MAX_TOKENS, adapt=False) as told:
        with pytest.raises(ApiError, match="this model or server does not take max_tokens"):
            told.model.chat("hi", max_output=5)
        assert len(told.origin.seen) == 1


def test_strict_takes_what_loses_nothing_and_refuses_the_rest() -> None:
    with Told(MAX_TOKENS, TEMPERATURE, strict=True) as told:
        assert told.model.chat("hi", max_output=5).text == "Hello"
        with pytest.raises(ApiError) as caught:
            told.model.chat("hi", temperature=0.2)
        assert "strict mode does not send it in another form: sampling.temperature would be dropped" in str(
            caught.value
        )
        assert "'temperature' does not support 0.2" in str(caught.value)
        assert len(told.bodies) == 3


def test_async_callers_are_helped_alike() -> None:
    async def go(url: str) -> Outcome:
        async with AsyncModel(f"{url}/v1#chat:m", env={}, clock=FakeClock()) as model:
            return await model.outcome("hi", max_output=5, temperature=0.2)

    with Origin(refuses(MAX_TOKENS, TEMPERATURE)) as origin:
        outcome = asyncio.run(go(origin.url))
    assert (outcome.requests, outcome.reply.text, len(origin.seen)) == (3, "Hello", 3)


DEVELOPER = ("developer", "Unsupported value: 'messages[0].role' does not support 'developer' with this model.")


@pytest.mark.parametrize(
    ("rule", "options", "path", "before", "after"),
    [
        (DEVELOPER, {}, ("messages", 0, "role"), "developer", "system"),
        (("reasoning_effort", "Unsupported parameter: 'reasoning_effort'"), {"effort": "low"}, ("reasoning_effort",), "low", None),
        (("stream_options", "Extra inputs are not permitted, field: 'stream_options'"), {}, ("stream_options",), {"include_usage": True}, None),
        (("parallel_tool_calls", "Unknown parameter: 'parallel_tool_calls'."), {"parallel_tools": False, "tools": [Tool(name="f")]}, ("parallel_tool_calls",), False, None),
        (("required", "tool_choice 'required' is not supported"), {"tool_choice": "required", "tools": [Tool(name="f")]}, ("tool_choice",), "required", "auto"),
    ],
)  # fmt: skip
def test_facts_that_are_learned(rule: tuple[str, str], options: Any, path: Any, before: Any, after: Any) -> None:
    key, said = rule

    def answer(seen: Seen) -> Answer:
        if f'"{key}"' in seen.body.decode():
            return Answer(status=400, headers=JSON, body=json.dumps({"error": {"message": said}}).encode())
        return refuses()(seen)

    request = Request(messages=(Message(role="developer", content=(Text(text="Be brief."),)), user("hi")))
    with Origin(answer) as origin, Model(f"{origin.url}/v1#chat:m", env={}, clock=FakeClock()) as model:
        assert isinstance([*model.stream(request, **options)][-1], Finish)
    assert [_at(seen.json, path) for seen in origin.seen] == [before, after]


def _at(body: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        body = body[step] if isinstance(step, int) else body.get(step)
    return body


def test_a_temperature_is_left_out_only_while_the_model_thinks() -> None:
    said = "`temperature` may only be set to 1 when thinking is enabled."

    def answer(seen: Seen) -> Answer:
        thinks = "thinking" in seen.json
        return refuses(*((("temperature", said),) if thinks else ()), wire="messages")(seen)

    with Origin(answer) as origin, Model(f"{origin.url}/v1#messages:m", env={}) as model:
        model.chat("hi", temperature=0.2, budget=2000, max_output=4000)
        model.chat("hi", temperature=0.2)
    assert [seen.json.get("temperature") for seen in origin.seen] == [0.2, None, 0.2]


def test_an_effort_becomes_the_nearest_that_the_message_names() -> None:
    said = "Unsupported value: 'minimal' is not supported with the 'm' model. Supported values are: 'low', 'medium', and 'high'."

    def answer(seen: Seen) -> Answer:
        return (
            refuses(("reasoning_effort", said))(seen) if seen.json["reasoning_effort"] == "minimal" else refuses()(seen)
        )

    with Origin(answer) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        assert model.chat("hi", effort="minimal").text == "Hello"
    assert [seen.json["reasoning_effort"] for seen in origin.seen] == ["minimal", "low"]


def test_a_refusal_inside_a_success_teaches_too() -> None:
    error = {"error": {"message": TEMPERATURE[1], "type": "invalid_request_error", "code": 400}}

    def answer(seen: Seen) -> Answer:
        return Answer(headers=JSON, body=json.dumps(error).encode()) if "temperature" in seen.json else refuses()(seen)

    with Origin(answer) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        assert model.chat("hi", temperature=0.2).text == "Hello"
    assert len(origin.seen) == 2


def test_a_stream_that_begins_with_a_refusal_is_begun_again() -> None:
    error = {"error": {"message": TEMPERATURE[1], "type": "invalid_request_error", "code": 400}}
    stream = {"content-type": "text/event-stream"}

    def answer(seen: Seen) -> Answer:
        if "temperature" in seen.json:
            return Answer(headers=stream, body=[b"data: " + json.dumps(error).encode() + b"\n\n"])
        return refuses()(seen)

    with Origin(answer) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        events = [*model.stream("hi", temperature=0.2)]
    assert isinstance(events[-1], Finish) and not any(isinstance(event, Failure) for event in events)
    assert sum(isinstance(event, Start) for event in events) == 1
    assert len(origin.seen) == 2


def test_a_stream_of_which_a_beginning_was_seen_is_not_begun_again() -> None:
    """Without retries nothing is held back: the Start has been seen, so there is no second one."""
    error = {"error": {"message": TEMPERATURE[1], "type": "invalid_request_error", "code": 400}}
    body = [chunk({"role": "assistant", "content": ""}), b"data: " + json.dumps(error).encode() + b"\n\n"]
    with (
        Origin(Answer(headers={"content-type": "text/event-stream"}, body=body)) as origin,
        Model(f"{origin.url}/v1#chat:m", env={}, retry=0) as model,
    ):
        events = [*model.stream("hi", temperature=0.2)]
    assert [type(event) for event in events].count(Start) == 1
    assert isinstance(events[-1], Failure) and len(origin.seen) == 1


@pytest.mark.req("S3-15", "S3-16")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_each_refusing_quirk_is_met_once(wire: str, stream: bool) -> None:
    names = ("no-max-tokens", "no-temperature", "no-developer", "no-stream-options")
    quirks = [name for name in names if wire in QUIRKS[name].wires]
    request = Request(messages=(Message(role="developer", content=(Text(text="Be brief."),)), user("hi")))
    said: Any = {"max_output": 500, "temperature": 0.2}
    with FakeProvider(wire, quirks=quirks) as fake, Model(fake.spec, env={}) as model:
        for _ in range(2):
            if stream:
                assert isinstance([*model.stream(request, **said)][-1], Finish)
            else:
                assert model.chat(request, **said).text == "hi"
        refused = [each.status for each in fake.seen].count(400)
        assert refused == len(quirks) - (not stream and wire == "chat")  # stream_options are said of streams alone
        assert len(fake.seen) == refused + 2


def test_a_repair_takes_nothing_from_the_budget_of_retries() -> None:
    busy = Answer(status=503, headers=JSON, body=b"{}")
    with Origin(refuses(TEMPERATURE), busy, busy, refuses(TEMPERATURE)) as origin:
        clock = FakeClock()
        with Model(f"{origin.url}/v1#chat:m", env={}, clock=clock, retry="plain") as model:
            outcome = model.outcome("hi", temperature=0.2)
    assert (clock.waits, [each.status for each in outcome.attempts]) == ([1.0, 2.0], [400, 503, 503, 200])
