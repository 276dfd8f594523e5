"""Guards the local model itself, where it is installed: valid calls, answers from results, and silence beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from dragoman import Model
from dragoman.engine.model import LocalModel
from dragoman.engine.runtime import Room
from dragoman.engine.store import DEFAULT, find_installed
from dragoman.errors import ApiError
from dragoman.testing import FakeProvider
from dragoman.tools.check import faults
from dragoman.transport.cancel import CancelToken
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    KeepAlive,
    Media,
    Origin,
    Output,
    Request,
    Sampling,
    Start,
    Stop,
    StreamEvent,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Valid,
    assistant,
    tool,
    user,
)
from unit.cli_run.command import dragoman

FOUND = find_installed(DEFAULT, os.environ)
pytestmark = [
    pytest.mark.skipif(FOUND is None, reason="the local model is not installed: dragoman local install"),
    pytest.mark.timeout(120),
]

TASK = "Read README.md and tell me how to start this project."
READ = Tool(
    name="read",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
WEATHER = Tool(
    name="get_weather",
    description="Get the weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
MUST = ToolChoice(mode="required")
START = Start(model="smollm2-135m", origin=Origin(wire="text", provider="local", model="smollm2-135m"))


@pytest.fixture(scope="module")
def model() -> LocalModel:
    pytest.importorskip("xllamacpp")
    assert FOUND is not None
    return LocalModel(FOUND.path, name=FOUND.name, room=Room(FOUND.context))


@pytest.fixture(scope="module")
def installed() -> str:
    """The folder in which the model is found."""
    pytest.importorskip("xllamacpp")
    assert FOUND is not None
    return str(Path(FOUND.path).parent.parent)


def test_a_call_that_must_be_is_one_valid_call(model: LocalModel) -> None:
    events = list(model.stream(Request(messages=(user(TASK),), tools=(READ, WEATHER), tool_choice=MUST)))
    start, opened, delta, closed, finish = (event for event in events if not isinstance(event, KeepAlive))
    assert start == START
    assert isinstance(closed, BlockEnd) and isinstance(closed.block, ToolCall)
    call = closed.block
    assert call == ToolCall.of(call.id, "read", {"path": "README.md"})
    assert opened == BlockStart(index=0, block=ToolCall(id=call.id, name="read", arguments=""))
    assert delta == Delta(index=0, field="arguments", text=call.arguments)
    assert isinstance(finish, Finish) and finish.stop == Stop(reason="tool_calls", raw="stop")
    assert finish.usage is not None and finish.usage.input and finish.usage.output


@pytest.mark.parametrize("task", ["Is it raining in Berlin?", "说说 说明.md 🙂", "x", "", 'Do {} and "quote" it\n\n'])
def test_whatever_is_asked_the_call_is_valid_and_of_the_tools_offered(model: LocalModel, task: str) -> None:
    (call,) = model.complete(Request(messages=(user(task),), tools=(READ, WEATHER), tool_choice=MUST)).calls
    (name,) = {"read": ["path"], "get_weather": ["city"]}[call.name]
    found = call.parsed()
    assert isinstance(found, Valid) and list(found.arguments) == [name]
    named = ToolChoice(mode="required", names=("get_weather",))
    (call,) = model.complete(Request(messages=(user(task),), tools=(READ, WEATHER), tool_choice=named)).calls
    assert call.name == "get_weather"


def test_the_ids_of_calls_differ_by_turn_and_are_the_same_again(model: LocalModel) -> None:
    one = Request(messages=(user(TASK),), tools=(READ,), tool_choice=MUST)
    (call,) = model.complete(one).calls
    assert model.complete(one).calls[0].id == call.id
    result = ToolResult(call_id=call.id, content=(Text(text="run: npm run dev"),))
    two = Request(messages=(user(TASK), assistant(call), tool(result)), tools=(READ,), tool_choice=MUST)
    assert model.complete(two).calls[0].id != call.id


def test_it_answers_from_the_result_and_streams_it(model: LocalModel) -> None:
    result = ToolResult(call_id="c1", content=(Text(text="Start the project with npm run dev."),))
    asked = (user(TASK), assistant(ToolCall.of("c1", "read", {"path": "README.md"})), tool(result))
    events: list[StreamEvent] = list(model.stream(Request(messages=asked, tools=(READ,))))
    pieces = [event.text for event in events if isinstance(event, Delta)]
    assert "npm run dev" in "".join(pieces)
    assert len(pieces) > 5
    assert events[0] == START
    assert isinstance(events[-1], Finish) and events[-1].stop.reason == "end" and events[-1].usage is not None


def test_without_a_system_prompt_it_knows_what_it_knows(model: LocalModel) -> None:
    reply = model.complete(Request(messages=(user("What is the capital of France?"),)))
    assert reply.text == "The capital of France is Paris."
    assert (reply.stop.reason, reply.model) == ("end", "smollm2-135m")


def test_limits_stops_and_forms_are_kept(model: LocalModel) -> None:
    count = (user("Count from 1 to 20."),)
    assert model.complete(Request(messages=count, max_output=5)).stop.reason == "length"
    assert "5" not in model.complete(Request(messages=count, stop=("5",), max_output=60)).text
    form = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    colour = Request(messages=(user("Name a colour."),), output=Output(kind="schema", schema=form))
    assert json.loads(model.complete(colour).text).keys() == {"colour"}


def test_a_call_that_is_cut_off_is_no_call(model: LocalModel) -> None:
    reply = model.complete(Request(messages=(user(TASK),), tools=(READ,), tool_choice=MUST, max_output=3))
    assert (reply.message.content, reply.stop.reason) == ((), "length")


def test_a_prompt_beyond_the_context_is_refused_with_its_size(model: LocalModel) -> None:
    with pytest.raises(ApiError, match=r"exceeds the available context size \(8192 tokens\)") as caught:
        next(iter(model.stream(Request(messages=(user("word " * 9000),)))))
    assert caught.value.code == "context_overflow"


def test_a_call_of_nothing_is_refused(model: LocalModel) -> None:
    with pytest.raises(ApiError, match="offers no such tool") as caught:
        model.complete(Request(messages=(user(TASK),), tool_choice=MUST))
    assert (caught.value.code, caught.value.status) == ("invalid_request", 400)


def test_leaving_a_stream_stops_the_model(model: LocalModel) -> None:
    stream = model.stream(Request(messages=(user("Count to one hundred."),), max_output=5000))
    assert isinstance(next(stream), Start)
    stream.close()
    assert model.complete(Request(messages=(user("What is the capital of France?"),))).text.endswith("Paris.")


def test_the_second_turn_reads_only_what_is_new(model: LocalModel) -> None:
    story = "Once upon a time there was a fox who lived by the sea. " * 30
    one = model.complete(Request(messages=(user(story + "Say hi."),), max_output=8))
    two = model.complete(Request(messages=(user(story + "Say hi."), one.message, user("And again.")), max_output=8))
    assert one.usage is not None and two.usage is not None
    assert two.usage.cache_read is not None and two.usage.input is not None
    assert two.usage.cache_read >= (one.usage.input or 0) - 1
    assert two.usage.input - two.usage.cache_read < 40 < (one.usage.input or 0)


def test_several_callers_wait_their_turn_first_come_first_served(model: LocalModel) -> None:
    asked = Request(messages=(user("What is the capital of France?"),))
    begun = [model.stream(asked)]
    assert isinstance(next(begun[0]), Start)  # it has the model; the others queue behind it in this order
    done: list[int] = []
    said: dict[int, str] = {}

    def hear(place: int) -> None:
        said[place] = "".join(event.text for event in model.stream(asked) if isinstance(event, Delta))
        done.append(place)

    with ThreadPoolExecutor(3) as pool:
        for place in range(3):
            pool.submit(hear, place)
            assert not Event().wait(0.05)  # so that they ask one after another
        rest = "".join(event.text for event in begun[0] if isinstance(event, Delta))
    assert (done, {*said.values(), rest}) == ([0, 1, 2], {"The capital of France is Paris."})


@pytest.mark.req("S1-60")
def test_a_value_of_a_schema_is_valid_ten_times_of_ten(model: LocalModel) -> None:
    form = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 60}, "age": {"type": "integer", "maximum": 120}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    for who in ("Anna", "李雷", "a king", "x", '"', "Nobody at all", "42", "São", "🙂", "the one who won"):
        asked = Request(messages=(user(f"Describe {who}."),), output=Output(kind="schema", schema=form))
        said = json.loads(model.complete(asked).text)
        assert faults(said, form) == []


def test_a_choice_of_auto_lets_it_speak(model: LocalModel) -> None:
    asked = Request(
        messages=(user("What is the capital of France?"),), tools=(READ,), tool_choice=ToolChoice(mode="auto")
    )
    reply = model.complete(asked)
    assert (reply.text, reply.calls) == ("The capital of France is Paris.", ())


def test_it_is_drawn_as_it_is_told(model: LocalModel) -> None:
    def said(**drawn: Any) -> str:
        return model.complete(
            Request(messages=(user("Tell me a story."),), max_output=24, sampling=Sampling(**drawn))
        ).text

    warm = {"temperature": 1.5, "top_p": 0.95, "top_k": 200}
    assert said() == said() == said(temperature=0)
    assert said(seed=1, **warm) == said(seed=1, **warm) != said(seed=2, **warm)


def test_its_own_count_of_a_prompt_is_what_it_reads(installed: str) -> None:
    asked = (user("What is the capital of France?"), assistant("Paris."), user("说说 🙂?"))
    with Model("local", env={"DRAGOMAN_HOME": installed}) as local:
        count = local.count(asked)
        reply = local.chat(asked, max_output=2)
    assert reply.usage is not None and (count.tokens, count.source) == (reply.usage.input, "service")


def test_who_leaves_while_it_reads_is_not_waited_for(installed: str) -> None:
    """A prompt is read in parts; a sign of life comes with each, and at each it can be ended."""
    with Model("local", env={"DRAGOMAN_HOME": installed}) as local:
        token = CancelToken()
        stream = local.stream("Once upon a time there was a fox. " * 30, cancel=token)
        assert isinstance(next(stream), KeepAlive)  # it has begun to read, and has said nothing yet
        token.cancel()
        assert list(stream) == [] and stream.reply.stop.reason == "cancelled"
        assert local.chat("What is the capital of France?").text.endswith("Paris.")


def test_closing_gives_memory_threads_and_handles_back(installed: str) -> None:
    def held() -> tuple[int, int, int]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096 >> 20, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    if not Path("/proc/self/statm").exists():
        pytest.skip("counted as Linux tells it")
    path = Path(installed) / "models" / DEFAULT.file
    seen: list[tuple[int, int, int]] = []
    loaded = (0, 0, 0)
    for _ in range(3):
        with LocalModel(path, room=Room(512)) as one:
            one.complete(Request(messages=(user("hi"),), max_output=1))
            loaded = held()
        seen.append(held())
    assert loaded[1] > seen[-1][1] and loaded[2] > seen[-1][2]
    assert {handles for _, handles, _ in seen} == {seen[0][1]} and {threads for *_, threads in seen} == {seen[0][2]}
    assert seen[-1][0] - seen[0][0] < 50  # megabytes, of two more models of a hundred each


def test_the_same_model_behind_its_servers_port_is_asked_in_our_prompts(installed: str) -> None:
    """llama.cpp's own server of text: the prompt, the reading and the constraint are the same as in this process."""
    path = Path(installed) / "models" / DEFAULT.file
    with LocalModel(path, room=Room(1024)) as here:
        served: Any = here._runtime()  # pyright: ignore[reportPrivateUsage]
        at, key = served._server.listening_address, served._key
        with Model(f"{at}/v1#text:smol", env={"DRAGOMAN_API_KEY": key}, template=path) as model:
            first = model.outcome(TASK, tools=(READ, WEATHER), tool_choice="required", temperature=0)
            (call,) = first.reply.calls
            assert (call.name, call.arguments) == ("read", '{"path":"README.md"}')
            result = tool(ToolResult(call_id=call.id, content=(Text(text="Start the project with npm run dev."),)))
            with model.stream((user(TASK), first.reply.message, result), tools=(READ,), temperature=0) as stream:
                pieces = [event for event in stream if isinstance(event, Delta)]
            counted = model.chat("Count from 1 to 20.", stop="5", temperature=0, max_output=60)
            with pytest.raises(ApiError, match="exceeds the available context") as caught:
                model.chat("word " * 2000)
    assert "npm run dev" in stream.reply.text and len(pieces) > 5
    usage = stream.reply.usage
    assert usage is not None and usage.output and usage.input and (usage.cache_read or 0) > 0
    assert "4" in counted.text and "5" not in counted.text
    assert caught.value.code == "context_overflow" and "cut or summarise it" in caught.value.message


def test_a_conversation_of_other_vendors_goes_on_here_and_back(installed: str) -> None:
    """What a vendor thought, called and saw is told in words; what this model says goes on to the next vendor."""
    image = Media(kind="image", media_type="image/png", data="AAAA")
    call: dict[str, Any] = {"id": "functions.read:0", "name": "read", "arguments": {"path": "README.md"}}
    script = [{"thinking": "Hm.", "text": "I look.", "calls": [call]}]
    asked = user(TASK, image)
    with FakeProvider("messages", script=script) as fake, Model(fake.spec, env={}, vision=True) as other:
        turn = other.chat((asked,), tools=(READ,)).message
    result = tool(ToolResult(call_id=call["id"], content=(Text(text="Start the project with npm run dev."),)))
    with Model("local", env={"DRAGOMAN_HOME": installed}) as local:
        outcome = local.outcome((asked, turn, result), tools=(READ,))
    assert "npm run dev" in outcome.reply.text
    lost = {note.path: note.action for note in outcome.notes if note.loss}
    assert lost[("messages", 0, "content", 1)] == "substituted"  # the image
    assert lost[("messages", 1, "content", 0)] == "dropped"  # the thought
    with FakeProvider("responses", script=["Done."]) as fake, Model(fake.spec, env={}) as other:
        answer = other.chat((asked, turn, result, outcome.reply.message, user("Thanks.")), tools=(READ,))
    assert answer.text == "Done." and outcome.reply.text in json.dumps(fake.seen[0].body)


SPEAK = """
import sys
from dragoman.engine.model import LocalModel
from dragoman.types import Request, user
print(LocalModel(sys.argv[1]).complete(Request(messages=(user("What is the capital of France?"),))).text)
"""


def test_its_logs_are_seen_by_nobody() -> None:
    assert FOUND is not None
    run = subprocess.run([sys.executable, "-c", SPEAK, FOUND.path], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "The capital of France is Paris.\n", "")


def test_a_task_with_a_tool_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Start the project with npm run dev.\n", encoding="utf-8")
    assert FOUND is not None
    env = {"DRAGOMAN_HOME": str(Path(FOUND.path).parent.parent)}
    run = dragoman("run", "--model", "local", "--json", TASK, home=tmp_path, env=env)
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["calls"] == [
        {
            "name": "read",
            "arguments": {"path": "README.md"},
            "result": "Start the project with npm run dev.\n",
            "is_error": False,
        }
    ]
    assert "npm run dev" in said["text"]
