"""From what a tool returned to what the model reads."""

from __future__ import annotations

import base64
from typing import Any, cast

import msgspec

from dragoman.tools import models
from dragoman.tools.base import ToolOutput
from dragoman.types.content import Foreign, Json, Media, ResultContent, Text

NOTHING = "(no output)"
MAX_REASON = 2000  # characters: an error is for reading, and a traceback in a message can be megabytes (AGT-009)

# The first bytes of the images that models take.
IMAGES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one result a history takes: bytes and lines of text, and images, whose data counts apart."""

    bytes: int = 100_000
    lines: int = 4_000
    images: int = 10
    image_bytes: int = 10_000_000


def output(value: Any) -> ToolOutput:
    """A tool's return value as an output. It is never empty: nothing is said in words (S4-27).

    A str is text; a content block, or a list of blocks and strings, is kept; bytes of an image become an image;
    everything else must be JSON-able (msgspec's rules). What is none of these is an error output.
    """
    if isinstance(value, ToolOutput):
        return value if _has_content(value.content) else msgspec.structs.replace(value, content=(Text(text=NOTHING),))
    if isinstance(value, bytes | bytearray):
        return _from_bytes(bytes(value))
    blocks = _blocks(value)
    if blocks is not None:
        return output(ToolOutput(content=blocks))
    if value is None:
        return ToolOutput(content=(Text(text=NOTHING),))
    try:
        text = msgspec.json.encode(value, enc_hook=models.plain).decode()
    except (TypeError, ValueError, OverflowError) as error:
        return failed(f"the tool returned a {type(value).__name__} that is no JSON value: {error}")
    if text in ("[]", "{}"):
        return ToolOutput(content=(Text(text=f"(empty: {text})"),))
    structured = text[0] in "[{"
    return ToolOutput(content=(Json(value=text) if structured else Text(text=text),))


def said(text: str) -> ToolOutput:
    """An output of text."""
    return ToolOutput(content=(Text(text=text),))


def failed(reason: str) -> ToolOutput:
    """An error output. The words matter: on some wires they are all the model learns of a failure (S0-49)."""
    if len(reason) > MAX_REASON:
        reason = f"{reason[:MAX_REASON]}… ({len(reason) - MAX_REASON} more characters)"
    return ToolOutput(content=(Text(text=reason or "the tool failed without a reason"),), is_error=True)


def bounded(given: ToolOutput, bounds: Bounds) -> ToolOutput:
    """`given` as a history can hold it: the one seam through which every result goes (AGT-015).

    Text beyond the bounds loses its middle; a line in the gap tells how much is gone and, where `given.rest` says it,
    how to read it. Images beyond the bounds are told of and left out. Half characters (a file name that is no UTF-8, a
    lone surrogate) become U+FFFD.
    """
    blocks = [_sound(block) for block in given.content]
    told: list[str] = []
    pictures = [block for block in blocks if isinstance(block, Media)]
    kept: list[Media] = []
    room = bounds.image_bytes
    for picture in pictures:
        size = len(picture.data or "")
        if len(kept) < bounds.images and size <= room:
            kept.append(picture)
            room -= size
    if left := len(pictures) - len(kept):
        told.append(
            f"[{left} of {len(pictures)} images left out: at most {bounds.images}, and {bounds.image_bytes} bytes]"
        )
    text = text_of(tuple(blocks))
    short = _cut(text, bounds, f"; {given.rest}" if given.rest else "")
    if short == text and not told:
        return msgspec.structs.replace(given, content=tuple(blocks), rest=None)
    if short == text:
        content = [block for block in blocks if not isinstance(block, Media) or block in kept]
        return msgspec.structs.replace(given, content=(*content, *map(_as_text, told)), rest=None)
    rest = (block for block in blocks if isinstance(block, Foreign) or (isinstance(block, Media) and block in kept))
    return msgspec.structs.replace(given, content=(Text(text=short), *rest, *map(_as_text, told)), rest=None)


def is_within(given: ToolOutput, bounds: Bounds) -> bool:
    """Whether no text of `given` would be cut."""
    text = text_of(given.content)
    return len(text.encode("utf-8", "replace")) <= bounds.bytes and text.count("\n") < bounds.lines


def _cut(text: str, bounds: Bounds, rest: str) -> str:
    """The head and the tail of `text`, and between them what is missing: three quarters and one quarter of the room."""
    lines, data = text.split("\n"), text.encode()
    if len(lines) <= bounds.lines and len(data) <= bounds.bytes:
        return text
    head, end, told = text, text, ""
    if len(lines) > bounds.lines:
        tail = bounds.lines // 4
        head, end = "\n".join(lines[: bounds.lines - tail]), "\n".join(lines[len(lines) - tail :])
        told = f"{len(lines) - bounds.lines} lines left out of {len(lines)}"
    if len(head.encode()) + len(end.encode()) > bounds.bytes:
        tail = bounds.bytes // 4
        head = head.encode()[: bounds.bytes - tail].decode(errors="ignore")
        end = end.encode()[max(len(end.encode()) - tail, 0) :].decode(errors="ignore")
        told = f"{len(data) - bounds.bytes} bytes left out of {len(data)}"
    return f"{head}\n[… {told}{rest} …]\n{end}"


def _as_text(words: str) -> Text:
    return Text(text=words)


def text_of(content: tuple[ResultContent, ...]) -> str:
    """All text of a result, for people."""
    return "\n".join(filter(None, (_text(block) for block in content)))


def image_type(data: bytes) -> str | None:
    """The media type of an image by its first bytes: png, jpeg, gif or webp; None for everything else."""
    for magic, media_type in IMAGES:
        if data.startswith(magic):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def image(data: bytes, media_type: str) -> Media:
    """An image block."""
    return Media(kind="image", media_type=media_type, data=base64.b64encode(data).decode())


def _from_bytes(data: bytes) -> ToolOutput:
    media_type = image_type(data)
    if media_type is None:
        return failed(f"the tool returned {len(data)} bytes that are neither text nor an image")
    return ToolOutput(content=(image(data, media_type),))


def _blocks(value: Any) -> tuple[ResultContent, ...] | None:
    items: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list | tuple) and value else [value]
    if not all(isinstance(item, str | Text | Json | Media | Foreign) for item in items):
        return None
    if all(isinstance(item, str) for item in items) and items != [value]:
        return None  # a list of strings is data
    return tuple(Text(text=item) if isinstance(item, str) else item for item in items)


def _has_content(content: tuple[ResultContent, ...]) -> bool:
    return any(isinstance(block, Media | Foreign) or _text(block).strip() for block in content)


def _sound(block: ResultContent) -> ResultContent:
    text = _text(block)
    if text.isascii() or text == (whole := text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")):
        return block
    return Text(text=whole)


def _text(block: ResultContent) -> str:
    match block:
        case Text():
            return block.text
        case Json():
            return block.value
        case _:
            return ""
