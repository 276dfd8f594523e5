"""Guards STO-002 and the ladder: how a value is asked for, which refusal moves down a rung, what that costs and tells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from dragoman.catalog.target import Target
from dragoman.client import AsyncModel, Exchanged, Model, Structured
from dragoman.client.form import LADDER, Rung, form_of
from dragoman.client.ladder import refuses, rungs
from dragoman.dialect.model import BASE, override
from dragoman.errors import ApiError, OutputError, UsageError
from dragoman.testing.clock import FakeClock
from dragoman.testing.fake import FakeProvider
from dragoman.testing.script import Line
from dragoman.types import Finish, Output, Reply, Stop, Text, Timing, Tool, ToolCall, assistant
from dragoman.wire import find
from dragoman.wire.base import Exchange
from origin import Answer, Origin

WIRES = ("chat", "responses", "messages")


@dataclass
class City:
    """A place."""

    name: str
    people: int = 0


FOUND = City("Paris", 2_100_000)
SAID = '{"name":"Paris","people":2100000}'
CALLED: Line = {"calls": [{"name": "answer", "arguments": {"name": "Paris", "people": 2_100_000}}]}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a"],
}


def form_in(wire: str, body: dict[str, Any]) -> Any:
    places: dict[str, Callable[[], Any]] = {
        "chat": lambda: body["response_format"],
        "responses": lambda: body["text"]["format"],
        "messages": lambda: body["output_config"]["format"],
    }
    return places[wire]()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.req("I-06")
def test_the_best_way_is_the_services_own_schema(wire: str) -> None:
    with FakeProvider(wire, script=[SAID]) as fake, Model(fake.spec, env={}) as model:
        outcome = model.outcome("Where?", output=City)
    assert (outcome.value, outcome.reply.parsed, outcome.reply.text) == (FOUND, FOUND, SAID)
    form = form_in(wire, fake.seen[0].body)
    assert form["type"] == "json_schema"
    schema = form["json_schema"]["schema"] if wire == "chat" else form["schema"]
    assert (schema["type"], sorted(schema["properties"])) == ("object", ["name", "people"])
    assert "tools" not in fake.seen[0].body


@pytest.mark.case("STO-002")
@pytest.mark.parametrize("wire", WIRES)
def test_a_schema_that_is_not_to_be_strict_stays_as_it_is(wire: str) -> None:
    schema, output = deepcopy(SCHEMA), Output(kind="schema", name="x", schema=SCHEMA, strict=False)
    with FakeProvider(wire, script=['{"a": "1"}']) as fake, Model(fake.spec, env={}) as model:
        model.chat("x", output=output)
        assert model.chat("x", output=Structured(of=SCHEMA, strict=False)).parsed == {"a": "1"}
    for seen in fake.seen:
        form = form_in(wire, seen.body)
        inner = form["json_schema"] if wire == "chat" else form
        assert inner["schema"]["required"] == ["a"]
        assert not inner.get("strict")
    if wire == "responses":  # its own default is strict: it must be said
        assert fake.seen[0].body["text"]["format"]["strict"] is False
    assert schema == SCHEMA


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_what_the_strict_form_added_is_taken_away_again(wire: str) -> None:
    with FakeProvider(wire, script=['{"a": "1", "b": null}']) as fake, Model(fake.spec, env={}) as model:
        strict = model.chat("x", output=SCHEMA)
    assert SCHEMA["required"] == ["a"]
    assert (strict.parsed, len(fake.seen)) == ({"a": "1"}, 1)


REFUSALS = {
    "chat": {"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"}},
    "responses": {"error": {"message": "Unsupported parameter: text.format", "param": "text.format"}},
    "messages": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "output_config.format: Extra inputs are not permitted"},
    },
}


def refusal(wire: str, status: int = 400) -> Answer:
    body = json.dumps(REFUSALS[wire]).encode()
    return Answer(status=status, headers={"content-type": "application/json"}, body=body)


def reply(wire: str, *blocks: Any) -> Answer:
    stop = Stop(reason="tool_calls" if any(isinstance(block, ToolCall) for block in blocks) else "end")
    said = Reply(message=assistant(*blocks), stop=stop, id="r", model="m")
    body = find(wire).encode_reply(said, BASE, Exchange(model="m", seed="s", now=1)).body
    return Answer(headers={"content-type": "application/json"}, body=body)


def call(arguments: str = SAID, name: str = "answer") -> ToolCall:
    return ToolCall(id="call_1", name=name, arguments=arguments)


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_that_names_the_feature_moves_down_once_and_is_in_the_ledger(wire: str) -> None:
    seen: list[Exchanged] = []
    script = (refusal(wire), reply(wire, call()), reply(wire, call()))
    with Origin(*script) as origin:
        model = Model(f"{origin.url}/v1#{wire}:m", env={}, observers=[seen.append])
        outcome = model.outcome("Where?", output=City)
        again = model.outcome("Where?", output=City)
    assert (outcome.value, outcome.reply.text, outcome.reply.calls) == (FOUND, SAID, ())
    assert outcome.reply.stop.reason == "end"
    assert [(each.number, each.status) for each in outcome.attempts] == [(1, 400), (2, 200)]
    assert "asked again by a tool" in outcome.notes[0].reason
    assert [type(told.error) for told in seen] == [ApiError, type(None), type(None)]
    assert [told.http_body for told in seen] == [asked.body for asked in origin.seen]
    body = origin.seen[1].json
    assert len(body["tools"]) == 1
    assert body["tool_choice"] not in (None, "auto", {"type": "auto"})
    assert (again.value, len(again.attempts)) == (FOUND, 1)  # what was refused is not asked for again


def test_a_second_move_needs_leave() -> None:
    no_tools = Answer(status=400, body=b'{"error":{"message":"tools is not supported by this model"}}')
    with Origin(refusal("chat"), no_tools) as origin, pytest.raises(ApiError, match="tools is not supported"):
        Model(f"{origin.url}/v1#chat:m", env={}).chat("Where?", output=City)
    script = (refusal("chat"), no_tools, reply("chat", Text(text=f"Here: {SAID}")))
    with Origin(*script) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        outcome = model.outcome("Where?", system="Be brief.", output=Structured(of=City, moves=2))
    assert (outcome.value, len(outcome.attempts)) == (FOUND, 3)
    last = origin.seen[2].json
    assert last["response_format"] == {"type": "json_object"}
    assert "tools" not in last
    assert last["messages"][0]["content"][0] == {"type": "text", "text": "Be brief."}
    assert '"people"' in last["messages"][0]["content"][1]["text"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=400, body=b'{"error":{"message":"messages[0] is wrong"}}'),
        Answer(status=401, body=b'{"error":{"message":"response_format needs a better key"}}'),
        Answer(status=429, body=b'{"error":{"message":"too many requests with response_format"}}'),
        Answer(status=500, body=b'{"error":{"message":"response_format crashed"}}'),
    ],
)
def test_no_other_failure_moves(answer: Answer) -> None:
    with Origin(answer, reply("chat", call())) as origin, pytest.raises(ApiError):
        Model(f"{origin.url}/v1#chat:m", env={}, retry=0).chat("Where?", output=City)
    assert len(origin.seen) == 1


@pytest.mark.req("I-06")
def test_a_value_that_does_not_fit_moves_only_where_that_is_allowed() -> None:
    script = (reply("chat", Text(text='{"name": 5}')), reply("chat", call()))
    wrong = pytest.raises(OutputError, match=r"the answer does not fit City: .*`\$\.name`")
    with Origin(*script) as origin, wrong as caught:
        Model(f"{origin.url}/v1#chat:m", env={}).chat("Where?", output=City)
    assert (caught.value.reply.text, len(origin.seen)) == ('{"name": 5}', 1)
    with Origin(*script) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        outcome = model.outcome("Where?", output=Structured(of=City, invalid="move"))
    assert (outcome.value, len(outcome.attempts)) == (FOUND, 2)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("ladder", "said"), [(("native",), SAID), (("tool",), CALLED), (("prompt",), SAID)])
def test_streams_give_the_same_text_and_value_in_every_way(wire: str, ladder: tuple[Rung, ...], said: Line) -> None:
    output = Structured(of=City, ladder=ladder)

    async def awaited() -> tuple[list[str], Any]:
        async with AsyncModel(fake.spec, env={}) as model, model.stream("Where?", output=output) as stream:
            return [type(event).__name__ async for event in stream], stream.value

    with FakeProvider(wire, script=[said]) as fake, Model(fake.spec, env={}) as model:
        with model.stream("Where?", output=output) as stream:
            events = list(stream)
        assert asyncio.run(awaited()) == ([type(event).__name__ for event in events], FOUND)
        whole = model.outcome("Where?", output=output)
    last = events[-1]
    assert isinstance(last, Finish)
    assert last.reply is not None
    assert (last.reply.parsed, stream.value, json.loads(last.reply.text)) == (FOUND, FOUND, json.loads(SAID))
    assert (last.stop.reason, last.reply.stop.reason, whole.reply.stop.reason) == ("end", "end", "end")
    assert (whole.value, json.loads(whole.reply.text)) == (FOUND, json.loads(SAID))


def test_a_stream_whose_answer_does_not_fit_says_so_after_its_last_event() -> None:
    seen: list[str] = []
    with FakeProvider("chat", script=["I cannot say."]) as fake, Model(fake.spec, env={}) as model:
        with pytest.raises(OutputError, match="there is no JSON in it"), model.stream("Where?", output=City) as stream:
            seen.extend(type(event).__name__ for event in stream)
        assert (stream.reply.text, stream.value) == ("I cannot say.", None)
    assert len(fake.seen) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_the_callers_own_tools_go_before_the_value(wire: str) -> None:
    look = Tool(name="answer", parameters={"type": "object", "properties": {}})
    output = Structured(of=City, ladder=("tool",))
    own: Line = {"calls": [{"name": "answer", "arguments": {}}]}
    ours: Line = {"calls": [{"name": "answer_", "arguments": {"name": "Paris", "people": 2_100_000}}]}
    with FakeProvider(wire, script=[own, ours]) as fake, Model(fake.spec, env={}) as model:
        first = model.chat("Where?", tools=[look], output=output)
        second = model.chat("Where?", tools=[look], output=output)
    assert ([each.name for each in first.calls], first.parsed, first.stop.reason) == (["answer"], None, "tool_calls")
    assert (second.calls, second.parsed, second.stop.reason) == ((), FOUND, "end")


def test_the_plan_shows_how_a_value_would_be_asked_for() -> None:
    with Model("http://127.0.0.1:1/v1#chat:m", env={}) as model:
        assert model.plan("Where?", output=City).json["response_format"]["json_schema"]["name"] == "City"


@pytest.mark.parametrize("thinks", [{"effort": "low"}, {"budget": 2000}])
def test_a_call_is_not_forced_while_a_budget_is_thought(thinks: dict[str, Any]) -> None:
    output = Structured(of=City, ladder=("tool",))
    with Model("anthropic/claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": "sk-test-1"}) as model:
        thinking = model.plan("Where?", output=output, **thinks).json
        plain = model.plan("Where?", output=output).json
    assert thinking["thinking"]["type"] == "enabled"
    assert "tool_choice" not in thinking
    assert "by calling the tool `answer`" in json.dumps(thinking["system"])
    assert (plain["tool_choice"]["name"], "system" in plain) == ("answer", False)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_begins_anew_is_read_anew(wire: str) -> None:
    output, script = Structured(of=City, ladder=("tool",)), [CALLED]
    cut = FakeProvider(wire, script=script, quirks=["cut-in-stream:1"])
    with cut as fake, Model(fake.spec, env={}, retry="plain", clock=FakeClock(), restart_on_drop=True) as model:
        *_, last = model.stream("Where?", output=output)
    assert isinstance(last, Finish)
    assert last.reply is not None
    assert (last.reply.parsed, last.stop.reason, len(fake.seen)) == (FOUND, "end", 2)


@pytest.mark.parametrize(
    ("rung", "status", "words", "moves"),
    [
        ("native", 400, "response_format is not supported by this model", True),
        ("native", 422, "body.response_format: extra fields not permitted", True),
        ("native", 400, "This model does not support structured outputs", True),
        ("native", 400, "Invalid schema: allOf is not permitted", True),
        ("native", 400, "Invalid schema for function 'look': true is not of type 'object'", False),
        ("native", 400, "tools.0.custom.input_schema: JSON schema is invalid", False),
        ("native", 403, "response_format is not for you", False),
        ("tool", 400, "`tool_choice` is not supported", True),
        ("tool", 400, "this model does not support function calling", True),
        ("tool", 400, "response_format is not supported", False),
        ("json", 400, "response_format must be text", True),
        ("json", 400, "temperature is not supported", False),
        ("prompt", 400, "response_format is not supported", False),
    ],
)
def test_which_words_name_a_way(rung: Rung, status: int, words: str, *, moves: bool) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert refuses(find("chat").decode_error(status, {}, body, BASE), rung) is moves


def test_times_count_from_the_first_question_and_each_exchange_has_its_own() -> None:
    clock, seen = FakeClock(), list[Exchanged]()

    def tell(told: Exchanged) -> None:
        seen.append(told)
        clock.advance(5.0)

    with Origin(refusal("chat"), reply("chat", call())) as origin:
        timing = Model(f"{origin.url}/v1#chat:m", env={}, clock=clock, observers=[tell]).chat("?", output=City).timing
    assert timing == Timing(first_event=5.0, first_text=5.0, total=5.0)
    assert [told.timing for told in seen] == [Timing(total=0.0), Timing(first_event=0.0, first_text=0.0, total=0.0)]
    assert [told.started.timestamp() - seen[0].started.timestamp() for told in seen] == [0.0, 5.0]


NO_SCHEMA = override(BASE, {"json_modes": ["json"]})
NO_JSON = override(BASE, {"json_modes": []})


@pytest.mark.parametrize(
    ("wire", "dialect", "refused", "found"),
    [
        ("chat", BASE, (), LADDER),
        ("messages", BASE, (), ("native", "tool", "prompt")),
        ("chat", NO_SCHEMA, (), ("tool", "json", "prompt")),
        ("chat", NO_JSON, (), ("tool", "prompt")),
        ("chat", BASE, ("native", "tool"), ("json", "prompt")),
        ("chat", BASE, LADDER, ("prompt",)),
        (None, BASE, (), ("native", "prompt")),
    ],
)
def test_the_ladder_begins_where_the_dialect_lets_it(wire: Any, dialect: Any, refused: Any, found: Any) -> None:
    target = None
    if wire is not None:
        target = Target(provider="p", label="P", wire=wire, model="m", base_url="http://x", dialect=dialect)
    assert rungs(form_of(City), target, None, frozenset(refused)) == found


def test_what_json_cannot_hold_is_refused_before_anything_is_sent() -> None:
    with Model("http://127.0.0.1:1/v1#chat:m", env={}) as model:
        with pytest.raises(UsageError, match="no JSON Schema for"):
            model.chat("x", output=complex)
        with pytest.raises(UsageError, match="ladder is some of"):
            model.chat("x", output=Structured(of=City, ladder=("magic",)))  # type: ignore[arg-type]
