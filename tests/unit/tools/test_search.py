"""Guards the tools that find (I-07): in order, within the root and within bounds, and no pattern holds the agent up."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Timer
from time import monotonic

import pytest

from dragoman.tools import ToolOutput, search
from dragoman.tools.search import glob_tool, grep_tool, list_tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import Text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in {
        "README.md": "Run 启动\n",
        "src/a.py": "import os\n\n\ndef f():\n    return 启动\n",
        "src/deep/test_a.py": "def test_f():\r\n    assert f()\r\n",
        "src/deep/data.bin": "\0def f",
        ".git/config": "def hidden",
        ".env": "def secret",
        "node_modules/x.py": "def f",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    (tmp_path / "secret.py").write_text("def outside\n")
    os.symlink(tmp_path, folder / "door")
    os.symlink(tmp_path / "secret.py", folder / "out.py")
    return folder


def said(output: ToolOutput) -> str:
    (block,) = output.content
    assert isinstance(block, Text)
    return block.text


@pytest.mark.req("I-07")
def test_a_folder_is_listed_with_folders_first(root: Path) -> None:
    shown = said(list_tool(root).invoke({}))
    assert shown.splitlines()[:3] == [".git/", "node_modules/", "src/"]
    assert "README.md (11)" in shown
    assert "out.py -> " in shown
    assert said(list_tool(root).invoke({"path": "src"})) == "deep/\na.py (39)"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["src/a.py", "src/deep/test_a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/test_a.py"]),
        ("**/test_?.py", ["src/deep/test_a.py"]),
        ("**", ["README.md", "src/a.py", "src/deep/data.bin", "src/deep/test_a.py"]),
        (".env", [".env"]),
        ("[!R]*.md", ["no file matches '[!R]*.md'"]),
        ("src/(a).py", ["no file matches 'src/(a).py'"]),
    ],
)
def test_files_are_found_by_name_in_order_and_links_are_not_followed(
    root: Path, pattern: str, found: list[str]
) -> None:
    assert said(glob_tool(root).invoke({"pattern": pattern})).splitlines() == found


@pytest.mark.req("I-07")
def test_lines_are_found_with_their_place(root: Path) -> None:
    grep = grep_tool(root)
    assert said(grep.invoke({"pattern": r"^def \w+"})).splitlines() == [
        "src/a.py:4:def f():",
        "src/deep/test_a.py:1:def test_f():",
    ]
    assert said(grep.invoke({"pattern": "启动"})).splitlines() == ["README.md:1:Run 启动", "src/a.py:5:    return 启动"]
    assert said(grep.invoke({"pattern": "DEF F", "ignore_case": True, "glob": "a.py"})) == "src/a.py:4:def f():"
    assert said(grep.invoke({"pattern": "f", "path": "src/deep/test_a.py", "limit": 1})).splitlines() == [
        "src/deep/test_a.py:1:def test_f():",
        "[there is more: the first 1 are shown]",
    ]
    assert said(grep.invoke({"pattern": "nothing like it"})) == "no line matches 'nothing like it'"
    assert "is no regular expression: " in said(grep.invoke({"pattern": "(" * 3}))


@pytest.mark.parametrize("path", ["..", "../secret.py", "door", "out.py", "absent", "a\0b"])
def test_nothing_outside_is_looked_at(root: Path, path: str) -> None:
    for tool, more in (
        (list_tool(root), {}),
        (glob_tool(root), {"pattern": "*"}),
        (grep_tool(root), {"pattern": "outside"}),
    ):
        done = tool.invoke({"path": path, **more})
        assert done.is_error
        assert "def outside" not in said(done)


def test_a_pattern_that_loops_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "loop.txt").write_text("a" * 60 + "\n")
    monkeypatch.setattr(search, "SECONDS", 0.3)
    begun = monotonic()
    done = grep_tool(root).invoke({"pattern": "(a+)+b", "path": "loop.txt"})
    assert said(done) == "it took longer than 0.3 seconds: look in fewer files, or for something simpler"
    assert monotonic() - begun < 5


def test_a_search_hears_the_word_to_stop(root: Path) -> None:
    (root / "loop.txt").write_text("a" * 60 + "\n")
    token = CancelToken()
    Timer(0.1, token.cancel).start()
    begun = monotonic()
    assert grep_tool(root).invoke({"pattern": "(a+)+b", "path": "loop.txt"}, cancel=token).is_error
    assert monotonic() - begun < 5
