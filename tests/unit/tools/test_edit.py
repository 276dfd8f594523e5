"""Guards the tools that change files (I-07): exact and unique or not at all, whole or not at all, never outside the root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dragoman.tools import FunctionTool, ToolOutput
from dragoman.tools.edit import edit_tool, write_tool
from dragoman.types import Text

TEXT = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(TEXT)
    (tmp_path / "secret.txt").write_text("SECRET")
    return folder


def said(output: ToolOutput) -> str:
    (block,) = output.content
    assert isinstance(block, Text)
    return block.text


def edit(root: Path, **arguments: object) -> ToolOutput:
    return edit_tool(root).invoke({"path": "a.py", **arguments})


@pytest.mark.req("I-07")
def test_one_text_goes_and_another_stands_in_its_place(root: Path) -> None:
    done = edit(root, old="def f(x):\n    return x + 1", new="def f(x: int) -> int:\n    return x + 2  # 好")
    assert said(done) == "edited a.py at line 1"
    assert done.display == (
        "edited a.py at line 1\n--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n-def f(x):\n-    return x + 1\n"
        "+def f(x: int) -> int:\n+    return x + 2  # 好\n "
    )
    assert (root / "a.py").read_text() == TEXT.replace(
        "def f(x):\n    return x + 1", "def f(x: int) -> int:\n    return x + 2  # 好"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            {"old": "return x + 1", "new": "return 2"},
            "`old` is in a.py 2 times (lines 2, 6): nothing was changed. Add the lines around the one you mean, or say `all`",
        ),
        (
            {"old": "  return  x + 1", "new": "y"},
            "`old` is not in a.py: nothing was changed. Something like it begins at line 2:\n    return x + 1",
        ),
        (
            {"old": "def  g(x):\n", "new": "y"},
            "`old` is not in a.py: nothing was changed. Something like it begins at line 5:\ndef g(x):",
        ),
        (
            {"old": "def g(x):\nreturn", "new": "y"},
            "`old` is not in a.py: nothing was changed. Something like it begins at line 5:\ndef g(x):\n    return x + 1",
        ),
        (
            {"old": "   def g(x):", "new": "y"},
            "`old` is not in a.py: nothing was changed. Only white space differs at line 5:\ndef g(x):",
        ),
        (
            {"old": "quite another text", "new": "y"},
            "`old` is not in a.py: nothing was changed. Nothing like it is there: read the file again.",
        ),
        ({"old": "", "new": "y"}, "`old` is empty: say which text is to go, or use `write` for a whole file"),
        ({"old": "def f", "new": "def f"}, "`old` and `new` are the same: nothing was changed"),
        ({"path": "b.py", "old": "x", "new": "y"}, "b.py does not exist. Did you mean: a.py"),
        (
            {"path": "../secret.txt", "old": "S", "new": "y"},
            "../secret.txt is outside the working folder: only what is below it can be used",
        ),
    ],
)
def test_what_is_not_there_exactly_once_changes_nothing_and_is_told(
    root: Path, arguments: dict[str, str], told: str
) -> None:
    done = edit(root, **arguments)
    assert (said(done), done.is_error) == (told, True)
    assert (root / "a.py").read_text() == TEXT
    assert (root.parent / "secret.txt").read_text() == "SECRET"


def test_every_place_can_be_meant(root: Path) -> None:
    assert said(edit(root, old="x + 1", new="x", all=True)) == "edited a.py at 2 places"
    assert (root / "a.py").read_text() == TEXT.replace("x + 1", "x")


def test_the_ends_of_lines_and_the_mode_of_a_file_stay(root: Path) -> None:
    (root / "a.py").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    os.chmod(root / "a.py", 0o755)
    assert said(edit(root, old="one\ntwo\n", new="1\n2\n")) == "edited a.py at line 1"
    assert (root / "a.py").read_bytes() == b"1\r\n2\r\nthree\r\n"
    assert stat.S_IMODE((root / "a.py").stat().st_mode) == 0o755


def test_what_is_no_text_is_not_edited(root: Path) -> None:
    (root / "a.py").write_bytes("启动".encode("gbk"))
    assert said(edit(root, old="x", new="y")) == "a.py is no UTF-8 text: it cannot be edited"


@pytest.fixture
def write(root: Path) -> FunctionTool:
    return write_tool(root)


@pytest.mark.req("I-07")
def test_a_file_is_written_with_the_folders_it_needs(root: Path, write: FunctionTool) -> None:
    assert said(write.invoke({"path": "src/deep/说明.md", "content": "一\n二"})) == "wrote src/deep/说明.md: 2 lines"
    assert (root / "src/deep/说明.md").read_text(encoding="utf-8") == "一\n二"
    assert said(write.invoke({"path": "src/deep/说明.md", "content": ""})) == "wrote over src/deep/说明.md: 0 lines"
    assert sorted(path.name for path in (root / "src/deep").iterdir()) == ["说明.md"]


@pytest.mark.parametrize(
    "path", ["../new.txt", "/tmp/dragoman-new.txt", "door/new.txt", "door", "out.txt", ".", "", "a\0b", "src", "a.py/b"]
)
def test_nothing_outside_is_written_and_no_folder_or_link_written_over(
    root: Path, write: FunctionTool, path: str
) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    os.symlink(outside, root / "door")
    os.symlink(root.parent / "secret.txt", root / "out.txt")
    (root / "src").mkdir()
    done = write.invoke({"path": path, "content": "x"})
    assert done.is_error
    assert list(outside.iterdir()) == []
    assert (root.parent / "secret.txt").read_text() == "SECRET"
    assert sorted(item.name for item in root.parent.iterdir()) == ["outside", "project", "secret.txt"]
