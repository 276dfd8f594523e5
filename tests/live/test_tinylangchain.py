"""Guards S1-31 to S1-54: a program of the textbook runs unchanged, and what its listing got wrong is right."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from dragoman import tinylangchain
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, DragomanError, UsageError
from dragoman.testing import FakeProvider
from dragoman.tinylangchain import LLM, Agent, Tool, create_agent, get_function_description, tool
from dragoman.types import Reply
from dragoman.wire import find
from dragoman.wire.base import Exchange

ROOT = Path(__file__).resolve().parents[2]
CHAT = find("chat")


class AddArgs(BaseModel):
    x: int = Field(description="加法运算的参数 x")
    y: int = Field(description="加法运算的参数 y")


class WeatherArgs(BaseModel):
    location: str
    units: Literal["celsius", "fahrenheit"]


@tool
def add(args: AddArgs) -> int:
    """加法运算 x + y"""
    return args.x + args.y


@tool
def get_weather(args: WeatherArgs) -> str:
    """获取某个城市的天气信息"""
    raise LookupError(f"no weather in {args.location}")


def call(position: int, id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"index": position, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(content: str, *calls: dict[str, Any], finish: str | None = None) -> Reply:
    """A reply in the shape of the listing's service: an empty content, and calls that count themselves."""
    message: dict[str, Any] = {
        "content": content,
        "role": "assistant",
        **({"tool_calls": list(calls)} if calls else {}),
    }
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "qwen-plus", "choices": [choice]}
    return CHAT.decode_reply(msgspec.json.encode(body), BASE, Exchange()).value


BOTH = (
    call(0, "call_1", "get_weather", '{"location": "北京", "units": "celsius"}'),
    call(1, "call_2", "get_weather", '{"location": "西安", "units": "celsius"}'),
)
SUM = call(0, "call_3", "add", '{"x": 6, "y": 5}')
SCRIPT = [said("", *BOTH), said("", SUM), said("北京和西安的气温总和为11摄氏度。")]


def env(fake: FakeProvider) -> dict[str, str]:
    return {"OPENAI_API_BASE": f"{fake.url}/v1/", "OPENAI_API_KEY": "sk-textbook"}


def agent(fake: FakeProvider, *tools: Tool, system_prompt: dict[str, Any] | None = None) -> Agent:
    return create_agent(LLM("qwen-plus", 0, env=env(fake)), tools or (add, get_weather), system_prompt)


ASKED = {"role": "user", "content": "计算一下北京和西安的气温的总和"}


@pytest.mark.req("S1-53", "S1-54", "S1-47", "S1-49")
def test_listing_7_11_runs_unchanged_and_prints_the_trace_of_7_12(shared: Path, tmp_path: Path) -> None:
    fixtures = shared / "fixtures"
    trace = [
        ast.literal_eval(line)
        for line in (fixtures / "s1-7.12-trace.txt").read_text("utf-8").splitlines()
        if line.startswith("{")
    ]
    replies = [said(turn["content"], *turn.get("tool_calls", ())) for turn in trace if turn["role"] == "assistant"]
    folder = tmp_path / "program"
    folder.mkdir()
    shutil.copy(fixtures / "s1-7.11-use.py", folder / "use.py")
    (folder / "tinylangchain.py").write_text("from dragoman.tinylangchain import *\n", encoding="utf-8")
    with FakeProvider("chat", script=replies) as fake:
        run = subprocess.run(
            [sys.executable, "use.py"],
            cwd=folder,
            env={**os.environ, **env(fake), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
    assert (run.returncode, run.stderr) == (0, "")
    assert [ast.literal_eval(line) for line in run.stdout.splitlines() if line.startswith("{")] == trace


@pytest.mark.req("S1-41", "S1-42", "S1-43", "S1-48", "S1-51", "S1-52")
def test_each_request_is_the_history_so_far_with_the_tools_and_no_legacy_words() -> None:
    with FakeProvider("chat", script=SCRIPT) as fake:
        speaker = agent(fake)
        last = [history[-1] for history in speaker.run(ASKED)]
    bodies = [json.loads(seen.body) if isinstance(seen.body, (str, bytes)) else seen.body for seen in fake.seen]
    assert [turn["role"] for turn in last] == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert last[2] == {
        "role": "tool",
        "tool_name": "get_weather",
        "content": "no weather in 北京",
        "tool_call_id": "call_1",
    }
    assert last[5] == {"role": "tool", "tool_name": "add", "content": "11", "tool_call_id": "call_3"}
    assert last[1] == {"role": "assistant", "content": "", "tool_calls": list(BOTH)}
    first: Any = bodies[0]
    assert first == {
        "model": "qwen-plus",
        "messages": [{"role": "system", "content": "You are a helpful assistant"}, ASKED],
        "temperature": 0,
        "tools": [add.description, get_weather.description],
        "tool_choice": "auto",
    }
    second: Any = bodies[1]
    assert second["messages"][2:] == [
        {"role": "assistant", "content": "", "tool_calls": list(BOTH)},
        {"role": "tool", "content": "no weather in 北京", "tool_call_id": "call_1"},
        {"role": "tool", "content": "no weather in 西安", "tool_call_id": "call_2"},
    ]
    assert [len(body["messages"]) for body in bodies] == [2, 5, 7]


@pytest.mark.req("S1-42")
def test_without_tools_none_are_sent_and_a_refusal_is_our_error() -> None:
    with FakeProvider("chat", script=["hi"], quirks=["bad-request:1"]) as fake:
        model = LLM("qwen-plus", env=env(fake))
        with pytest.raises(ApiError) as caught:
            model.chat_completion([ASKED])
        assert caught.value.status == 400
        choice = model.chat_completion([ASKED])
    assert (choice["message"]["content"], choice["finish_reason"]) == ("hi", "stop")
    last: Any = fake.seen[-1].body
    assert not {"tools", "tool_choice", "function_call"} & set(last)


@pytest.mark.req("S1-47", "S1-52", "C-23")
def test_the_history_is_one_list_that_goes_on_and_snapshots_are_copies() -> None:
    with FakeProvider("chat", script=[said("one"), said("two")]) as fake:
        speaker = agent(fake)
        first = list(speaker.run(ASKED))
        assert all(history is speaker.history for history in first)
        second = list(speaker.run({"role": "user", "content": "and now?"}, snapshots=True))
    assert [len(history) for history in second] == [4, 5]
    assert [turn["content"] for turn in speaker.history[1:]] == [ASKED["content"], "one", "and now?", "two"]


@pytest.mark.req("S1-50")
def test_a_reply_that_was_cut_and_a_loop_without_end_are_ended() -> None:
    with FakeProvider("chat", script=[said("half a", finish="length")]) as fake:
        speaker = agent(fake)
        with pytest.raises(DragomanError) as cut:
            list(speaker.run(ASKED))
    assert (cut.value.code, speaker.history[-1]["content"]) == ("incomplete", "half a")
    with FakeProvider("chat", script=[said("", SUM)]) as fake, pytest.raises(DragomanError) as endless:
        list(agent(fake).run(ASKED, max_steps=3))
    assert (endless.value.code, len(fake.seen)) == ("limit", 3)


@pytest.mark.req("S1-45")
def test_an_unknown_tool_is_told_to_the_model() -> None:
    with FakeProvider("chat", script=[said("", call(0, "c", "fly", "{}")), said("sorry")]) as fake:
        last = [history[-1] for history in agent(fake).run(ASKED)]
    assert last[2] == {
        "role": "tool",
        "tool_name": "fly",
        "content": "there is no tool 'fly'; the tools are: add, get_weather",
        "tool_call_id": "c",
    }


@pytest.mark.req("S1-32", "S1-34", "S1-35", "S1-39")
def test_a_tool_is_what_its_function_and_its_model_say() -> None:
    assert isinstance(add, Tool)
    assert (add.func_name, add.arg_type, add.func(AddArgs(x=1, y=2))) == ("add", AddArgs, 3)
    assert (
        add.description
        == get_function_description(add.func)
        == {
            "type": "function",
            "function": {
                "name": "add",
                "description": "加法运算 x + y",
                "parameters": {
                    "properties": {
                        "x": {"description": "加法运算的参数 x", "title": "X", "type": "integer"},
                        "y": {"description": "加法运算的参数 y", "title": "Y", "type": "integer"},
                    },
                    "required": ["x", "y"],
                    "title": "AddArgs",
                    "type": "object",
                },
            },
        }
    )
    assert "AddArgs" in str(add) and "加法运算" in str(add)


@pytest.mark.req("S1-36", "S1-37", "S1-38")
def test_invoking_never_raises_and_sets_no_id() -> None:
    assert add.invoke('{"x":6,"y":5}') == {"role": "tool", "tool_name": "add", "content": "11"}
    for bad in ("", "{", '{"x": "six"}', "[]", "null"):
        message = add.invoke(bad)
        assert (message["role"], message["tool_name"]) == ("tool", "add") and message["content"]
    assert get_weather.invoke('{"location": "罗马", "units": "celsius"}')["content"] == "no weather in 罗马"


@pytest.mark.req("S1-33")
def test_what_is_no_tool_is_refused_when_it_is_made() -> None:
    def silent(args: AddArgs) -> int:
        return args.x

    def two(args: AddArgs, more: int) -> int:
        """Two parameters."""
        return args.x + more

    def plain(x: int) -> int:
        """No model."""
        return x

    for function in (silent, two, plain):
        with pytest.raises(TypeError, match=function.__name__):
            tool(function)


@pytest.mark.req("S1-43", "S1-44", "S1-46")
def test_the_system_prompt_is_taken_when_it_is_one() -> None:
    own = {"role": "system", "content": "简短回答"}
    with FakeProvider("chat") as fake:
        assert agent(fake, system_prompt=own).history == [own]
        speaker = agent(fake, system_prompt={"role": "user", "content": "no"})
    assert speaker.history == [{"role": "system", "content": "You are a helpful assistant"}]
    for bad in ({"role": "system"}, {"content": "x"}, "system", None, {"role": "user", "content": "x"}):
        assert not speaker.validate_msg(bad, "system")
    assert speaker.append_msg(own) is speaker.history
    with pytest.raises(UsageError):
        next(speaker.run({"role": "assistant", "content": "x"}))


@pytest.mark.req("S1-40", "C-19")
def test_address_and_key_are_read_once_and_the_textbooks_name_wins() -> None:
    with FakeProvider("chat", script=["hi"]) as fake:
        said_env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/none", **env(fake)}
        model = LLM("qwen-plus", env=said_env)
        said_env.clear()
        assert model.chat_completion([ASKED])["message"]["content"] == "hi"
    assert fake.seen[0].path == "/v1/chat/completions"
    assert "sk-textbook" not in repr(model) + repr(vars(model))
    with pytest.raises(UsageError) as caught:
        LLM("qwen-plus", env={})
    assert caught.value.code == "missing_key" and "OPENAI_API_KEY" in str(caught.value)


@pytest.mark.req("S1-31")
def test_no_framework_and_no_sdk_is_imported() -> None:
    tree = ast.parse(Path(tinylangchain.__file__).read_text("utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} - {None}
    tops = {str(module).partition(".")[0] for module in modules}
    assert tops == {"__future__", "collections", "typing", "dragoman", "pydantic"}


def test_our_own_program_of_the_same_shape_runs(tmp_path: Path) -> None:
    program = ROOT / "examples" / "tinylangchain" / "stock.py"
    look = call(0, "c1", "stock", '{"item": "米"}')
    buy = call(0, "c2", "order", '{"item": "米", "boxes": 10}')
    with FakeProvider("chat", script=[said("", look), said("", buy), said("订了十箱米。")]) as fake:
        run = subprocess.run(
            [sys.executable, str(program)],
            cwd=tmp_path,
            env={**os.environ, **env(fake), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
    assert (run.returncode, run.stderr) == (0, "")
    turns = [ast.literal_eval(line) for line in run.stdout.splitlines()]
    assert [turn["content"] for turn in turns if turn["role"] == "tool"] == ["0", "ordered 10 x 米"]
    assert turns[-1]["content"] == "订了十箱米。"
