"""Guards `dragoman show`: nine positions found in each wire, raw requests, usage in each vendor's words, every loss told (S3-04, S3-11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman.cli.main import group as cli
from dragoman.errors import RemoteError, UsageError
from dragoman.types import Reply, Request, Stop, Text, Tool, ToolCall, ToolResult, Usage, assistant, system, tool, user
from dragoman.types.save import Conversation, dumps
from dragoman.wire import LIBRARY, WIRES

TALK = Request(
    model="m",
    messages=(
        system("根据项目文件回答用户的问题。"),
        user("读取 README.md"),
        assistant(ToolCall.of("t1", "read", {"path": "README.md"}), ToolCall.of("t2", "read", {"path": "说明.md"})),
        tool(ToolResult(call_id="t1", content=(Text(text="npm run dev"),))),
        tool(ToolResult(call_id="t2", content=(Text(text="启动命令"),))),
        assistant("npm run dev."),
    ),
    tools=(Tool(name="read", description="Read a file.", parameters={"type": "object"}),),
)
REPLY = Reply(
    message=assistant("npm run dev."),
    stop=Stop(reason="end"),
    usage=Usage(input=929, cache_read=890, output=12),
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    file = tmp_path / "talk.json"
    file.write_bytes(dumps(Conversation(request=TALK, replies=(REPLY,))))
    return file


def show(*arguments: Any) -> str:
    result = CliRunner().invoke(cli, ["show", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.req("S3-11", "S3-04", "S3-09")
def test_a_saved_conversation_is_shown_side_by_side(saved: Path) -> None:
    text = show(saved)
    assert "9 of 9 stand elsewhere than in chat" in text
    for wire, path in (("chat", "chat/completions"), ("messages", "messages"), ("responses", "responses")):
        assert f"== {wire}: POST {path}" in text
    assert "→ read" in text
    assert "根据项目文件回答用户的问题。" in text


@pytest.mark.req("S3-31", "S3-32", "S3-33")
def test_usage_is_said_in_each_vendors_words(saved: Path) -> None:
    views = {view["wire"]: view["usage"] for view in json.loads(show(saved, "--json"))["wires"]}
    assert (views["chat"]["prompt_tokens"], views["chat"]["prompt_tokens_details"]["cached_tokens"]) == (929, 890)
    assert (views["messages"]["input_tokens"], views["messages"]["cache_read_input_tokens"]) == (39, 890)
    assert (views["responses"]["input_tokens"], views["responses"]["input_tokens_details"]["cached_tokens"]) == (
        929,
        890,
    )


def test_json_holds_the_positions_the_bodies_and_the_notes(saved: Path) -> None:
    shown = json.loads(show(saved, "--json"))
    assert [position["part"] for position in shown["positions"]] == [
        "system prompt",
        "user task",
        "tool definition",
        "call container",
        "call id",
        "tool name",
        "arguments",
        "result content",
        "result → call link",
    ]
    arguments = shown["positions"][6]["places"]
    assert {wire: place["form"] for wire, place in arguments.items()} == {
        "chat": "string",
        "messages": "object",
        "responses": "string",
    }
    assert [view["wire"] for view in shown["wires"]] == list(WIRES)


@pytest.mark.parametrize("wire", WIRES)
def test_a_raw_body_of_any_wire_is_known_for_what_it_is(saved: Path, tmp_path: Path, wire: str) -> None:
    body = next(view["body"] for view in json.loads(show(saved, "--json"))["wires"] if view["wire"] == wire)
    raw = tmp_path / "raw.json"
    raw.write_text(json.dumps(body), encoding="utf-8")
    assert json.loads(show(raw, "--json"))["kind"] == f"a request body of the {wire} wire"


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("ollama", {"model": "m", "messages": [{"role": "user", "content": "x"}], "options": {"num_ctx": 9}}),
        ("completions", {"model": "m", "prompt": "x"}),
        ("responses", {"model": "m", "prompt": {"id": "pmpt_1"}}),
    ],
)
def test_the_narrow_wires_are_known_by_keys_of_their_own_and_shown_when_asked_for(
    tmp_path: Path, wire: str, body: Any
) -> None:
    raw = tmp_path / "raw.json"
    raw.write_text(json.dumps(body), encoding="utf-8")
    for more in ((), ("--from", wire)):
        said = json.loads(show(raw, "--json", "--wires", ",".join(LIBRARY), *more))
        assert said["kind"] == f"a request body of the {wire} wire"
        assert [view["wire"] for view in said["wires"]] == list(LIBRARY)
        assert next(view["body"] for view in said["wires"] if view["wire"] == wire) == body


def test_only_the_wires_asked_for_are_shown_and_an_unknown_one_is_named(saved: Path) -> None:
    assert [view["wire"] for view in json.loads(show(saved, "--json", "--wires", "responses,chat"))["wires"]] == [
        "responses",
        "chat",
    ]
    with pytest.raises(UsageError, match="unknown wire 'gemini'"):
        show(saved, "--wires", "chat,gemini")


@pytest.mark.parametrize("text", ["", "[1]", '{"neither": "nor"}', '{"messages": 7}'])
def test_a_file_of_no_kind_we_know_is_an_error_that_says_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RemoteError):
        show(file)
