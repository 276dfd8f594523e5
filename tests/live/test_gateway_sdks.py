"""Guards clients that nobody here wrote: the vendors' own SDKs before `dragoman serve`, on back ends of every wire: a call, its
result and the answer, whole and streamed, and the model's state over three turns of parallel calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from weakref import finalize

import anthropic
import openai
import pytest

from dragoman.catalog.target import Target
from dragoman.dialect.model import BASE, override
from dragoman.testing import FakeProvider
from dragoman.types import Content, Reasoning, Reply, Request, Stop, StreamEvent, Text, ToolCall, Usage, assistant
from dragoman.types.collect import explode
from gate import Gate

WIRES = ("chat", "messages", "responses")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALL = {"thinking": "Look it up.", "calls": [{"id": "call_a", "name": "weather", "arguments": {"city": "Zürich"}}]}
ANSWER = {"text": "In Zürich 下雨 ☔."}
SAID = "Weather?"
RESULT = "rain, 8 °C"

Turn = tuple[list[tuple[str, str, Any]], str]  # the calls with id, name and arguments; the text


class Chat:
    """A conversation through the chat SDK."""

    def __init__(self, gate: Gate, *, stream: bool) -> None:
        self.sdk = openai.OpenAI(base_url=f"{gate.url}/v1", api_key="client-key", max_retries=0)
        finalize(self, self.sdk.close)
        self.stream = stream
        self.history: list[Any] = [{"role": "user", "content": SAID}]

    def turn(self) -> Turn:
        tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
        asked: Any = {"model": "any", "messages": self.history, "tools": [tool]}
        if self.stream:
            with self.sdk.chat.completions.stream(**asked) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = self.sdk.chat.completions.create(**asked).choices[0].message
        self.history.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in self.history[-1].get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        calls: Any = message.tool_calls or []
        return [(c.id, c.function.name, json.loads(c.function.arguments)) for c in calls], message.content or ""

    def results(self, ids: list[str], text: str) -> None:
        self.history += [{"role": "tool", "tool_call_id": id, "content": text} for id in ids]


class Messages:
    """The same through the messages SDK."""

    def __init__(self, gate: Gate, *, stream: bool) -> None:
        self.sdk = anthropic.Anthropic(base_url=gate.url, api_key="client-key", max_retries=0)
        finalize(self, self.sdk.close)
        self.stream = stream
        self.history: list[Any] = [{"role": "user", "content": SAID}]

    def turn(self) -> Turn:
        tool = {"name": "weather", "input_schema": SCHEMA}
        asked: Any = {"model": "any", "max_tokens": 3000, "messages": self.history, "tools": [tool]}
        if self.stream:
            with self.sdk.messages.stream(**asked) as stream:
                message = stream.get_final_message()
        else:
            message = self.sdk.messages.create(**asked)
        self.history.append({"role": "assistant", "content": message.content})
        calls = [(b.id, b.name, b.input) for b in message.content if b.type == "tool_use"]
        return calls, "".join(b.text for b in message.content if b.type == "text")

    def results(self, ids: list[str], text: str) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id in ids]
        self.history.append({"role": "user", "content": blocks})


class Responses:
    """The same through the Responses API of its SDK."""

    def __init__(self, gate: Gate, *, stream: bool) -> None:
        self.sdk = openai.OpenAI(base_url=f"{gate.url}/v1", api_key="client-key", max_retries=0)
        finalize(self, self.sdk.close)
        self.stream = stream
        self.history: list[Any] = [{"role": "user", "content": SAID}]

    def turn(self) -> Turn:
        tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
        asked: Any = {"model": "any", "input": self.history, "tools": [tool], "store": False}
        if self.stream:
            with self.sdk.responses.stream(**asked) as stream:
                reply: Any = stream.get_final_response()
        else:
            reply = self.sdk.responses.create(**asked)
        self.history += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output]
        calls = [(i.call_id, i.name, json.loads(i.arguments)) for i in reply.output if i.type == "function_call"]
        return calls, reply.output_text

    def results(self, ids: list[str], text: str) -> None:
        self.history += [{"type": "function_call_output", "call_id": id, "output": text} for id in ids]


CLIENTS: dict[str, Callable[..., Any]] = {"chat": Chat, "messages": Messages, "responses": Responses}


@pytest.fixture(params=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param == "streamed"


@pytest.mark.parametrize("client", WIRES)
@pytest.mark.parametrize("backend", WIRES)
@pytest.mark.req("I-06", "I-13")
def test_a_call_its_result_and_the_answer(client: str, backend: str, stream: bool) -> None:
    with FakeProvider(backend, script=[CALL, ANSWER]) as fake, Gate(fake.spec) as gate:
        talk = CLIENTS[client](gate, stream=stream)
        calls, text = talk.turn()
        assert ([(name, arguments) for _, name, arguments in calls], text) == ([("weather", {"city": "Zürich"})], "")
        talk.results([calls[0][0]], RESULT)
        assert talk.turn() == ([], ANSWER["text"])
    assert [seen.status for seen in fake.seen] == [200, 200]
    second = json.dumps(fake.seen[1].body, ensure_ascii=False)
    assert (second.count("call_a"), RESULT in second, "drg1" in second) == (2, True, False)
    assert "client-key" not in repr(fake.seen)


class Here:
    """A model in this process that says what its script has, a reply a request."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.asked = list(replies), list[Request]()

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        self.asked.append(request)
        yield from explode(self.replies[len(self.asked) - 1])


@pytest.mark.parametrize("client", WIRES)
def test_a_model_in_this_process_differs_in_nothing(client: str, stream: bool) -> None:
    call = ToolCall.of("call_a", "weather", {"city": "Zürich"})
    first = Reply(message=assistant(Reasoning(text="Look it up."), call), stop=Stop(reason="tool_calls"))
    last = Reply(message=assistant(Text(text=ANSWER["text"])), stop=Stop(reason="end"))
    model = Here(first, last)
    with Gate(model) as gate:
        talk = CLIENTS[client](gate, stream=stream)
        calls, text = talk.turn()
        assert ([(name, arguments) for _, name, arguments in calls], text) == ([("weather", {"city": "Zürich"})], "")
        talk.results([calls[0][0]], RESULT)
        assert talk.turn() == ([], ANSWER["text"])
    blocks = [block for message in model.asked[1].messages for block in message.content]
    assert [type(block).__name__ for block in blocks] == ["Text", "Reasoning", "ToolCall", "ToolResult"]
    assert [block.id for block in blocks if isinstance(block, ToolCall)] == ["call_a"]
    assert [block.text for block in blocks if isinstance(block, Reasoning)] == ["Look it up."]


def thoughtful(turn: int, wire: str) -> Reply:
    """Two parallel calls, each after reasoning of its own, with the proof of it that the wire has."""
    blocks: list[Content] = []
    for at in (1, 2):
        proof: Any = {"messages": {"signature": f"sig{turn}{at}"}, "responses": {"encrypted_content": f"sig{turn}{at}"}}
        kept = {wire: proof[wire]} if wire in proof else None
        blocks.append(Reasoning(text=f"thought {turn}.{at}", opaque=kept))
        blocks.append(ToolCall.of(f"call_{turn}_{at}", "weather", {"city": f"city {turn}.{at}"}))
    return Reply(
        message=assistant(*blocks),
        stop=Stop(reason="tool_calls"),
        usage=Usage(input=9, output=9),
        id=f"r{turn}",
        model="fake",
    )


def thoughts(body: Any) -> Iterator[str]:
    """All reasoning that a request gives back, in its order, of whatever wire."""
    for item in body.get("messages", body.get("input", [])):
        if item.get("reasoning_content"):
            yield item["reasoning_content"]
        if item.get("type") == "reasoning":
            yield from (part["text"] for part in item.get("content") or item.get("summary") or ())
        if isinstance(item.get("content"), list):
            yield from (part["thinking"] for part in item["content"] if part.get("type") == "thinking")


@pytest.mark.parametrize("client", WIRES)
@pytest.mark.parametrize("backend", WIRES)
def test_two_parallel_calls_with_reasoning_in_each_over_three_turns(client: str, backend: str, stream: bool) -> None:
    script = [thoughtful(1, backend), thoughtful(2, backend), {"text": "Done."}]
    with FakeProvider(backend, script=script) as fake, Gate(target(fake)) as gate:
        talk = CLIENTS[client](gate, stream=stream)
        for turn in (1, 2):
            calls, _ = talk.turn()
            said = [(name, arguments) for _, name, arguments in calls]
            assert said == [("weather", {"city": f"city {turn}.{at}"}) for at in (1, 2)]
            talk.results([id for id, _, _ in calls], RESULT)
        assert talk.turn() == ([], "Done.")
    last = fake.seen[2].body
    text = json.dumps(last)
    assert [text.count(f'"call_{turn}_{at}"') for turn in (1, 2) for at in (1, 2)] == [2, 2, 2, 2]
    given = "\n".join(thoughts(last))
    assert [given.count(f"thought {turn}.{at}") for turn in (1, 2) for at in (1, 2)] == [1, 1, 1, 1]


def target(fake: FakeProvider) -> Target:
    """The back end; the one of the chat wire demands its reasoning back, as some vendors of reasoning models do."""
    facts = {"reasoning_out": "reasoning_content", "replay": "required"} if fake.wire.id == "chat" else {}
    return Target(
        provider="fake",
        label="Fake",
        wire=fake.wire.id,
        model="fake",
        base_url=f"{fake.url}/v1",
        dialect=override(BASE, facts) if facts else BASE,
    )


@pytest.mark.parametrize("backend", WIRES)
def test_the_tool_runner_is_made_to_send_its_history(backend: str) -> None:
    """It asks for a thread by itself; the 400 it is told apart by makes it go on without one."""

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return RESULT

    said: Any = [{"role": "user", "content": SAID}]
    with (
        FakeProvider(backend, script=[CALL, ANSWER]) as fake,
        Gate(fake.spec) as gate,
        anthropic.Anthropic(base_url=gate.url, api_key="client-key", max_retries=0) as sdk,
    ):
        runner = sdk.beta.messages.tool_runner(model="any", max_tokens=500, tools=[weather], messages=said)
        last = runner.until_done()
    assert [block.text for block in last.content if block.type == "text"] == [ANSWER["text"]]
    second = json.dumps(fake.seen[1].body, ensure_ascii=False)
    assert (len(fake.seen), SAID in second, second.count("call_a"), RESULT in second) == (2, True, 2, True)
    assert "thread" not in second
