"""Guards the read tool: nothing outside its folder, nothing that blocks, nothing without bounds, no cut character."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from dragoman.tools import FunctionTool, ToolOutput, read_tool
from dragoman.tools import root as files_module
from dragoman.types import Media, Text, Tool

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n....",
    "image/jpeg": b"\xff\xd8\xff\xe0....",
    "image/gif": b"GIF89a....",
    "image/webp": b"RIFF\x04\0\0\0WEBPVP8 ",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("SECRET")
    (folder / "README.md").write_text("Run: npm run dev\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "deploy.md").write_text("Deploy on Friday.\n")
    return folder


@pytest.fixture
def read(root: Path) -> FunctionTool:
    return read_tool(root)


def said(text: str, error: bool = False) -> ToolOutput:
    return ToolOutput(content=(Text(text=text),), is_error=error)


def text_of(output: ToolOutput) -> str:
    block = output.content[0]
    assert isinstance(block, Text)
    return block.text


@pytest.mark.req("S0-56")
@pytest.mark.req("S0-55")
def test_only_the_path_is_required(read: FunctionTool) -> None:
    lines = {"type": "integer", "minimum": 1}
    assert read.definition == Tool(
        name="read",
        description="Read a text file, or look at an image (png, jpeg, gif, webp).",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file's path"},
                "offset": {**lines, "description": "The first line to read, counted from 1", "default": 1},
                "limit": {**lines, "description": "How many lines to read", "default": 2000},
            },
            "required": ["path"],
        },
    )


@pytest.mark.parametrize("path", ["README.md", "./README.md", "docs/../README.md", "{root}/README.md", "inner.md"])
def test_a_file_below_the_folder_is_read_however_it_is_named(root: Path, read: FunctionTool, path: str) -> None:
    (root / "inner.md").symlink_to("README.md")
    assert read.invoke({"path": path.format(root=root)}) == said("Run: npm run dev\n")


def test_chinese_names_and_text(root: Path, read: FunctionTool) -> None:
    (root / "说明.md").write_text("启动命令:npm run dev 🚀\n", encoding="utf-8")
    assert read.invoke({"path": "说明.md"}) == said("启动命令:npm run dev 🚀\n")


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "docs/../../secret.txt", "{tmp}/secret.txt", "/etc/passwd", "out.md", "away/secret.txt", ".."],
)
def test_nothing_outside_the_folder_is_read(root: Path, tmp_path: Path, read: FunctionTool, path: str) -> None:
    (root / "out.md").symlink_to(tmp_path / "secret.txt")
    (root / "away").symlink_to(tmp_path)
    path = path.format(tmp=tmp_path)
    assert read.invoke({"path": path}) == said(
        f"{path} is outside the working folder: only what is below it can be used", error=True
    )


def test_a_link_put_there_after_the_look_is_not_followed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is swapped for a link between the check of the path and the opening of the file."""
    check = files_module.below

    def then_swap(base: Path, target: Path, path: str) -> tuple[str, ...]:
        parts = check(base, target, path)
        (root / "docs" / "deploy.md").unlink()
        (root / "docs").rmdir()
        (root / "docs").symlink_to(tmp_path)
        (tmp_path / "deploy.md").write_text("SECRET")
        monkeypatch.setattr(files_module, "below", check)
        return parts

    monkeypatch.setattr(files_module, "below", then_swap)
    out = read_tool(root).invoke({"path": "docs/deploy.md"})
    assert out.is_error
    assert "SECRET" not in text_of(out)


def test_pipes_sockets_and_folders_are_refused_and_do_not_block(root: Path, read: FunctionTool) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(root, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)
        for name in ("pipe", "socket"):
            why = f"{name} is not a regular file (a pipe, a socket, a device or a changed link)"
            assert read.invoke({"path": name}) == said(why, error=True)
    for name, shown in (("docs", "docs"), (".", "."), ("", ".")):
        assert read.invoke({"path": name}) == said(f"{shown} is a folder, not a file", error=True)


def test_a_device_is_refused() -> None:
    assert "is not a regular file" in text_of(read_tool("/dev").invoke({"path": "zero"}))


@pytest.mark.req("S0-49")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("READM.md", "READM.md does not exist. Did you mean: README.md"),
        ("docs/deplo.md", "docs/deplo.md does not exist. Did you mean: deploy.md"),
        ("nope", "nope does not exist"),
        ("doc", "doc does not exist. Did you mean: docs/"),
        ("no/such/file", "no/such/file does not exist"),
        ("README.md/x", "README.md/x cannot be read: a part of the path is not a folder"),
        ("a\0b", r"'a\x00b' cannot be read: embedded null byte"),
        ("loop", "'loop' cannot be read: Symlink loop"),
        ("n" * 300, f"{'n' * 100!r} cannot be read: File name too long"),
    ],
)
def test_each_failure_says_why(root: Path, read: FunctionTool, path: str, why: str) -> None:
    if path == "loop":
        (root / "loop").symlink_to("loop")
    out = read.invoke({"path": path})
    assert out.is_error
    assert text_of(out).startswith(why)


@pytest.mark.req("I-07")
@pytest.mark.req("S0-50")
@pytest.mark.parametrize("media_type", IMAGES)
def test_an_image_is_told_and_shown(root: Path, read: FunctionTool, media_type: str) -> None:
    import base64

    (root / "picture.bin").write_bytes(IMAGES[media_type])
    data = base64.b64encode(IMAGES[media_type]).decode()
    picture = Media(kind="image", media_type=media_type, data=data)
    assert read.invoke({"path": "picture.bin"}) == ToolOutput(
        content=(Text(text=f"Read image file [{media_type}]"), picture)
    )


def test_an_image_has_a_largest_size(root: Path, read: FunctionTool) -> None:
    with (root / "big.png").open("wb") as file:
        file.write(IMAGES["image/png"])
        file.truncate(5_000_001)
    why = "big.png is an image of 5000001 bytes: more than 5000000 cannot be shown"
    assert read.invoke({"path": "big.png"}) == said(why, error=True)


@pytest.mark.parametrize("data", [b"\x7fELF\0\0\1", b"a" * 100 + b"\0"])
def test_a_binary_file_is_refused(root: Path, read: FunctionTool, data: bytes) -> None:
    (root / "program").write_bytes(data)
    why = "program is a binary file and no image: it cannot be read as text"
    assert read.invoke({"path": "program"}) == said(why, error=True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", said("(f is empty)")),
        (b"\n\n", said("(f holds only white space)")),
        (b"\xef\xbb\xbfmark\n", said("mark\n")),
        (b"one\r\ntwo\r\n", said("one\r\ntwo\r\n")),
        ("line\u2028same\u0085line\n".encode(), said("line\u2028same\u0085line\n")),
        (
            b"caf\xe9 au lait\n",
            said("caf\ufffd au lait\n\n[not all of it is UTF-8: 1 places are shown as \ufffd]"),
        ),
        ("\ufffd is a character\n".encode(), said("\ufffd is a character\n")),
        ("启动命令".encode("gbk"), said("f is neither UTF-8 text nor an image: it cannot be read as text", error=True)),
    ],
)
def test_text_is_given_as_it_stands(root: Path, read: FunctionTool, data: bytes, expected: ToolOutput) -> None:
    (root / "f").write_bytes(data)
    assert read.invoke({"path": "f"}) == expected


@pytest.mark.req("I-07")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 2}, said("1\n2\n\n[lines 1 to 2; there is more: read on with offset=3]")),
        ({"offset": 3, "limit": 2}, said("3\n4\n\n[lines 3 to 4; there is more: read on with offset=5]")),
        ({"offset": 4, "limit": 2}, said("4\n5")),
        ({"offset": 5}, said("5")),
        ({"offset": 6}, said("f has 5 lines: there is no line 6", error=True)),
        ({"offset": 99}, said("f has 5 lines: there is no line 99", error=True)),
    ],
)
def test_a_part_of_a_file(root: Path, read: FunctionTool, arguments: dict[str, Any], expected: ToolOutput) -> None:
    (root / "f").write_text("1\n2\n3\n4\n5")
    assert read.invoke({"path": "f", **arguments}) == expected


def test_a_long_file_is_read_in_whole_lines_to_its_end(root: Path, read: FunctionTool) -> None:
    whole = "".join(f"第{number}行\n" for number in range(20_000))
    (root / "long.txt").write_text(whole, encoding="utf-8")
    gathered, offset = "", 1
    while offset:
        text = text_of(read.invoke({"path": "long.txt", "offset": offset, "limit": 100_000}))
        body, mark, following = text.rpartition("\n[lines ")
        assert len((body if mark else text).encode()) <= 64 * 1024
        gathered += body if mark else text
        offset = int(following.rpartition("offset=")[2].rstrip("]")) if mark else 0
    assert gathered == whole


def test_a_long_line_is_cut_between_characters_and_can_be_passed_over(root: Path, read: FunctionTool) -> None:
    (root / "line.txt").write_text("x" + "始" * 60_000 + "\nend\n", encoding="utf-8")
    kept = "x" + "始" * 21_845
    first = text_of(read.invoke({"path": "line.txt"}))
    assert first == f"{kept}\n[line 1 is cut at 65536 bytes; read on with offset=2]"
    assert read.invoke({"path": "line.txt", "offset": 2}) == said("end\n")


def test_a_file_of_gigabytes_is_not_read_into_memory(root: Path, read: FunctionTool) -> None:
    with (root / "huge.log").open("wb") as file:
        file.write(b"start\n" * 2000)
        file.truncate(1 << 40)
    assert text_of(read.invoke({"path": "huge.log", "limit": 1})).startswith("start\n")
