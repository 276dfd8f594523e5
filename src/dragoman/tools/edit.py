"""The tools that change files: write a whole one, or put one text in the place of another."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated

from dragoman.tools.base import ToolError, ToolOutput, Traits
from dragoman.tools.function import FunctionTool, tool
from dragoman.tools.root import open_file, put_file
from dragoman.types.content import Text

LARGEST = 10_000_000
SHOWN = 3  # lines of a near miss
CLOSE = 0.6


def write_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `write` tool over the folder `root`: no path, `..` or link leads out of it."""
    base = Path(root).resolve()

    @tool(access="write", traits=Traits(paths=("path",), root=str(base)))
    def write(
        path: Annotated[str, "The file's path"], content: Annotated[str, "All that the file is to hold"]
    ) -> ToolOutput:
        """Write a whole file, new or in the place of an old one. To change a part of a file use `edit`."""
        there = put_file(base, path, content.encode("utf-8", "replace"))
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        return _told(f"{'wrote over' if there else 'wrote'} {path}: {lines} lines")

    return write


def edit_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `edit` tool over the folder `root`: the text to go must be in the file exactly, and once."""
    base = Path(root).resolve()

    @tool(access="write", traits=Traits(paths=("path",), root=str(base)))
    def edit(
        path: Annotated[str, "The file's path"],
        old: Annotated[str, "The text to go, exactly as it stands in the file, white space included"],
        new: Annotated[str, "The text in its place"],
        all: Annotated[bool, "Every place where it stands, not just one"] = False,
    ) -> ToolOutput:
        """Put `new` in the place of `old` in a file. `old` must be in the file exactly once, unless `all` is said."""
        before = _read(base, path)
        old, new = _as_lines_end(before, old, new)
        if not old:
            raise ToolError("`old` is empty: say which text is to go, or use `write` for a whole file")
        if old == new:
            raise ToolError("`old` and `new` are the same: nothing was changed")
        count = before.count(old)
        if count == 0:
            raise ToolError(f"`old` is not in {path}: nothing was changed. {_nearest(before, old)}")
        if count > 1 and not all:
            at = ", ".join(str(line) for line in _lines(before, old)[:10])
            raise ToolError(
                f"`old` is in {path} {count} times (lines {at}): nothing was changed. Add the lines around the one you "
                "mean, or say `all`"
            )
        after = before.replace(old, new)
        put_file(base, path, after.encode())
        first = _lines(before, old)[0]
        places = f"{count} places" if count > 1 else f"line {first}"
        return _told(f"edited {path} at {places}", _difference(before, after, path))

    return edit


def _read(base: Path, path: str) -> str:
    with os.fdopen(open_file(base, path), "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{path} is larger than {LARGEST} bytes: too large to be edited")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{path} is no UTF-8 text: it cannot be edited") from None


def _as_lines_end(text: str, old: str, new: str) -> tuple[str, str]:
    """Both texts with the line ends of a file that has CR LF throughout, which models do not write."""
    if old in text or "\r\n" not in text or "\r" in old:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _lines(text: str, part: str) -> list[int]:
    """The lines on which `part` begins."""
    found: list[int] = []
    at = text.find(part)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + len(part))
    return found


def _nearest(text: str, old: str) -> str:
    """Where something like `old` stands, so that the next try can be right."""
    lines = text.splitlines()
    wanted = [line for line in old.splitlines() if line.strip()]
    if not lines or not wanted:
        return "Read the file again."
    bare = [line.strip() for line in lines]
    same = [at for at, line in enumerate(bare) if line == wanted[0].strip()]
    near = difflib.get_close_matches(wanted[0].strip(), bare[:20_000], n=1, cutoff=CLOSE)
    at = same[0] if same else bare.index(near[0]) if near else None
    if at is None:
        return "Nothing like it is there: read the file again."
    height = min(max(len(wanted), 1), SHOWN)
    shown = "\n".join(lines[at : at + height])
    how = "Only white space differs" if same and len(wanted) == 1 else "Something like it begins"
    return f"{how} at line {at + 1}:\n{shown}"


def _difference(before: str, after: str, path: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, n=1, lineterm="")
    return "\n".join(lines)


def _told(words: str, display: str | None = None) -> ToolOutput:
    return ToolOutput(content=(Text(text=words),), display=f"{words}\n{display}" if display else None)
