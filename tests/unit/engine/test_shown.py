"""Guards issue 5 of 5, point 7, and the pair of template and parser: what a template writes, its format reads again."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman.cli.show import command
from dragoman.engine.capable import capabilities
from dragoman.engine.parsers import picked
from dragoman.engine.shown import Shown, Spoken, shown
from dragoman.engine.speaker import Speaker
from dragoman.types import Reasoning, Request, Text, Tool, ToolCall, ToolResult
from dragoman.types.message import assistant, system, tool, user
from unit.engine.templates import FOLDER, NAMES, template

NOW = datetime(2026, 1, 2)
TEXT = 'I look at "both" <b>cities</b> & {more}:'
WEATHER = Tool(
    name="get_weather",
    description="城市",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "deep": {"type": "object"}},
    },
)
FIRST = {"city": '西安 "</tool_call>"', "days": 2, "deep": {"a": [1, None, "x"]}}
SECOND = {"city": "北京\n  two lines", "days": -3, "deep": {}}


def conversation(*said: Any) -> Request:
    calls = [block for block in said if isinstance(block, ToolCall)]
    results = [ToolResult(call_id=call.id, content=(Text(text="6"),)) for call in calls]
    messages = (system("S"), user("天气?"), assistant(*said), *((tool(*results),) if results else ()))
    return Request(messages=messages, tools=(WEATHER,))


def read_back(name: str, request: Request) -> list[Any]:
    known = template(name)
    (spoken,) = shown(Speaker(known, picked(known.source), "m"), request, NOW).spoken
    assert spoken.raw is not None
    return [
        (block.name, json.loads(block.arguments)) if isinstance(block, ToolCall) else block.text.strip()
        for block in spoken.blocks
        if isinstance(block, (ToolCall, Text))
    ]


# This one says its system prompt with the last user turn only, so no turn of the past stands as it was said.
TOLD_AGAIN = [name for name in NAMES if name != "mistral-nemo"]
WITH_CALLS = [name for name in TOLD_AGAIN if capabilities(template(name)).calls]
PARALLEL = [name for name in WITH_CALLS if capabilities(template(name)).parallel]


@pytest.mark.req("S1-60", "S1-62")
@pytest.mark.parametrize("name", WITH_CALLS)
def test_a_call_that_a_template_writes_is_read_by_its_format(name: str) -> None:
    assert read_back(name, conversation(ToolCall.of("abcdefgh1", "get_weather", FIRST))) == [("get_weather", FIRST)]


@pytest.mark.parametrize("name", PARALLEL)
def test_two_calls_that_a_template_writes_are_two_calls(name: str) -> None:
    both = (ToolCall.of("abcdefgh1", "get_weather", FIRST), ToolCall.of("abcdefgh2", "get_weather", SECOND))
    assert read_back(name, conversation(*both)) == [("get_weather", FIRST), ("get_weather", SECOND)]


@pytest.mark.parametrize("name", TOLD_AGAIN)
def test_an_answer_that_a_template_writes_is_read_as_that_answer(name: str) -> None:
    assert read_back(name, conversation(Text(text=TEXT))) == [TEXT]


def test_a_turn_has_its_raw_text_beside_what_is_read_in_it() -> None:
    said = (Reasoning(text="hm"), ToolCall.of("c1", "get_weather", {"city": "西安"}))
    known = template("qwen3")
    seen = shown(Speaker(known, picked(known.source), "m"), conversation(*said), NOW)
    raw = '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "西安"}}\n</tool_call><|im_end|>\n'
    (spoken,) = seen.spoken
    call = spoken.blocks[1]
    assert isinstance(call, ToolCall)
    assert spoken == Spoken(
        at=2,
        raw=raw,
        blocks=(Reasoning(text="hm"), ToolCall(id=call.id, name="get_weather", arguments='{"city": "西安"}')),
    )
    assert seen == Shown(prompt=seen.prompt, spoken=(spoken,))
    assert seen.prompt.endswith("</tool_response><|im_end|>\n<|im_start|>assistant\n")


def test_the_command_shows_prompt_raw_text_and_blocks(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "西安?"}, {"role": "assistant", "content": "Six 🙂"}],
    }
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body), "utf-8")
    asked = [str(file), "--prompt", "--template", str(FOLDER / "phi-3.5.jinja")]
    run = CliRunner().invoke(command, asked)
    assert (run.exit_code, run.output) == (
        0,
        "== the prompt\n<|user|>\n西安?<|end|>\n<|assistant|>\nSix 🙂<|end|>\n\n"
        "\n== messages[1], the model's own text, read as json\nSix 🙂<|end|>\n\n   text       'Six 🙂'\n",
    )
    as_json = json.loads(CliRunner().invoke(command, [*asked, "--json"]).output)
    assert (as_json["format"], as_json["shown"]["spoken"][0]["raw"]) == ("json", "Six 🙂<|end|>\n")
