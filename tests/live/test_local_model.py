"""Guards the local model itself, where it is installed: valid calls, answers from results, and silence beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.engine.model import LocalModel
from dragoman.engine.store import DEFAULT, find_installed
from dragoman.errors import ApiError, UsageError
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    Output,
    Request,
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


@pytest.fixture(scope="module")
def model() -> LocalModel:
    pytest.importorskip("xllamacpp")
    assert FOUND is not None
    return LocalModel(FOUND.path, name=FOUND.name, context=FOUND.context)


def test_a_call_that_must_be_is_one_valid_call(model: LocalModel) -> None:
    events = list(model.stream(Request(messages=(user(TASK),), tools=(READ, WEATHER), tool_choice=MUST)))
    start, opened, delta, closed, finish = events
    assert start == Start(model="smollm2-135m")
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
    assert events[0] == Start(model="smollm2-135m")
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


def test_a_call_of_nothing_is_wrong_usage(model: LocalModel) -> None:
    with pytest.raises(UsageError, match="offers no such tool"):
        model.complete(Request(messages=(user(TASK),), tool_choice=MUST))


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


def test_several_callers_wait_their_turn_and_all_are_answered(model: LocalModel) -> None:
    asked = Request(messages=(user("What is the capital of France?"),))
    with ThreadPoolExecutor(4) as pool:
        said = [reply.text for reply in pool.map(model.complete, [asked] * 4)]
    assert said == ["The capital of France is Paris."] * 4


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
