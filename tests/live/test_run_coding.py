"""Guards `dragoman run` with the tools that change things: a failing test is mended, and nothing runs that was not allowed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_script import chat_stream
from dragoman.cli.main import run
from live.test_run_command import called, model
from origin import Origin
from unit.cli_run.command import dragoman

BROKEN = "def double(x):\n    return x + x + 1\n"
TEST = "from number import double\n\nassert double(2) == 4, double(2)\nprint('1 passed')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "number.py").write_text(BROKEN)
    (folder / "test_number.py").write_text(TEST)
    return folder


def turns() -> list[object]:
    return [
        called("shell", '{"command":"python3 test_number.py"}', "t1"),
        called("grep", '{"pattern":"def double"}', "t2"),
        called("edit", '{"path":"number.py","old":"x + x + 1","new":"2 * x"}', "t3"),
        called("shell", '{"command":"python3 test_number.py; touch /tmp/never"}', "t4"),
        called("shell", '{"command":"python3 test_number.py"}', "t5"),
        chat_stream("Mended."),
    ]


def test_a_failing_test_is_mended_by_what_was_allowed_and_nothing_else_runs(project: Path) -> None:
    with Origin(*turns()) as origin:  # pyright: ignore
        done = dragoman(
            *("run", "Fix the failing test.", "--tools", "read,grep,edit,shell", "--json", "--trace"),
            *("--allow", "edit:*.py", "--allow", "shell:python3 test_*", "--model", model(origin)),
            home=project,
        )
    said = json.loads(done.stdout)
    first, found, edited, refused, passed = (call["result"] for call in said["calls"])
    assert "AssertionError: 5\n[exit code 1]" in first
    assert found == "number.py:1:def double(x):"
    assert edited == "edited number.py at line 2"
    assert refused.startswith(
        "not permitted, `shell` was not executed: `shell` runs programs, and this is no simple command"
    )
    assert passed == "1 passed"
    assert (project / "number.py").read_text() == "def double(x):\n    return 2 * x\n"
    assert "dragoman: not permitted, and nobody to ask: --allow shell would allow it" in done.stderr
    assert "step 6: 11 messages, tools: read, grep, edit, shell, more, choice: auto" in done.stderr
    assert "[2] tool: error t1 Traceback" in done.stderr
    assert done.returncode == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--allow", "*"], "dragoman: rule '*': name one tool"),
        (["--allow", "shell"], "dragoman: rule 'shell': there is no tool `shell`"),
        (["--tools", "sheel"], "dragoman: --tools: there is no tool 'sheel' (did you mean shell?)"),
        (["--allow", "--yes"], "dragoman: rule '--yes': there is no tool `--yes`"),
        (["--yes"], "dragoman: No such option"),
    ],
)
def test_a_rule_that_means_nothing_or_everything_is_wrong_usage(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "hi", *arguments, "--model", "http://127.0.0.1:9/v1#chat:m"]) == 2
    assert capsys.readouterr().err.startswith(told)
