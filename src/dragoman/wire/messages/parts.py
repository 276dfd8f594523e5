"""The content parts that a messages turn, system prompt or tool result may hold, in both directions."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.types.content import Content, Foreign, Json, Media, Refusal, Text
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.wire.base import Fields, Notes
from dragoman.wire.caching import take_cache, write_cache
from dragoman.wire.jsonio import refuse
from dragoman.wire.kinds import kind_of
from dragoman.wire.media import belied, guess_type, split_data_url, well_typed

WIRE = "messages"

# Part types of other wires: a body that holds one was meant for another address (S0-62).
ELSEWHERE = {
    "image_url": "chat",
    "input_audio": "chat",
    "video_url": "chat",
    "file": "chat",
    "input_text": "responses",
    "output_text": "responses",
    "input_image": "responses",
    "input_file": "responses",
}

# How a source says where its bytes are: its type, the key, and the field of Media that holds the value.
SOURCES = {"base64": ("data", "data"), "text": ("data", "text"), "url": ("url", "url"), "file": ("file_id", "file_id")}
MEDIA = ("image", "document")
# The media types of base64 that the wire's own types know; a text document is said as text.
TYPES = {"image": ("image/jpeg", "image/png", "image/gif", "image/webp"), "document": ("application/pdf",)}
PLAIN = "text/plain"
MISNAMED = {"image/jpg": "image/jpeg"}


def decode_part(part: Any, path: Path) -> Text | Media | Foreign:
    """A content part as a block; a type this wire does not know is kept whole as Foreign."""
    if not isinstance(part, dict):
        refuse("expected a content block (an object)", *path)
    kind = part.get("type")
    if isinstance(kind, str) and kind in ELSEWHERE:
        refuse(f"a part of type {kind!r} is of the {ELSEWHERE[kind]} wire: send this body there", *path)
    if kind == "text" and isinstance(part.get("text"), str):
        return _decode_text(Fields(part))
    media = _decode_media(Fields(part), kind) if kind in MEDIA else None
    return media or Foreign(wire=WIRE, kind=str(kind), payload=part)


def encode_part(block: Content, notes: Notes, path: Path) -> dict[str, Any] | None:
    """A block as a content part; None, with a note, when this wire cannot hold it or would refuse it."""
    match block:
        case Foreign(wire="messages"):
            return block.payload
        case Text():
            part = _encode_text(block.text, block, notes, path)
        case Json():
            notes.add(path, "substituted", "a structured result is said as its JSON text", loss=False)
            part = _encode_text(block.value, block, notes, path)
        case Refusal():
            notes.add(path, "substituted", "this wire has no refusal block: its words became a text", loss=False)
            part = _encode_text(block.text, block, notes, path)
        case Media():
            part = _encode_media(block, notes, path)
        case _:
            notes.add(path, "dropped", f"a messages turn has no place for a block of type {kind_of(block)}")
            return None
    if part is None:
        return None
    notes.leftovers(block.opaque, WIRE, path)
    if isinstance(block, Text):
        _put_citations(part, block, notes, path)
    if block.cache is not None:
        part |= write_cache(block.cache)
    return restore(part, bag(block.opaque, WIRE))


def is_citation(item: Any) -> bool:
    """Whether a citation is in this wire's own form: a type that ends in `_location`."""
    return isinstance(item, dict) and str(item.get("type")).endswith("_location")


def is_plain(part: Mapping[str, Any]) -> bool:
    """Whether a part says nothing beyond its text."""
    return part.get("type") == "text" and set(part) == {"type", "text"}


def own_nested(value: Any, key: str) -> dict[str, Any]:
    """The leftovers of the object nested under `key` of a block, tool or request."""
    nested = (value.opaque or {}).get(WIRE, {}).get(f"~{key}", {})
    return nested if isinstance(nested, dict) else {}


def nest(fields: Fields, inner: Fields, key: str) -> None:
    """Keep the leftovers of the object nested under `key`."""
    if inner.left:
        fields.left[f"~{key}"] = inner.left


def _decode_text(fields: Fields) -> Text:
    del fields.left["type"]
    text = fields.take("text", str) or ""
    if not text.strip():
        fields.marks["empty"] = True
    citations = fields.left.get("citations")
    if isinstance(citations, list) and all(is_citation(item) for item in citations):
        fields.left.pop("citations")
        found = tuple(citations)
    else:
        found = None
    cache = take_cache(fields)
    return Text(text=text, citations=found, cache=cache, opaque=fields.opaque(WIRE))


def _encode_text(text: str, block: Content, notes: Notes, path: Path) -> dict[str, Any] | None:
    """The API refuses a text that is empty or white space only (dialects §1.3): written only when a client said it."""
    if not text.strip() and not marks(block.opaque, WIRE).get("empty"):
        notes.add(path, "dropped", "this wire refuses an empty text", loss=False)
        return None
    return {"type": "text", "text": text}


def _put_citations(part: dict[str, Any], block: Text, notes: Notes, path: Path) -> None:
    """Citations of another wire count characters in another way: never converted, always noted."""
    if block.phase is not None:
        notes.add((*path, "phase"), "dropped", "this wire knows no phases")
    if block.citations is None:
        return
    ours = [item for item in block.citations if is_citation(item)]
    if len(ours) != len(block.citations):
        notes.add((*path, "citations"), "dropped", "these citations are in another wire's form")
    if ours or not block.citations:
        part["citations"] = ours


def _decode_media(fields: Fields, kind: Any) -> Media | None:
    source = fields.left.get("source")
    form = source.get("type") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not isinstance(form, str) or form not in SOURCES:
        return None
    key, field = SOURCES[form]
    inner = Fields(source)
    del inner.left["type"]
    value = inner.take(key, str)
    if value is None or (form == "text" and kind != "document"):
        return None
    del fields.left["type"], fields.left["source"]
    values: dict[str, Any] = {field: value, "media_type": inner.take("media_type", str)}
    said, known = values["media_type"], TYPES[kind] if form == "base64" else (PLAIN,)
    if form in ("base64", "text"):
        if said is None:
            fields.marks["media_type"] = "absent"
        elif said not in known or belied(kind, said, value) is not None:
            fields.marks["said"] = True
    if kind == "document":
        values["name"] = fields.take("title", str)
    nest(fields, inner, "source")
    return Media(kind=kind, cache=take_cache(fields), opaque=fields.opaque(WIRE), **values)


def _encode_media(media: Media, notes: Notes, path: Path) -> dict[str, Any] | None:
    """An image or a document; a sound by its transcript; anything else is noted."""
    if media.kind not in MEDIA:
        if media.transcript:
            notes.add(path, "substituted", f"this wire holds no {media.kind}: its transcript became a text")
            return {"type": "text", "text": media.transcript}
        notes.add(path, "dropped", f"this wire holds no {media.kind}")
        return None
    kept = marks(media.opaque, WIRE).get("said")
    fitted = media if kept else _fit_type(well_typed(media, notes, path), notes, path)
    if fitted is None:
        return None
    source = _encode_source(fitted, notes, path)
    if source is None:
        notes.add(path, "dropped", f"an {media.kind} without data, address or file id")
        return None
    if media.detail is not None:
        reason = "this wire has no word for the detail of an image"
        notes.add((*path, "detail"), "dropped", reason, loss=media.detail != "auto")
    part: dict[str, Any] = {"type": media.kind, "source": restore(source, own_nested(media, "source"))}
    if media.name is not None and media.kind == "document":
        part["title"] = media.name
    elif media.name is not None:
        notes.add((*path, "name"), "dropped", "this wire has no names for images")
    return part


def _fit_type(media: Media, notes: Notes, path: Path) -> Media | None:
    """The same in a media type that this wire takes; None, with a note, for a type it refuses."""
    said, place = media.media_type, (*path, "media_type")
    if said is None or (media.data is None and media.text is None):
        return media
    if media.text is not None:
        if said != PLAIN:
            notes.add(place, "substituted", f"this wire calls every text {PLAIN}", loss=False)
        return msgspec.structs.replace(media, media_type=PLAIN)
    if said in TYPES[media.kind]:
        return media
    if said in MISNAMED:
        notes.add(place, "renamed", f"this wire calls it {MISNAMED[said]}", loss=False)
        return msgspec.structs.replace(media, media_type=MISNAMED[said])
    text = _text_of(media.data or "") if media.kind == "document" and said.startswith("text/") else None
    if text is None:
        notes.add(path, "dropped", f"this wire takes no {media.kind} of type {said!r}")
        return None
    notes.add(path, "substituted", "a document that is text is said as text", loss=False)
    return msgspec.structs.replace(media, media_type=PLAIN, data=None, text=text)


def _text_of(data: str) -> str | None:
    """The text that base64 stands for; None when it is no base64 of UTF-8."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None


def _encode_source(media: Media, notes: Notes, path: Path) -> dict[str, Any] | None:
    unsaid = marks(media.opaque, WIRE).get("media_type") == "absent"
    if media.text is not None:
        said = {} if unsaid else {"media_type": "text/plain" if media.media_type is None else media.media_type}
        return {"type": "text", **said, "data": media.text}
    split = split_data_url(media.url) if media.url is not None else None
    if media.data is None and split is None:
        by = {"url": media.url, "file": media.file_id}
        return next(({"type": form, SOURCES[form][0]: value} for form, value in by.items() if value is not None), None)
    media_type, data = split or (media.media_type, media.data or "")
    source: dict[str, Any] = {"type": "base64"}
    if media_type is None and not unsaid:
        media_type = guess_type(data) or ("application/pdf" if media.kind == "document" else "image/png")
        notes.add((*path, "media_type"), "synthesised", f"this wire wants a media type: {media_type}", loss=False)
    if media_type is not None:
        source["media_type"] = media_type
    return {**source, "data": data}
