"""Guards `dragoman run` from end to end: a process, a service on loopback, and what people, pipes and files get."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chat_script import DONE, SSE, chat_stream, chunk
from dragoman.tools import read_tool
from dragoman.types import Request, Stop, Text, ToolCall, ToolChoice, ToolResult, assistant, system, tool, user
from dragoman.types.save import loads
from origin import HOLD, Answer, Origin
from unit.cli_run.command import command, dragoman, environment

PROMPT = "Read 说明.md and tell me how to start this project."
FOUND = "启动命令:npm run dev"


def called(name: str, arguments: str, id: str = "t1") -> Answer:
    """A streamed reply of one call."""
    function = {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    body = [chunk({"role": "assistant", "content": None, "tool_calls": [function]}), chunk({}, "tool_calls"), DONE]
    return Answer(headers=SSE, body=body)


def counted(answer: Answer, **usage: int) -> Answer:
    """The same with usage before its end."""
    assert isinstance(answer.body, list)
    total = (
        b"data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage}).encode()
    )
    return Answer(headers=SSE, body=[*answer.body[:-1], total + b"\n\n", answer.body[-1]])


READS = called("read", '{"path":"说明.md"}')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "说明.md").write_text(f"{FOUND}\n第二行\n", encoding="utf-8")
    return folder


@pytest.fixture
def origin() -> Iterator[Origin]:
    one = counted(READS, prompt_tokens=50, completion_tokens=9)
    two = counted(chat_stream("Start it with ", "npm run dev."), prompt_tokens=70, completion_tokens=7)
    with Origin(one, two) as service:
        yield service


def model(origin: Origin) -> str:
    return f"{origin.url}/v1#chat:m"


@pytest.mark.req("S4-21")
@pytest.mark.req("S4-23")
@pytest.mark.req("S0-12")
def test_people_see_the_call_its_result_and_the_answer(project: Path, origin: Origin) -> None:
    done = dragoman("run", PROMPT, "--model", model(origin), home=project)
    assert done.stderr == "2 steps · 120 tokens in · 16 tokens out\n"
    assert done.stdout == f'→ read {{"path": "说明.md"}}\n  {FOUND} (+1 lines)\nStart it with npm run dev.\n'
    assert done.returncode == 0
    asked = [seen.json for seen in origin.seen]
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"说明.md"}'}}
    first = [{"role": "user", "content": PROMPT}]
    answered: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": f"{FOUND}\n第二行\n"},
    ]
    assert [body["messages"] for body in asked] == [first, [*first, *answered]]
    assert [(body["tool_choice"], len(body["tools"]), body["stream"]) for body in asked] == [("auto", 1, True)] * 2
    assert "启动命令".encode() in origin.seen[1].body


def test_json_is_one_object_and_nothing_else(project: Path, origin: Origin) -> None:
    done = dragoman("run", PROMPT, "--json", home=project, env={"DRAGOMAN_MODEL": model(origin)})
    assert json.loads(done.stdout) == {
        "outcome": "done",
        "text": "Start it with npm run dev.",
        "model": "m",
        "steps": 2,
        "calls": [
            {"name": "read", "arguments": {"path": "说明.md"}, "result": f"{FOUND}\n第二行\n", "is_error": False}
        ],
        "usage": {"input": 120, "output": 16},
        "notes": [],
    }
    assert done.returncode == 0


def test_save_keeps_the_whole_conversation(project: Path, origin: Origin) -> None:
    file = project / "对话.json"
    asked = ["run", PROMPT, "--system", "Be brief.", "--save", file.name, "--model", model(origin)]
    assert dragoman(*asked, home=project).returncode == 0
    saved = loads(file.read_bytes())
    result = ToolResult(call_id="t1", name="read", content=(Text(text=f"{FOUND}\n第二行\n"),))
    call = ToolCall(id="t1", name="read", arguments='{"path":"说明.md"}')
    bare = bared(saved.request)
    assert bare == Request(
        messages=(
            system("Be brief."),
            user(PROMPT),
            assistant(call),
            tool(result),
            assistant("Start it with npm run dev."),
        ),
        tools=(read_tool(project).definition,),
        tool_choice=ToolChoice(mode="auto"),
    )
    assert [(reply.stop.reason, len(reply.calls)) for reply in saved.replies] == [("tool_calls", 1), ("end", 0)]
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


def bared(request: Request) -> Request:
    """Without leftovers and origins: those are the codec's to test."""
    return msgspec.convert(_bare(msgspec.to_builtins(request)), Request)


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key not in ("opaque", "origin")}
    return [_bare(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.req("S0-71")
def test_a_service_that_refuses_is_one_line_with_its_own_words(project: Path) -> None:
    refusal = Answer(status=400, body='{"error":{"message":"no such\nmodel 模型"}}'.encode())
    with Origin(refusal) as origin:
        done = dragoman("run", "hi", "--model", model(origin), home=project)
    assert done.returncode == 1
    assert done.stdout == ""
    line, usage = done.stderr.splitlines()
    assert line.startswith("dragoman: failed: ")
    assert "API error 400" in line
    assert "模型" in line
    assert usage == "1 step"


def test_a_stream_that_breaks_keeps_what_came_and_says_so(project: Path) -> None:
    half = Answer(headers=SSE, body=[chunk({"role": "assistant", "content": "Half an ans"})], cut=True)
    with Origin(half) as origin:
        done = dragoman("run", "hi", "--model", model(origin), "--save", "s.json", home=project)
    assert (done.returncode, done.stdout) == (1, "Half an ans\n")
    assert done.stderr.startswith("dragoman: failed: ")
    saved = loads((project / "s.json").read_bytes())
    assert saved.request.messages == (user("hi"),)
    assert [(reply.text, reply.stop.reason) for reply in saved.replies] == [("Half an ans", "error")]


@pytest.mark.parametrize(
    ("answer", "arguments", "code", "said"),
    [
        (chat_stream(""), [], 1, "dragoman: empty: the model answered with nothing; ask again, or in other words"),
        (
            called("read", "{}"),
            ["--max-steps", "1"],
            4,
            "dragoman: limit: stopped after 1 steps: the step limit; --max-steps N allows more",
        ),
        (
            counted(called("read", "{}"), prompt_tokens=90, completion_tokens=10),
            ["--max-tokens", "100", "--eager"],
            4,
            "dragoman: limit: stopped after 100 tokens: the limit is 100; --max-tokens N allows more",
        ),
        (
            Answer(headers=SSE, body=[chunk({"content": "Long"}), chunk({}, "length"), DONE]),
            [],
            4,
            "dragoman: truncated: length",
        ),
        (
            Answer(headers=SSE, body=[chunk({"content": "No"}), chunk({}, "content_filter"), DONE]),
            [],
            1,
            "dragoman: refused: content_filter",
        ),
    ],
)
def test_each_outcome_has_its_exit_code(
    project: Path, answer: Answer, arguments: list[str], code: int, said: str
) -> None:
    with Origin(answer) as origin:
        done = dragoman("run", "hi", "--model", model(origin), *arguments, home=project)
    assert (done.returncode, done.stderr.splitlines()[0]) == (code, said)


def test_failed_calls_are_shown_as_such_and_the_run_goes_on(project: Path) -> None:
    made = [called("raed", "{}"), called("read", '{"path":'), called("read", '{"path":"../x"}'), chat_stream("Sorry.")]
    with Origin(*made) as origin:
        done = dragoman("run", "hi", "--model", model(origin), home=project)
    assert done.stdout.splitlines() == [
        "→ raed {}",
        "  error: unknown tool `raed`, nothing was executed. Did you mean `read`? Available: `read`.",
        '→ read {"path":',
        "  error: invalid JSON: Input data was truncated. `read` was not executed: call it again with one JSON object "
        "as arguments.",
        '→ read {"path": "../x"}',
        "  error: not permitted, `read` was not executed: `../x` is outside the working folder, which no rule can open.",
        "Sorry.",
    ]
    assert done.returncode == 0


def test_a_prompt_is_read_as_utf_8_whatever_the_locale(project: Path) -> None:
    with Origin(chat_stream("好的。")) as origin:
        locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        done = dragoman("run", "你好 🚀", "--system", "说中文", "--model", model(origin), home=project, env=locale)
    assert (done.returncode, done.stdout) == (0, "好的。\n")
    said = [{"role": "system", "content": "说中文"}, {"role": "user", "content": "你好 🚀"}]
    assert origin.seen[0].json["messages"] == said


def test_without_tools_none_are_offered(project: Path) -> None:
    with Origin(chat_stream("Hello.")) as origin:
        done = dragoman("run", "hi", "--tools", "none", "--model", model(origin), home=project)
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert set(origin.seen[0].json) & {"tools", "tool_choice"} == set()


def test_on_a_terminal_nothing_a_model_says_can_steer_it(project: Path) -> None:
    with Origin(chat_stream("safe\x1b]0;owned\x07 \x1b[2Jtext\u009b31m\n")) as origin:
        main, side = pty.openpty()
        arguments = command(["run", "hi", "--tools", "none", "--model", model(origin)])
        process = subprocess.Popen(
            arguments, cwd=project, env=environment(project), stdout=side, stderr=subprocess.PIPE
        )
        os.close(side)
        shown = b""
        while part := _read(main):
            shown += part
        _, errors = process.communicate(timeout=60)
        os.close(main)
    assert (process.returncode, shown, errors) == (0, b"safe]0;owned [2Jtext31m\r\n", b"1 step\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end has closed
        return b""


def test_an_interrupt_ends_with_130_and_saves_what_there_is(project: Path) -> None:
    waits = Answer(headers=SSE, body=[chunk({"role": "assistant", "content": "Thinking"}), HOLD])
    with Origin(READS, waits) as origin:
        arguments = command(["run", "hi", "--save", "s.json", "--model", model(origin)])
        process = subprocess.Popen(
            arguments, cwd=project, env=environment(project), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        while b"Thinking" not in (shown := process.stdout.read1()):
            assert shown
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert origin.left.wait(timeout=60)
    assert (process.returncode, errors.strip()) == (130, b"dragoman: interrupted\n2 steps")
    saved = loads((project / "s.json").read_bytes())
    assert [message.role for message in saved.request.messages] == ["user", "assistant", "tool"]
    stops = [Stop(reason="tool_calls", raw="tool_calls"), Stop(reason="cancelled")]
    assert [reply.stop for reply in saved.replies] == stops
    assert saved.replies[1].text == "Thinking"
