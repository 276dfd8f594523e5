"""Guards the shell tool (I-07): its output has bounds, its time has an end, and nothing of it is left behind."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import pytest

from dragoman.tools import ToolOutput
from dragoman.tools.shell import HEAD, TAIL, shell_tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import Text

SOON = 30.0


def run(root: Path, command: str, token: CancelToken | None = None, **more: Any) -> ToolOutput:
    return shell_tool(root, **more.pop("made", {})).invoke({"command": command, **more}, cancel=token)


def said(output: ToolOutput) -> str:
    (block,) = output.content
    assert isinstance(block, Text)
    return block.text


@pytest.mark.req("I-07")
@pytest.mark.parametrize(
    ("command", "shown", "error"),
    [
        ("echo 你好; echo bad >&2", "你好\nbad", False),
        ("pwd | xargs basename", "project", False),
        ("true", "(no output)", False),
        ("false", "[exit code 1]", True),
        ("echo out; exit 3", "out\n[exit code 3]", True),
        ("kill -9 $$", "[ended by signal 9]", True),
        ("cat", "(no output)", False),
        ("printf '\\033[31mred\\033[0m\\r\\n'", "red", False),
        ("nosuchprogram", "not found", True),
    ],
)
def test_what_a_command_says_and_how_it_ended(tmp_path: Path, command: str, shown: str, error: bool) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    done = run(folder, command)
    assert shown in said(done)
    assert done.is_error is error


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    begun = monotonic()
    done = run(tmp_path, "echo begun; (sleep 60; touch late) & echo $! > pid; sleep 60", timeout=0.3)
    assert said(done) == "begun\n[stopped after 0.3 seconds]"
    assert monotonic() - begun < SOON
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_cancel_ends_it_with_what_it_said_so_far(tmp_path: Path) -> None:
    token = CancelToken()
    Timer(0.2, token.cancel).start()
    begun = monotonic()
    done = run(tmp_path, "echo begun; sleep 60 & echo $! > pid; wait", token)
    assert said(done) == "begun\n[cancelled]"
    assert monotonic() - begun < SOON
    assert gone(int((tmp_path / "pid").read_text()))


def test_what_is_left_in_the_background_does_not_hold_it_up_and_does_not_stay(tmp_path: Path) -> None:
    begun = monotonic()
    assert said(run(tmp_path, "sleep 60 & echo $! > pid; echo done")) == "done"
    assert monotonic() - begun < SOON
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            if (Path("/proc") / str(pid) / "stat").read_text().split()[2] == "Z":
                return True
        except OSError:
            return True
        sleep(0.02)
    return False


def test_endless_output_keeps_its_ends_in_bounded_memory(tmp_path: Path) -> None:
    done = run(tmp_path, "echo first; yes x | head -c 3000000; echo last")
    text = said(done)
    assert len(text) < HEAD + 2 * TAIL + 100
    assert text.startswith("first\nx\n")
    assert text.endswith("x\nlast")
    assert " bytes left out …]" in text


def test_secrets_of_the_environment_are_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("SOME_API_KEY", "GITHUB_TOKEN", "aws_secret", "DB_PASSWORD")
    for name in (*names, "HARMLESS_KEYBOARD"):
        monkeypatch.setenv(name, f"value of {name}")
    shown = said(run(tmp_path, "env"))
    assert "HARMLESS_KEYBOARD" in shown
    assert not [name for name in names if name in shown]
    assert said(run(tmp_path, "/bin/echo $ONLY", made={"env": {"ONLY": "this"}})) == "this"


def test_a_command_that_no_system_takes_is_told(tmp_path: Path) -> None:
    assert said(run(tmp_path, "echo \0")).startswith("the command cannot be run: ")
    assert os.getcwd()
