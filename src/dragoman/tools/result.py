"""From what a tool returned to what the model reads."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any, cast

import msgspec

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
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError) as error:
        return failed(f"the tool returned a {type(value).__name__} that is no JSON value: {error}")
    if text in ("[]", "{}"):
        return ToolOutput(content=(Text(text=f"(empty: {text})"),))
    structured = isinstance(value, dict | list | tuple | msgspec.Struct) or dataclasses.is_dataclass(value)
    return ToolOutput(content=(Json(value=text) if structured else Text(text=text),))


def failed(reason: str) -> ToolOutput:
    """An error output. The words matter: on some wires they are all the model learns of a failure (S0-49)."""
    if len(reason) > MAX_REASON:
        reason = f"{reason[:MAX_REASON]}… ({len(reason) - MAX_REASON} more characters)"
    return ToolOutput(content=(Text(text=reason or "the tool failed without a reason"),), is_error=True)


def bounded(given: ToolOutput, limit: int) -> ToolOutput:
    """`given` as a history can hold it: its text cut to `limit` bytes, head and tail kept and the gap told (AGT-015).

    Half characters (a file name that is no UTF-8, a lone surrogate) become U+FFFD. Media are not cut.
    """
    given = msgspec.structs.replace(given, content=tuple(_sound(block) for block in given.content))
    size = sum(len(_text(block).encode()) for block in given.content)
    if size <= limit:
        return given
    joined = text_of(given.content).encode()
    tail = limit // 4
    head = joined[: limit - tail].decode(errors="ignore")
    end = joined[len(joined) - tail :].decode(errors="ignore")
    text = f"{head}\n[… {len(joined) - limit} bytes left out of {len(joined)} …]\n{end}"
    rest = tuple(block for block in given.content if isinstance(block, Media | Foreign))
    return msgspec.structs.replace(given, content=(Text(text=text), *rest))


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
