"""One content part of a chat message, in both directions."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Foreign, Json, Media, Refusal, Text
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.wire.base import Fields, Notes
from dragoman.wire.caching import spelling_of, take_cache, write_cache
from dragoman.wire.jsonio import refuse
from dragoman.wire.kinds import kind_of
from dragoman.wire.media import AUDIO, AUDIO_NAMES, by_url, data_url, split_data_url, well_typed

WIRE = "chat"

# Part types of other wires: a body that holds one was meant for another address (S0-62).
ELSEWHERE = {
    "tool_use": "messages",
    "tool_result": "messages",
    "input_text": "responses",
    "output_text": "responses",
    "input_image": "responses",
}


def decode_part(part: Any, path: Path) -> Content:
    """A content part as a block; a type this wire does not know is kept whole as Foreign."""
    if not isinstance(part, dict):
        refuse("expected a content part (an object)", *path)
    kind = part.get("type")
    if isinstance(kind, str) and kind in ELSEWHERE:
        refuse(f"a part of type {kind!r} is of the {ELSEWHERE[kind]} wire: send this body there", *path)
    fields = Fields(part)
    match kind:
        case "text" if isinstance(part.get("text"), str):
            block = _decode_text(fields)
        case "refusal" if isinstance(part.get("refusal"), str):
            block = _decode_refusal(fields)
        case "image_url" | "video_url" if _is_address(part.get(kind)):
            block = _decode_address(fields, kind)
        case "input_audio" if _has_strings(part.get("input_audio"), "data", "format"):
            block = _decode_audio(fields)
        case "file" if isinstance(part.get("file"), dict):
            block = _decode_file(fields)
        case _:
            block = None
    return block or Foreign(wire=WIRE, kind=str(kind), payload=part)


def encode_part(block: Content, dialect: Dialect, notes: Notes, path: Path) -> dict[str, Any] | None:
    """A block as a content part; None, with a note, when a chat message cannot hold it."""
    match block:
        case Text():
            part = {"type": "text", "text": block.text}
        case Json():
            part = {"type": "text", "text": block.value}
            notes.add(path, "substituted", "JSON became a text part of its text", loss=False)
        case Refusal():
            part = {"type": "refusal", "refusal": block.text}
        case Media():
            part = _encode_media(well_typed(block, notes, path), notes, path)
        case Foreign(wire="chat"):
            return block.payload
        case _:
            notes.add(path, "dropped", f"a chat message has no part for a block of type {kind_of(block)}")
            return None
    if part is None:
        return None
    notes.leftovers(block.opaque, WIRE, path)
    note_citations(block, notes, path)
    if block.cache is not None:
        spelling = spelling_of(block.opaque, WIRE, dialect)
        if spelling is None:
            notes.add((*path, "cache"), "dropped", "this server is told no cache hints")
        else:
            part |= write_cache(block.cache, spelling)
    return restore(part, bag(block.opaque, WIRE))


def note_citations(block: Content, notes: Notes, path: Path) -> None:
    """Citations of another wire count characters in another way: never converted, always noted (evidence, Gemini)."""
    if isinstance(block, Text) and any(not is_annotation(item) for item in block.citations or ()):
        notes.add((*path, "citations"), "dropped", "these citations are in another wire's form")


def note_phase(block: Text, notes: Notes, path: Path) -> None:
    """Commentary and final answer are told apart on another wire only."""
    if block.phase is not None:
        notes.add((*path, "phase"), "dropped", "the chat wire knows no phases")


def is_annotation(item: Any) -> bool:
    """Whether a citation is in this wire's own form: `{"type": T, T: {…}}`."""
    kind = item.get("type") if isinstance(item, dict) else None
    return isinstance(kind, str) and isinstance(item.get(kind), dict)


def _decode_text(fields: Fields) -> Text:
    fields.left.pop("type")
    text = fields.take("text", str) or ""
    cache = _take_cache(fields)
    return Text(text=text, cache=cache, opaque=fields.opaque(WIRE))


def _decode_refusal(fields: Fields) -> Refusal:
    fields.left.pop("type")
    fields.marks["part"] = True
    text = fields.take("refusal", str) or ""
    return Refusal(text=text, opaque=fields.opaque(WIRE))


def _decode_address(fields: Fields, kind: str) -> Media:
    fields.left.pop("type")
    inner = Fields(fields.left.pop(kind))
    url = inner.left.pop("url")
    detail = inner.take("detail", str)
    cache = _take_cache(fields)
    _nest(fields, inner, kind)
    medium = "image" if kind == "image_url" else "video"
    return Media(kind=medium, detail=detail, cache=cache, opaque=fields.opaque(WIRE), **by_url(url))


def _decode_audio(fields: Fields) -> Media:
    fields.left.pop("type")
    inner = Fields(fields.left.pop("input_audio"))
    data, name = inner.left.pop("data"), inner.left.pop("format")
    cache = _take_cache(fields)
    _nest(fields, inner, "input_audio")
    media_type = AUDIO.get(name, f"audio/{name}")
    return Media(kind="audio", media_type=media_type, data=data, cache=cache, opaque=fields.opaque(WIRE))


def _decode_file(fields: Fields) -> Media | None:
    inner = Fields(fields.left["file"])
    data = inner.take("file_data", str)
    file_id = inner.take("file_id", str) if data is None else None
    if data is None and file_id is None:
        return None
    split = split_data_url(data) if data is not None else None
    if data is not None and split is None:
        fields.marks["raw"] = True
    source: dict[str, Any] = {"file_id": file_id} if data is None else _file_source(data, split)
    fields.left.pop("type")
    fields.left.pop("file")
    name = inner.take("filename", str)
    cache = _take_cache(fields)
    _nest(fields, inner, "file")
    return Media(kind="document", name=name, cache=cache, opaque=fields.opaque(WIRE), **source)


def _file_source(data: str, split: tuple[str, str] | None) -> dict[str, Any]:
    if split is not None:
        return {"media_type": split[0], "data": split[1]}
    return {"url": data} if data.startswith(("http://", "https://")) else {"data": data}


def _encode_media(media: Media, notes: Notes, path: Path) -> dict[str, Any] | None:
    nested = own_nested(media, _nested_key(media))
    if media.text is not None:
        notes.add(path, "substituted", "a text document became a text part", loss=False)
        return {"type": "text", "text": media.text}
    if media.kind in ("image", "video"):
        key, url = _nested_key(media), data_url(media)
        if url is None:
            notes.add(path, "dropped", f"a chat part cannot name a stored {media.kind} by its file id")
            return None
        address = {"url": url} if media.detail is None else {"url": url, "detail": media.detail}
        return {"type": key, key: restore(address, nested)}
    if media.kind == "audio":
        if media.data is None:
            notes.add(path, "dropped", "a chat part holds audio by its data only")
            return None
        name = AUDIO_NAMES.get(media.media_type or "", (media.media_type or "audio/wav").removeprefix("audio/"))
        return {"type": "input_audio", "input_audio": restore({"data": media.data, "format": name}, nested)}
    return _encode_file(media, nested)


def _encode_file(media: Media, nested: dict[str, Any]) -> dict[str, Any]:
    file: dict[str, Any] = {}
    if media.file_id is not None:
        file["file_id"] = media.file_id
    elif marks(media.opaque, WIRE).get("raw") and media.media_type is None:
        file["file_data"] = media.data if media.data is not None else media.url
    else:
        file["file_data"] = data_url(media)
    if media.name is not None:
        file["filename"] = media.name
    return {"type": "file", "file": restore(file, nested)}


def own_nested(block: Any, key: str) -> dict[str, Any]:
    """The leftovers of the object nested under `key` of a block, part, tool or call."""
    nested = (block.opaque or {}).get(WIRE, {}).get(f"~{key}", {})
    return nested if isinstance(nested, dict) else {}


def _nested_key(media: Media) -> str:
    return {"image": "image_url", "video": "video_url", "audio": "input_audio", "document": "file"}[media.kind]


def _nest(fields: Fields, inner: Fields, key: str) -> None:
    if inner.left:
        fields.left[f"~{key}"] = inner.left


def _take_cache(fields: Fields) -> Any:
    for spelling in ("cache_control", "breakpoint"):
        cache = take_cache(fields, spelling)
        if cache is not None:
            fields.marks["cache"] = spelling
            return cache
    return None


def _is_address(value: Any) -> bool:
    return _has_strings(value, "url")


def _has_strings(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)
