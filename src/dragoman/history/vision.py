"""A request for a model that sees no images: words stand where they stood."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.types.content import Media, Text, ToolResult
from dragoman.types.note import Note, Path
from dragoman.types.request import Request

OMITTED = "(image omitted: model does not support images)"  # S0-19
TOOL_OMITTED = "(tool image omitted: model does not support images)"


def without_images(request: Request) -> tuple[Request, tuple[Note, ...]]:
    """A copy with one placeholder for each run of images, in messages and in tool results, and a note for each run;
    the request itself where there is none. One image fails a whole request there (S0-18 to S0-21, C-32)."""
    notes: list[Note] = []
    messages = list(request.messages)
    for at, message in enumerate(messages):
        content = _worded(message.content, OMITTED, ("messages", at, "content"), notes)
        for inner, block in enumerate(content):
            if isinstance(block, ToolResult):
                path = ("messages", at, "content", inner, "content")
                answer = _worded(block.content, TOOL_OMITTED, path, notes)
                content[inner] = msgspec.structs.replace(block, content=tuple(answer))
        messages[at] = msgspec.structs.replace(message, content=tuple(content))
    return (msgspec.structs.replace(request, messages=tuple(messages)) if notes else request), tuple(notes)


def _worded(content: Iterable[Any], words: str, path: Path, notes: list[Note]) -> list[Any]:
    out: list[Any] = []
    in_run = False
    for at, block in enumerate(content):
        is_image = isinstance(block, Media) and block.kind == "image"
        if is_image and not in_run:
            reason = "this model is not known to see images: say vision=True if it does"
            notes.append(Note(path=(*path, at), action="substituted", reason=reason))
            out.append(Text(text=words, cache=block.cache))
        elif not is_image:
            out.append(block)
        in_run = is_image
    return out
