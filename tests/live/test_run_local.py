"""Guards the first thing a newcomer does: `dragoman run` with no model named, on the local one, reads a file and answers."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from dragoman.engine.store import DEFAULT, find_installed, home
from dragoman.types.save import loads
from unit.cli_run.command import dragoman

HELLO = Path(__file__).resolve().parents[2] / "examples" / "hello"


@pytest.fixture(scope="module")
def installed() -> dict[str, str]:
    """The environment in which the local model is found, and a paid service could be."""
    if find_spec("xllamacpp") is None or find_installed(DEFAULT, os.environ) is None:
        pytest.skip("needs the local model: dragoman local install")
    return {"DRAGOMAN_HOME": str(home(os.environ)), "OPENAI_API_KEY": "sk-never-used"}


def test_without_a_name_the_installed_model_runs_and_says_that_its_first_step_is_a_call(
    installed: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "hello.json"
    asked = ["run", "Read README.md and tell me how to start this project.", "--save", str(file)]
    done = dragoman(*asked, home=tmp_path, cwd=HELLO, env=installed)
    call, result, answer = done.stdout.splitlines()
    assert (call, result) == ('→ read {"path": "README.md"}', "  Start the project with npm run dev.")
    assert "npm run dev" in answer
    notice, *notes, usage = done.stderr.splitlines()
    assert notice.startswith("local model: it must call a tool in its first step")
    assert [note.partition(":")[2].split(":")[0] for note in notes] == [" tools dropped", " messages substituted"]
    assert usage.startswith("2 steps")
    assert done.returncode == 0
    assert [message.role for message in loads(file.read_bytes()).request.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_without_tools_nothing_is_forced(installed: dict[str, str], tmp_path: Path) -> None:
    done = dragoman("run", "Say hello.", "--model", "local", "--tools", "none", home=tmp_path, env=installed)
    assert done.returncode == 0
    assert done.stdout.strip()
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["1"]
