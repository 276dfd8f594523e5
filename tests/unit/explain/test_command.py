"""Guards `dragoman explain`: the cause, the place and the fix of an error body, for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import run
from dragoman.testing import FakeProvider
from dragoman.types import Request, ToolCall, assistant, user
from dragoman.types.save import Conversation, dumps
from unit.cli_run.command import dragoman


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command on an error body, and a request where there is one: exit code, stdout, stderr."""

    def tell(error: Any, *options: str, request: Any = None) -> tuple[int, str, str]:
        body = tmp_path / "error.json"
        body.write_text(error if isinstance(error, str) else json.dumps(error), encoding="utf-8")
        if request is not None:
            asked = tmp_path / "request.json"
            asked.write_bytes(request if isinstance(request, bytes) else json.dumps(request).encode())
            options = (*options, "--request", str(asked))
        code = run(["explain", str(body), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return tell


def test_people_are_told_cause_place_fix_and_what_would_be_learned(told: Any) -> None:
    error = {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model."}}
    request = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    code, out, err = told(error, request=request)
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "invalid_request: Unsupported parameter: 'max_tokens' is not supported with this model.",
        "  cause   this model or server does not take max_tokens",
        "  place   max_output",
        "  fix     leave it out, or say the dialect fact unsupported",
        '  learned max_tokens_key = "max_completion_tokens", unsupported = ["max_tokens"]',
    ]


def test_programs_get_one_object(told: Any) -> None:
    call = ToolCall(id="call_lost", name="ls", arguments="{}")
    saved = dumps(Conversation(request=Request(messages=(user("hi"), assistant(call)))))
    words = "`tool_use` ids were found without `tool_result` blocks: call_lost"
    said = {"type": "error", "error": {"message": words}}
    code, out, _ = told(said, "--wire", "messages", "--json", request=saved)
    answer = json.loads(out)
    explained = answer.pop("explanation")
    assert (code, answer) == (
        0,
        {"code": "invalid_request", "message": words, "retryable": False, "learned": {}},
    )
    assert (explained["name"], explained["path"]) == ("orphan-call", "messages[1].content[0]")


@pytest.mark.req("S0-71")
def test_a_run_that_is_refused_says_the_services_words_and_what_they_mean(tmp_path: Path) -> None:
    with FakeProvider("chat", quirks=["overflow"]) as fake:
        done = dragoman("run", "hi", "--model", fake.spec, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0].startswith(
        f"dragoman: failed: {fake.url.removeprefix('http://')} API error 400: {{"
    )
    assert "the conversation is longer than the model can read: cut or summarise it" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_words_are_exit_1_and_bad_files_exit_2(told: Any, tmp_path: Path) -> None:
    code, out, _ = told("<html>oh</html>", "--status", "502")
    assert (code, out.splitlines()[1]) == (1, "  these words are in no row of the table of causes")
    assert told({"error": "x"}, request=b"{")[0] == 2
    assert run(["explain", str(tmp_path / "none.json")]) == 2


@pytest.mark.parametrize(
    ("wire", "asked"),
    [
        ("ollama", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
        ("completions", {"model": "m", "prompt": "x"}),
    ],
)
def test_the_narrow_wires_are_explained_too(told: Any, wire: str, asked: Any) -> None:
    error = {"error": "model 'm' not found"}
    code, out, err = told(error, "--wire", wire, "--status", "404", request=asked)
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "not_found: model 'm' not found",
        "  cause   the service does not know this model",
        "  place   model",
    ]
