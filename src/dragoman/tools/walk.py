"""What a process of its own does for `glob` and `grep`: it walks a folder, and can be ended however a pattern loops.

It is run as a program, imports nothing of ours, reads one JSON object on stdin and writes lines on stdout.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    }
)
LARGEST = 5_000_000
LINE = 500


def main() -> None:
    """Do what stdin asks for."""
    said: dict[str, Any] = json.load(sys.stdin)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")  # type: ignore[union-attr]
    found = grep(said) if "regex" in said else glob(said)
    for count, line in enumerate(found):
        if count >= said["limit"]:
            sys.stdout.write("\0")  # there is more
            break
        sys.stdout.write(line + "\n")


def files(top: str, hidden: bool) -> Iterator[str]:
    """The regular files below `top`, in order, links not followed, what nobody looks for skipped."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and (hidden or not name.startswith(".")))
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                regular = stat.S_ISREG(os.lstat(path).st_mode)
            except OSError:
                continue
            if regular and (hidden or not name.startswith(".")):
                yield os.path.relpath(path, top)


def glob(said: dict[str, Any]) -> Iterator[str]:
    """The files whose path matches."""
    matches = matcher(said["pattern"])
    for path in files(said["top"], hidden=said["pattern"].lstrip("*/").startswith(".")):
        if matches(path):
            yield os.path.join(said["shown"], path) if said["shown"] != "." else path


def grep(said: dict[str, Any]) -> Iterator[str]:
    """The lines that match, as `path:number:line`."""
    try:
        regex = re.compile(said["regex"], re.IGNORECASE if said["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        sys.exit(f"{said['regex']!r} is no regular expression: {error}")
    matches = matcher(said["glob"]) if said["glob"] else None
    single = os.path.isfile(said["top"])
    paths = [""] if single else files(said["top"], hidden=False)
    for path in paths:
        if matches is not None and not matches(path or os.path.basename(said["top"])):
            continue
        shown = said["shown"] if single else os.path.normpath(os.path.join(said["shown"], path))
        for number, line in enumerate(lines(os.path.join(said["top"], path) if path else said["top"]), 1):
            if regex.search(line):
                yield f"{shown}:{number}:{line if len(line) <= LINE else line[:LINE] + '…'}"


def lines(path: str) -> Iterator[str]:
    """The lines of a text; nothing of what is none, or is very large."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return
    if len(data) > LARGEST or b"\0" in data[:8192]:
        return
    for line in data.decode("utf-8", "replace").split("\n"):
        yield line.removesuffix("\r")


def matcher(pattern: str) -> Any:
    """Whether a path matches: `*` stays within a folder, `**` passes through folders, a bare name matches anywhere."""
    if "/" not in pattern:
        return lambda path: fnmatch.fnmatchcase(os.path.basename(path), pattern)
    parts = [re.escape("/").join(piece(part) for part in pattern.removeprefix("./").split("/"))]
    whole = parts[0].replace(re.escape("/").join((ANY, "")), f"(?:{ANY}/)?").replace(ANY, ".*")
    return re.compile(f"(?s:{whole})\\Z").match


ANY = "\1"


def piece(part: str) -> str:
    """One step of a path as a regular expression."""
    if part == "**":
        return ANY
    out = ""
    for letter in re.split(r"(\*|\?|\[[^\]]+\])", part):
        if letter == "*":
            out += "[^/]*"
        elif letter == "?":
            out += "[^/]"
        elif letter.startswith("[") and letter.endswith("]"):
            out += letter.replace("[!", "[^")
        else:
            out += re.escape(letter)
    return out


if __name__ == "__main__":
    main()
