"""Guards a server that nobody here wrote: llama.cpp's own, asked over all three wires, as text, and behind `dragoman serve` for
clients of each wire; text, stream, call, result, schema, cuts, figures and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import llama
from dragoman import Model
from dragoman.errors import ApiError
from dragoman.types import (
    Delta,
    Output,
    Reply,
    Request,
    Sampling,
    ServerState,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)
from dragoman.types.note import Path
from gate import PATHS, Gate, body_of, events

pytestmark = [pytest.mark.skipif(llama.missing() is not None, reason=str(llama.missing())), pytest.mark.timeout(120)]
WIRES = ("chat", "messages", "responses")
QUESTION, ANSWER = "What is the capital of France?", "The capital of France is Paris."
ASKED = Request(messages=(system("x"), user(QUESTION)), max_output=20, sampling=Sampling(temperature=0))
WEATHER = Tool(
    name="get_weather",
    description="Get the weather of a city",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 12},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "unit"],
    },
)
CALLED = ToolCall.of("c1", "get_weather", {"city": "Tokyo", "unit": "celsius"})
COLOUR = {"type": "object", "properties": {"colour": {"type": "string", "maxLength": 10}}, "required": ["colour"]}
TASK = "What is the weather in Tokyo in celsius?"
BEGUN = "<tool_call>"  # the model is led into a call, else it may say anything before


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with llama.serving() as at:
        yield at


def named(url: str, wire: str) -> Model:
    """The server by its own name in the catalogue, so that what is known of it is used. It closes a connection after each
    stream without saying so: whoever asks again at once has a new one."""
    return Model(f"llama.cpp/local#{wire}", env={"LLAMA_CPP_BASE_URL": f"{url}/v1"}, retry=0)


class Answer(NamedTuple):
    reply: Reply
    pieces: list[str]
    lost: list[Path]


def ask(model: Model, **said: Any) -> Answer:
    """The answer to ASKED with something else in it."""
    fields = {name: getattr(ASKED, name) for name in ("messages", "max_output", "sampling")} | {"stream": False}
    with model, model.request_stream(Request(**(fields | said))) as stream:
        pieces = [event.text for event in stream if isinstance(event, Delta)]
        return Answer(stream.reply, pieces, [note.path for note in stream.notes if note.loss])


def words(wire: str, stream: bytes) -> str:
    """The text of a stream, by its pieces."""
    match wire:
        case "chat":
            pieces = (c["delta"].get("content") or "" for e in events(stream) for c in e.get("choices", ()))
        case "messages":
            pieces = (e["delta"].get("text", "") for e in events(stream) if e["type"] == "content_block_delta")
        case _:
            pieces = (e["delta"] for e in events(stream) if e["type"] == "response.output_text.delta")
    return "".join(pieces)


def text_of(wire: str, body: Any) -> str:
    match wire:
        case "chat":
            return body["choices"][0]["message"]["content"]
        case "messages":
            return body["content"][0]["text"]
        case _:
            return body["output"][0]["content"][0]["text"]


def figures(wire: str, body: Any) -> tuple[int, int, int]:
    """What went in, what came out, and what of the first was cached, by a client's own reckoning."""
    usage = body["usage"]
    match wire:
        case "chat":
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            return usage["prompt_tokens"], usage["completion_tokens"], cached
        case "messages":
            cached = usage["cache_read_input_tokens"]
            return usage["input_tokens"] + cached, usage["output_tokens"], cached
        case _:
            return usage["input_tokens"], usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_text_whole_and_in_pieces_with_its_figures(url: str, wire: str) -> None:
    ask(named(url, wire))
    whole, streamed = ask(named(url, wire)), ask(named(url, wire), stream=True)
    assert (whole.reply.text, streamed.reply.text, "".join(streamed.pieces)) == (ANSWER,) * 3
    assert len(streamed.pieces) > 4
    for reply in (whole.reply, streamed.reply):
        assert reply.stop.reason == "end"
        assert reply.usage is not None
        assert (reply.usage.input, reply.usage.output, reply.usage.cache_read) == (22, 8, 21)


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_goes_on(url: str, wire: str) -> None:
    talk = (system("x"), user(QUESTION), assistant("Paris."), user("And of Italy?"))
    assert "Rome" in ask(named(url, wire), messages=talk, max_output=12).reply.text
    result = tool(ToolResult(call_id="c1", content=(Text(text='{"temp": 21}'),)))
    told = (system("You help."), user(TASK), assistant(CALLED), result)
    assert "21" in ask(named(url, wire), messages=told, tools=(WEATHER,), max_output=24).reply.text


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_call(url: str, wire: str, stream: bool) -> None:
    said = (system("x"), user(TASK), assistant(BEGUN))
    choice = ToolChoice(mode="required")
    reply = ask(
        named(url, wire), messages=said, tools=(WEATHER,), tool_choice=choice, max_output=32, stream=stream
    ).reply
    call = reply.calls[0]
    assert (call.name, call.parsed(), bool(call.id)) == ("get_weather", CALLED.parsed(), True)


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_cut_is_said_to_be(url: str, wire: str) -> None:
    for stream in (False, True):
        reply = ask(named(url, wire), max_output=4, stream=stream).reply
        assert (reply.text, reply.stop.reason) == ("The capital of France", "length")
    if wire != "responses":  # which has no word for it
        assert ask(named(url, wire), stop=(" of",)).reply.text == "The capital"


@pytest.mark.parametrize("wire", WIRES)
def test_a_schema_is_kept_to_or_the_loss_is_told(url: str, wire: str) -> None:
    form = Output(kind="schema", name="colour", schema=COLOUR)
    answer = ask(named(url, wire), messages=(user("Name a colour."),), output=form, max_output=30)
    if wire == "chat":
        assert (list(json.loads(answer.reply.text)), answer.lost) == (["colour"], [])
    else:  # the server takes a form on these wires, and does not keep to it: none is sent
        assert answer.lost == [("output",)]


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_beyond_the_context_is_told_with_both_sizes(url: str, wire: str) -> None:
    with pytest.raises(ApiError) as caught:
        ask(named(url, wire), messages=(user("word " * llama.CONTEXT),))
    told = caught.value
    assert (told.code, told.status, told.retryable) == ("context_overflow", 400, False)
    assert told.detail.limit == llama.CONTEXT
    assert told.detail.tokens is not None and told.detail.tokens > llama.CONTEXT


def test_a_state_that_the_server_does_not_keep_is_left_out_and_told(url: str) -> None:
    answer = ask(named(url, "responses"), max_output=4, state=ServerState(previous_id="resp_1"))
    assert [path[0] for path in answer.lost] == ["state"]


def test_tokens_are_counted_by_the_server_where_its_wire_has_a_question_for_it(url: str) -> None:
    counts: dict[str, tuple[int, str]] = {}
    for wire in ("messages", "responses"):
        with named(url, wire) as model:
            counted = model.count([*ASKED.messages])
            counts[wire] = (counted.tokens, counted.source)
    assert counts == {"messages": (22, "service"), "responses": (22, "service")}


def test_plain_text_is_gone_on_with(url: str) -> None:
    reply = ask(named(url, "completions"), messages=(user("1, 2, 3, 4,"),), max_output=6).reply
    assert (reply.text, reply.stop) == (" 5, 6,", Stop(reason="length", raw="length"))
    assert reply.usage is not None and (reply.usage.input, reply.usage.output) == (11, 6)


def test_prompts_are_ours_and_the_text_is_theirs(url: str) -> None:
    """Template, parser and grammar here, generation there: the server's own chat end says the same, and is led to no call."""
    text = f"{url}/v1#text:local"
    reply = ask(Model(text, env={}, template=llama.TEMPLATE, retry=0)).reply
    assert (reply.text, reply.stop.reason) == (ANSWER, "end")
    assert reply.usage is not None and (reply.usage.input, reply.usage.output) == (22, 8)
    said, choice = (system("x"), user(TASK)), ToolChoice(mode="required")
    model = Model(text, env={}, template=llama.TEMPLATE, retry=0)
    (call,) = ask(model, messages=said, tools=(WEATHER,), tool_choice=choice, max_output=40, stream=True).reply.calls
    assert (call.name, call.parsed()) == ("get_weather", CALLED.parsed())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("backend", WIRES)
def test_clients_of_every_wire_are_served(url: str, wire: str, backend: str) -> None:
    least = body_of(wire, QUESTION)
    said = {"chat": "messages", "messages": "messages", "responses": "input"}[wire]
    if wire == "messages":
        asked = {**least, "system": "x", "temperature": 0}
    else:
        turn = [{"role": "user", "content": QUESTION}]
        asked = {**least, said: [{"role": "system", "content": "x"}, *turn], "temperature": 0}
    env = {"LLAMA_CPP_BASE_URL": f"{url}/v1"}
    with Gate(f"llama.cpp/local#{backend}", env=env) as gate:
        whole, again = gate.ask(PATHS[wire], asked), gate.ask(PATHS[wire], asked)
        long = gate.say(wire, "word " * llama.CONTEXT, stream=True)
    with Gate(f"llama.cpp/local#{backend}", env=env) as gate:
        streamed = gate.ask(PATHS[wire], {**asked, "stream": True})
    assert streamed.status == 200, streamed.body
    assert (whole.status, text_of(wire, whole.json), words(wire, streamed.body)) == (200, ANSWER, ANSWER)
    assert figures(wire, again.json) == (22, 8, 21)
    error = long.json["error"]
    assert (long.status, "exceeds the available context size (1024 tokens)" in error["message"]) == (400, True)
    assert wire == "messages" or error["code"] == "context_length_exceeded" or wire == backend


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("backend", WIRES)
def test_their_tools_too(url: str, wire: str, backend: str) -> None:
    question = {"role": "user", "content": TASK}
    led = {"role": "assistant", "content": BEGUN}
    schema, least = WEATHER.parameters, {"name": "get_weather", "description": "Get the weather of a city"}
    asked: dict[str, dict[str, Any]] = {
        "chat": {
            "messages": [question, led],
            "tools": [{"type": "function", "function": {**least, "parameters": schema}}],
            "tool_choice": "required",
            "max_tokens": 32,
        },
        "messages": {
            "messages": [question, led],
            "tools": [{**least, "input_schema": schema}],
            "tool_choice": {"type": "any"},
            "max_tokens": 32,
        },
        "responses": {
            "input": [question, {"type": "message", **led}],
            "tools": [{"type": "function", **least, "parameters": schema, "strict": False}],
            "tool_choice": "required",
            "max_output_tokens": 32,
        },
    }
    with Gate(f"llama.cpp/local#{backend}", env={"LLAMA_CPP_BASE_URL": f"{url}/v1"}) as gate:
        got = gate.ask(PATHS[wire], {"model": "m", "temperature": 0, **asked[wire]})
    assert got.status == 200, got.body
    match wire:
        case "chat":
            function = got.json["choices"][0]["message"]["tool_calls"][0]["function"]
            name, arguments = function["name"], json.loads(function["arguments"])
        case "messages":
            block = next(block for block in got.json["content"] if block["type"] == "tool_use")
            name, arguments = block["name"], block["input"]
        case _:
            item = next(item for item in got.json["output"] if item["type"] == "function_call")
            name, arguments = item["name"], json.loads(item["arguments"])
    assert (name, arguments) == ("get_weather", {"city": "Tokyo", "unit": "celsius"})
