"""Media as wires spell it: data URLs, base64, and the short names of formats."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.types.content import Media
from dragoman.types.note import Path
from dragoman.wire.base import Notes

PREFIX = "data:"
BASE64 = ";base64,"

# Short audio names of the chat wire; any other is "audio/" and the name.
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_NAMES = {media_type: name for name, media_type in AUDIO.items()}

ALIASES = {"image/jpeg": "image/jpg"}

# How the base64 of a file of each type begins.
BEGINNINGS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi": "application/pdf",
}


def split_data_url(url: str) -> tuple[str, str] | None:
    """(media type, base64 data) of a plain base64 data URL; None for any other URL."""
    if not url.startswith(PREFIX):
        return None
    media_type, found, data = url[len(PREFIX) :].partition(BASE64)
    return (media_type, data) if found and media_type and ";" not in media_type else None


def data_url(media: Media) -> str | None:
    """A data URL of the block's own data, or its URL; None when it has neither."""
    if media.data is not None:
        return f"{PREFIX}{media.media_type or 'application/octet-stream'}{BASE64}{media.data}"
    return media.url


def by_url(url: str) -> dict[str, Any]:
    """The fields of a Media that a URL of any kind gives."""
    split = split_data_url(url)
    return {"url": url} if split is None else {"media_type": split[0], "data": split[1]}


def well_typed(media: Media, notes: Notes, path: Path) -> Media:
    """An image under the type that its bytes are of: servers that look refuse one that says another (REQ-012)."""
    address = split_data_url(media.url) if media.url is not None else None
    said, data = address or (media.media_type, media.data)
    actual = belied(media.kind, said, data or "")
    if actual is None:
        return media
    notes.add((*path, "media_type"), "substituted", f"the bytes are {actual}, not {said}", loss=False)
    return msgspec.structs.replace(media, media_type=actual, data=data, url=None)


def belied(kind: str, said: str | None, data: str) -> str | None:
    """The type of an image whose base64 is of another than `said`; None where it is that one, or nobody knows."""
    actual = guess_type(data) if kind == "image" and said is not None else None
    if actual is None or not actual.startswith("image/") or said in (actual, ALIASES.get(actual)):
        return None
    return actual


def guess_type(data: str) -> str | None:
    """The media type that base64 data begins like; None when it is none of the common ones."""
    return next((name for beginning, name in BEGINNINGS.items() if data.startswith(beginning)), None)
