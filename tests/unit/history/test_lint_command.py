"""Guards `dragoman lint`: one line a finding, exit codes that scripts can use, and --fix that changes no more than it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import run
from dragoman.history import unfinished
from dragoman.types import Request, assistant, user
from dragoman.types.save import Conversation, dumps, loads

Capture = pytest.CaptureFixture[str]
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
BROKEN = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "读"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": "And?"},
    ],
}
SOUND = '{"messages": [ {"role": "user", "content": "读"} ], "model": "m", "x": 1.0}'
ORPHAN = (
    "error orphan-call messages[1].tool_calls[0]: call 'c1' of `read` has no result: "
    "add one, if only to say that there was none (--fix mends it)\n"
)


def written(folder: Path, body: Any) -> str:
    path = folder / "body.json"
    path.write_bytes(
        body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    )
    return str(path)


def test_a_finding_is_one_line_and_exit_1(tmp_path: Path, capsys: Capture) -> None:
    assert run(["lint", written(tmp_path, BROKEN), "--for", "chat"]) == 1
    assert capsys.readouterr() == (ORPHAN, "")


def test_a_body_in_order_is_exit_0(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, SOUND)
    assert run(["lint", path, "--for", "chat"]) == 0
    assert capsys.readouterr() == (f"{path}: in order for chat\n", "")


def test_fix_writes_the_body_and_tells_what_it_did(tmp_path: Path, capsys: Capture) -> None:
    assert run(["lint", written(tmp_path, BROKEN), "--for", "chat", "--fix"]) == 0
    out, told = capsys.readouterr()
    answer = {"role": "tool", "tool_call_id": "c1", "content": "No result provided"}
    first, second, third = BROKEN["messages"]
    assert json.loads(out) == {"model": "m", "messages": [first, second, answer, third]}
    assert told == "dragoman: messages[1].content[0] synthesised: call 'c1' has no result: it got one that says so\n"


def test_fix_of_a_body_in_order_gives_its_bytes_back(tmp_path: Path, capsys: Capture) -> None:
    assert run(["lint", written(tmp_path, SOUND), "--for", "chat", "--fix"]) == 0
    assert capsys.readouterr() == (SOUND, "")


def test_a_body_of_another_wire_is_checked_for_where_it_goes(tmp_path: Path, capsys: Capture) -> None:
    assert run(["lint", written(tmp_path, BROKEN), "--from", "chat", "--for", "messages", "--fix", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"] == []
    assert told["fixed"]["messages"][2]["content"][0]["type"] == "tool_result"
    assert [note["path"] for note in told["notes"]] == ["messages[1].content[0]", "tool_choice", "tools", "max_output"]


def test_a_dialect_has_rules_of_its_own(tmp_path: Path, capsys: Capture) -> None:
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    path = written(tmp_path, body)
    assert run(["lint", path, "--for", "chat"]) == 0
    assert run(["lint", path, "--for", "chat/perplexity", "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out.split("\n")[1])["findings"]
    assert (finding["rule"], finding["path"]) == ("roles-alternate", "messages[1]")
    assert run(["lint", path, "--for", "chat/perplexity", "--fix"]) == 0
    assert len(json.loads(capsys.readouterr().out)["messages"]) == 1


def test_a_saved_conversation_stays_one(tmp_path: Path, capsys: Capture) -> None:
    request = Request(messages=(user("a"), unfinished(assistant("I was")), user("b")))
    path = written(tmp_path, dumps(Conversation(request=request)))
    assert run(["lint", path, "--for", "chat"]) == 1
    assert capsys.readouterr().out.startswith("error unfinished-turn messages[1]: this turn was not finished")
    assert run(["lint", path, "--for", "chat", "--fix"]) == 0
    assert loads(capsys.readouterr().out.encode()).request == Request(messages=(user("a"), user("b")))


@pytest.mark.req("S0-62")
def test_a_body_that_no_codec_reads_is_still_told_what_is_wrong(tmp_path: Path, capsys: Capture) -> None:
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "c1", "content": "b"}]}
    path = written(tmp_path, body)
    assert run(["lint", path, "--for", "messages"]) == 1
    assert capsys.readouterr().out == (
        "error foreign-role messages[1].role: role 'tool' is of the chat wire: one of system, user, assistant\n"
        "error foreign-key messages[1].tool_call_id: `tool_call_id` is of the chat wire\n"
    )
    assert run(["lint", path, "--for", "messages", "--fix"]) == 2
    out, told = capsys.readouterr()
    assert (out, told.count("\n")) == ("", 1)
    assert told.startswith("dragoman: only people can mend this: messages[1]")


@pytest.mark.parametrize(
    ("body", "target"), [('{"a":', "chat"), ("[]", "chat"), (SOUND, "telex"), (SOUND, "chat/nobody")]
)
def test_what_cannot_be_read_is_exit_2_and_one_line(body: str, target: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["lint", written(tmp_path, body), "--for", target]) == 2
    out, told = capsys.readouterr()
    assert (out, told.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("wire", "right", "wrong", "told"),
    [
        (
            "ollama",
            {"model": "m", "messages": [{"role": "user", "content": "读"}], "options": {"num_ctx": 9}},
            {"model": "m", "messages": [{"role": "user", "content": 5}]},
            "error wrong-shape messages[0].content: expected text, got a number\n",
        ),
        (
            "completions",
            {"model": "m", "prompt": ["a", "b"]},
            {"model": "m", "prompt": ["a", 5]},
            "error wrong-shape prompt[1]: expected a text or a list of token ids, got a number\n",
        ),
    ],
)
def test_the_narrow_wires_have_their_codecs_word(
    wire: str, right: Any, wrong: Any, told: str, tmp_path: Path, capsys: Capture
) -> None:
    path = written(tmp_path, right)
    assert run(["lint", path, "--for", wire]) == 0
    assert run(["lint", path, "--for", "chat", "--from", wire]) == 0
    assert run(["lint", path, "--for", wire, "--fix"]) == 0
    assert capsys.readouterr().out.endswith(json.dumps(right))
    assert run(["lint", written(tmp_path, wrong), "--for", wire]) == 1
    assert capsys.readouterr().out == told
