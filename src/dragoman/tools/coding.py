"""The tools of a program that works on code, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

from dragoman.tools.edit import edit_tool, write_tool
from dragoman.tools.files import read_tool
from dragoman.tools.function import FunctionTool
from dragoman.tools.search import glob_tool, grep_tool, list_tool
from dragoman.tools.shell import shell_tool

Maker: TypeAlias = Callable[[str | os.PathLike[str]], FunctionTool]

TOOLS: dict[str, Maker] = {
    "read": read_tool,
    "list": list_tool,
    "glob": glob_tool,
    "grep": grep_tool,
    "write": write_tool,
    "edit": edit_tool,
    "shell": shell_tool,
}


def coding_tools(root: str | os.PathLike[str]) -> list[FunctionTool]:
    """All of them over the folder `root`: to look, to change, and to run."""
    return [make(root) for make in TOOLS.values()]
