"""Guards the frame of the command line: exit codes, one line for each failure, never a traceback, commands imported on use."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dragoman import __version__
from dragoman.cli.main import COMMANDS, exit_code
from dragoman.errors import (
    ApiError,
    Cancelled,
    DragomanError,
    LocalError,
    LossyError,
    RemoteError,
    TransportError,
    UsageError,
)
from dragoman.testing.fake import FakeProvider
from dragoman.types import Note
from unit.cli_run.command import dragoman

RAISES = """
import sys, dragoman.cli.main as frame
frame.import_module = lambda name: frame.click and type("M", (), {"command": frame.click.command("run")(lambda: act())})
%s
sys.exit(frame.run(["run"]))
"""


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    block = "import sys; sys.modules['click'] = None; import importlib.util as u; u.find_spec = lambda n: None\n"
    done = dragoman("run", "hi", home=tmp_path, code=block + "from dragoman.cli import main; main()")
    said = "dragoman: the command line needs an extra: pip install 'dragoman[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_help_lists_every_command_and_imports_none(tmp_path: Path) -> None:
    code = """
import sys, dragoman.cli.main as frame
code = frame.run([])
sys.stderr.write(" ".join(name for name in sys.modules if name.startswith("dragoman.cli.")))
sys.exit(code)
"""
    done = dragoman(home=tmp_path, code=code)
    assert (done.returncode, done.stderr) == (0, "dragoman.cli.output dragoman.cli.main")
    listed = [line.split()[0] for line in done.stdout.partition("Commands:\n")[2].splitlines()]
    assert listed == list(COMMANDS)


def test_streams_that_were_closed_before_are_empty_ones(tmp_path: Path) -> None:
    code = "import sys; sys.stdin = sys.stdout = None; from dragoman.cli import main; main()"
    with FakeProvider("chat") as fake:
        done = dragoman("run", "--model", fake.spec, "--tools", "none", "hi", home=tmp_path, code=code)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1 step")


def test_version(tmp_path: Path) -> None:
    done = dragoman("--version", home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dragoman {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runn"], "dragoman: No such command 'runn'"),
        (["run"], "dragoman: Missing argument 'PROMPT'"),
        (["run", "x", "--fast"], "dragoman: No such option '--fast'"),
        (["run", "x", "--max-steps", "0"], "dragoman: Invalid value for '--max-steps'"),
        (["run", "x", "--tools", "read,fly"], "dragoman: --tools: there is no tool 'fly'; there are: read"),
        (["run", "x", "--save", "no/where.json"], "dragoman: --save: there is no folder no"),
        (["run", "x", "--model", "nobody/m"], "dragoman: unknown provider 'nobody'"),
        (["run", "x", "--model", "openai/gpt-5"], "dragoman: no key for OpenAI: set OPENAI_API_KEY"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = dragoman(*arguments, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_without_a_model_three_choices_are_named_and_a_key_is_not_one_of_them(tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}
    hidden = "import sys; sys.modules['xllamacpp'] = None\nfrom dragoman.cli import main; main()"
    done = dragoman("run", "hi", home=tmp_path, env=keys, code=hidden)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    for choice in ("dragoman local install", "--model anthropic/MODEL", "--model openai/MODEL"):
        assert choice in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("missing_extra", "x"), 2),
        (LocalError("bad_shape", "x"), 2),
        (RemoteError("bad_json", "x", ("messages", 0)), 2),
        (LossyError([Note(path=("tools",), action="dropped", reason="x")]), 3),
        (UsageError("permission", "x"), 4),
        (DragomanError("limit", "x"), 4),
        (ApiError("permission", "x"), 1),
        (ApiError("limit", "x"), 1),
        (TransportError("network", "x"), 1),
        (Cancelled(), 130),
    ],
)
def test_each_error_has_its_exit_code(error: DragomanError, code: int) -> None:
    assert exit_code(error) == code


@pytest.mark.req("S0-71")
@pytest.mark.parametrize(
    ("act", "code", "said"),
    [
        ("from dragoman.errors import *\ndef act(): raise UsageError('usage', 'say\\nless')", 2, "dragoman: say less"),
        ("def act(): raise KeyboardInterrupt", 130, "dragoman: interrupted"),
        (
            "def act(): raise FileNotFoundError(2, 'No such file or directory', 'a.json')",
            2,
            "dragoman: a.json: No such file",
        ),
        (
            f"def act(): raise OSError({errno.ENOSPC}, 'No space left on device')",
            1,
            "dragoman: No space left on device",
        ),
        ("def act(): 1 / 0", 1, "dragoman: a bug in dragoman"),
        ("def act(): return 4", 4, ""),
        ("def act(): return None", 0, ""),
        ("def act(): raise frame.click.FileError('f', hint='gone')", 2, "dragoman: Could not open file 'f': gone"),
    ],
)
def test_nothing_traces_back(tmp_path: Path, act: str, code: int, said: str) -> None:
    done = dragoman(home=tmp_path, code=RAISES % act)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.strip().startswith(said)
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_bug_shows_its_trace_when_asked(tmp_path: Path) -> None:
    done = dragoman(home=tmp_path, env={"DRAGOMAN_DEBUG": "1"}, code=RAISES % "def act(): 1 / 0")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_reader_that_goes_away_is_no_failure_of_ours(tmp_path: Path) -> None:
    """As in `dragoman … | head -1`."""
    act = """
import os
def act():
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)
    print("x" * 100_000)
"""
    done = dragoman(home=tmp_path, code=RAISES % act)
    assert (done.returncode, done.stderr) == (1, "")
