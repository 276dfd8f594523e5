"""The tools that find: what a folder holds, files by name, lines by pattern."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from dragoman.tools import walk
from dragoman.tools.base import ToolError, Traits
from dragoman.tools.function import FunctionTool, tool
from dragoman.tools.root import below, folder_of
from dragoman.transport.cancel import CancelToken

ENTRIES = 1000
SECONDS = 30.0
Limit = Annotated[int, Meta(ge=1, le=5000, description="How many at most")]


def list_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `list` tool over the folder `root`."""
    base = Path(root).resolve()

    @tool(name="list", traits=Traits(paths=("path",), root=str(base)))
    def list_folder(path: Annotated[str, "The folder's path"] = ".") -> str:
        """List what a folder holds: folders end in /, files come with their size in bytes."""
        with os.scandir(folder_of(base, path)) as entries:
            found = sorted(entries, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name))
        if not found:
            return f"({path} is empty)"
        shown = [_entry(entry) for entry in found[:ENTRIES]]
        return "\n".join(shown) + (f"\n[{len(found) - ENTRIES} more]" if len(found) > ENTRIES else "")

    return list_folder


def glob_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `glob` tool over the folder `root`."""
    base = Path(root).resolve()

    @tool(traits=Traits(paths=("path",), root=str(base)))
    def glob(
        stop: CancelToken,
        pattern: Annotated[str, "As in `*.py` (a name, anywhere) or `src/**/test_*.py` (a path)"],
        path: Annotated[str, "The folder to look below"] = ".",
        limit: Limit = 200,
    ) -> str:
        """Find files by name."""
        top = folder_of(base, path)
        said = {"pattern": pattern, "top": str(top), "shown": _shown(base, top), "limit": limit}
        return _found(said, stop, f"no file matches {pattern!r}")

    return glob


def grep_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `grep` tool over the folder `root`."""
    base = Path(root).resolve()

    @tool(traits=Traits(paths=("path",), root=str(base)))
    def grep(
        stop: CancelToken,
        pattern: Annotated[str, "A regular expression, as Python has them"],
        path: Annotated[str, "The file or folder to look in"] = ".",
        glob: Annotated[str, "Only files like this, as in `*.py`"] = "",
        ignore_case: Annotated[bool, "Whether a and A are the same"] = False,
        limit: Limit = 200,
    ) -> str:
        """Find the lines of files that match a pattern, as path:line:text."""
        top = _place(base, path)
        said = {"regex": pattern, "glob": glob, "ignore_case": ignore_case, "limit": limit}
        return _found({**said, "top": str(top), "shown": _shown(base, top)}, stop, f"no line matches {pattern!r}")

    return grep


def _place(base: Path, path: str) -> Path:
    """A file or a folder."""
    try:
        target = (base / path).resolve()
        if target.is_file():
            below(base, target, path)
            return target
    except (OSError, RuntimeError, ValueError):
        pass  # the folder's own words are better
    return folder_of(base, path)


def _shown(base: Path, place: Path) -> str:
    return place.relative_to(base).as_posix()


def _entry(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {os.readlink(entry.path)}"
    if entry.is_dir():
        return f"{entry.name}/"
    try:
        return f"{entry.name} ({entry.stat().st_size})"
    except OSError:
        return entry.name


def _found(said: dict[str, Any], stop: CancelToken, nothing: str) -> str:
    """What the walk finds, in a process of its own: a pattern that loops holds nothing up but itself."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-I", "-S", str(Path(walk.__file__))]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            with stop.watched(process.kill):
                out, errors = process.communicate(json.dumps(said).encode(), SECONDS)
        except subprocess.TimeoutExpired:
            hint = "look in fewer files, or for something simpler"
            raise ToolError(f"it took longer than {SECONDS:g} seconds: {hint}") from None
        finally:
            process.kill()
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines() or ["it was stopped"]
        raise ToolError(lines[-1])
    text = out.decode(errors="replace")
    more = text.endswith("\0")
    text = text.rstrip("\0\n")
    return f"{text}\n[there is more: the first {said['limit']} are shown]" if more else text or nothing
