"""The file tools: they see regular files below one folder, and nothing else."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import IO, Annotated

from msgspec import Meta

from dragoman.tools.base import ToolError, ToolOutput, Traits
from dragoman.tools.function import FunctionTool, tool
from dragoman.tools.result import image, image_type
from dragoman.tools.root import open_file
from dragoman.types.content import Text

TEXT_BYTES = 64 * 1024
IMAGE_BYTES = 5 * 1000 * 1000
LINES = 2000
SNIFF = 8192


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
        descriptor = open_file(base, path)
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
