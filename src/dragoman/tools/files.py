"""The file tools: they see regular files below one folder, and nothing else."""

from __future__ import annotations

import codecs
import difflib
import os
import stat
from pathlib import Path
from typing import IO, Annotated

from msgspec import Meta

from dragoman.tools.base import ToolError, ToolOutput, Traits
from dragoman.tools.function import FunctionTool, tool
from dragoman.tools.result import image, image_type
from dragoman.types.content import Text


def _flags(*names: str) -> int:
    """Read-only, with those of `names` that this system has."""
    return os.O_RDONLY | sum(getattr(os, name, 0) for name in names)


TEXT_BYTES = 64 * 1024
IMAGE_BYTES = 5 * 1000 * 1000
LINES = 2000
SNIFF = 8192
# The path was resolved, so a link met on the way was put there since: O_NOFOLLOW refuses it. A pipe must not block.
FILE_FLAGS = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
FOLDER_FLAGS = _flags("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC")


def read_tool(root: str | os.PathLike[str]) -> FunctionTool:
    """The `read` tool over the folder `root` (S0-56): no path, `..` or link leads out of it."""
    base = Path(root).resolve()

    @tool(traits=Traits(access="read", paths=("path",), root=str(base)))
    def read(
        path: Annotated[str, "The file's path"],
        offset: Annotated[int, Meta(ge=1, description="The first line to read, counted from 1")] = 1,
        limit: Annotated[int, Meta(ge=1, description="How many lines to read")] = LINES,
    ) -> ToolOutput:
        """Read a text file, or look at an image (png, jpeg, gif, webp)."""
        descriptor = _open(base, path)
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(SNIFF)
            file.seek(0)
            media_type = image_type(head)
            if media_type is not None:
                return _image(file, path, media_type)
            if b"\0" in head:
                raise ToolError(f"{path} is a binary file and no image: it cannot be read as text")
            return ToolOutput(content=(Text(text=_text(file, path, offset, limit)),))

    return read


def _open(base: Path, path: str) -> int:
    """The file descriptor of a regular file below `base`; raises ToolError with the reason for anything else."""
    try:
        target = (base / path).resolve()
        parts = _below(base, target, path)
        if os.open not in os.supports_dir_fd:  # Windows
            return _open_regular(None, str(target), path)
        folder = os.open(base, FOLDER_FLAGS)
        try:
            for part in parts[:-1]:
                inner = os.open(part, FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = inner
            return _open_regular(folder, parts[-1] if parts else ".", path)
        finally:
            os.close(folder)
    except FileNotFoundError:
        raise ToolError(_missing(base, path)) from None
    except NotADirectoryError:
        raise ToolError(f"{path} cannot be read: a part of the path is not a folder") from None
    except PermissionError:
        raise ToolError(f"{path} cannot be read: permission denied") from None
    except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, a zero byte, a lone surrogate
        raise ToolError(f"{path[:100]!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open_regular(folder: int | None, name: str, path: str) -> int:
    """Looks before opening, for opening a device can do things, and again after, for the file may have changed."""
    _must_be_regular(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, path)
    descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
    try:
        _must_be_regular(os.fstat(descriptor).st_mode, path)
    except ToolError:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path or '.'} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path} is not a regular file (a pipe, a socket, a device or a changed link)")


def _below(base: Path, target: Path, path: str) -> tuple[str, ...]:
    try:
        return target.relative_to(base).parts
    except ValueError:
        raise ToolError(f"{path} is outside the working folder: only files below it can be read") from None


def _missing(base: Path, path: str) -> str:
    """Names the file that is not there, and those of like names that are (S0-49)."""
    folder = (base / path).resolve().parent
    try:
        _below(base, folder, path)
        held = [entry.name + "/" * entry.is_dir() for entry in os.scandir(folder)]
    except (OSError, ToolError):
        held = []
    close = difflib.get_close_matches(Path(path).name, held)
    return f"{path} does not exist" + (f". Did you mean: {', '.join(close)}" if close else "")


def _image(file: IO[bytes], path: str, media_type: str) -> ToolOutput:
    data = file.read(IMAGE_BYTES + 1)
    if len(data) > IMAGE_BYTES:
        size = os.fstat(file.fileno()).st_size
        raise ToolError(f"{path} is an image of {size} bytes: more than {IMAGE_BYTES} cannot be shown")
    return ToolOutput(content=(Text(text=f"Read image file [{media_type}]"), image(data, media_type)))


def _text(file: IO[bytes], path: str, offset: int, limit: int) -> str:
    before = _skip(file, offset - 1)
    if before < offset - 1 or (offset > 1 and not _more(file)):
        raise ToolError(f"{path} has {before} lines: there is no line {offset}")
    lines: list[bytes] = []
    room = TEXT_BYTES
    while len(lines) < limit and (line := file.readline(room + 1)):
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line)
    else:
        return _shown(lines, path, offset, offset + len(lines) if _more(file) else None)
    if lines:
        return _shown(lines, path, offset, offset + len(lines))
    cut = codecs.getincrementaldecoder("utf-8")("replace").decode(line[:TEXT_BYTES])  # never inside a character
    return f"{cut}\n[line {offset} is cut at {TEXT_BYTES} bytes; read on with offset={offset + 1}]"


def _shown(lines: list[bytes], path: str, offset: int, following: int | None) -> str:
    data = b"".join(lines)
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    if not text.strip():
        return f"({path} holds only white space)" if text else f"({path} is empty)"
    strange = text.count("\ufffd") - data.count("\ufffd".encode())
    if strange * 10 > len(text):
        raise ToolError(f"{path} is neither UTF-8 text nor an image: it cannot be read as text")
    if strange:
        text += f"\n[not all of it is UTF-8: {strange} places are shown as \ufffd]"
    if following is not None:
        text += f"\n[lines {offset} to {following - 1}; there is more: read on with offset={following}]"
    return text


def _skip(file: IO[bytes], count: int) -> int:
    """Passes over `count` lines, never holding a long one whole; returns how many there were."""
    passed = 0
    while passed < count and (piece := file.readline(TEXT_BYTES)):
        while not piece.endswith(b"\n") and (piece := file.readline(TEXT_BYTES)):
            pass
        passed += 1
    return passed


def _more(file: IO[bytes]) -> bool:
    here = file.tell()
    more = bool(file.read(1))
    file.seek(here)
    return more
