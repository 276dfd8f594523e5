"""One content part of a Responses message or tool output, in both directions."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Foreign, Json, Media, Refusal, Text
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore, word
from dragoman.wire.base import Fields, Notes
from dragoman.wire.caching import spelling_of, take_cache, write_cache
from dragoman.wire.jsonio import refuse
from dragoman.wire.kinds import kind_of
from dragoman.wire.media import AUDIO, AUDIO_NAMES, by_url, data_url, split_data_url, well_typed

WIRE = "responses"

# Part types of other wires: a body that holds one was meant for another address (S0-62).
ELSEWHERE = {
    "text": "chat or messages",
    "image_url": "chat",
    "image": "messages",
    "document": "messages",
    "tool_use": "messages",
    "tool_result": "messages",
}
# Items that a client says and no model does, beside messages and outputs.
FROM_CLIENT = frozenset({"mcp_approval_response", "compaction_trigger", "configuration_update"})
CITATIONS = frozenset({"url_citation", "file_citation", "container_file_citation", "file_path"})
TEXTS = ("input_text", "output_text")
AUTO = "auto"  # the detail of an image: the wire's types want it said
DOCUMENT = "document.pdf"  # the service wants a file name beside file data


def decode_part(part: Any, role: str, path: Path) -> Content:
    """A content part as a block; a type this wire does not know is kept whole as Foreign."""
    if not isinstance(part, dict):
        refuse("expected a content part (an object)", *path)
    kind = type_of(part)
    if kind in ELSEWHERE:
        refuse(f"a part of type {kind!r} is of the {ELSEWHERE[kind]} wire: send this body there", *path)
    fields = Fields(part)
    block: Content | None = None
    match kind:
        case "input_text" | "output_text" if isinstance(part.get("text"), str):
            block = _decode_text(fields, kind, role)
        case "refusal" if isinstance(part.get("refusal"), str):
            del fields.left["type"]
            block = Refusal(text=fields.left.pop("refusal"), opaque=fields.opaque(WIRE))
        case "input_image":
            block = _decode_image(fields)
        case "input_file":
            block = _decode_file(fields)
        case "input_audio" if _is_sound(part.get("input_audio")):
            block = _decode_sound(fields)
        case _:
            pass
    return block or Foreign(wire=WIRE, kind=kind or "part", payload=part, opaque={WIRE: {"~": {"part": True}}})


def encode_part(block: Content, role: str, dialect: Dialect, notes: Notes, path: Path) -> dict[str, Any] | None:
    """A block as a content part; None, with a note, when a Responses message cannot hold it."""
    part: dict[str, Any] | None
    match block:
        case Text():
            part = text_part(block, role)
            note_citations(block, notes, path)
        case Json():
            part = text_part(Text(text=block.value), role)
            notes.add(path, "substituted", "JSON became a text part of its text", loss=False)
        case Refusal():
            part = {"type": "refusal", "refusal": block.text}
        case Media() if role != "assistant" or bag(block.opaque, WIRE):
            part = _encode_media(well_typed(block, notes, path), notes, path)
        case Foreign(wire="responses"):
            return block.payload
        case _:
            notes.add(path, "dropped", f"a Responses message has no part for a block of type {kind_of(block)}")
            return None
    if part is None:
        return None
    notes.leftovers(block.opaque, WIRE, path)
    if block.cache is not None:
        part |= _cache_hint(block, dialect, notes, path)
    return restore(part, bag(block.opaque, WIRE))


def text_part(block: Text, role: str) -> dict[str, Any]:
    """A text part, with the citations that are in this wire's own form."""
    expected = "output_text" if role == "assistant" else "input_text"
    part: dict[str, Any] = {"type": word(marks(block.opaque, WIRE), "part", TEXTS) or expected, "text": block.text}
    citations = [item for item in block.citations or () if is_annotation(item)]
    return {**part, "annotations": citations} if citations else part


def note_citations(block: Text, notes: Notes, path: Path) -> None:
    """Citations of another wire count characters in another way: never converted, always noted (evidence, Gemini)."""
    if any(not is_annotation(item) for item in block.citations or ()):
        notes.add((*path, "citations"), "dropped", "these citations are in another wire's form")


def is_annotation(item: Any) -> bool:
    """Whether a citation is in this wire's own form: flat, of one of its types."""
    kind = type_of(item)
    return kind in CITATIONS and not isinstance(item.get(kind), dict)


def type_of(value: Any) -> str | None:
    """The `type` of an object, when it says one and it is a word."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def own_nested(block: Any, key: str) -> dict[str, Any]:
    """The leftovers of the object nested under `key` of a block, part, tool or item."""
    nested = bag(block.opaque, WIRE).get(f"~{key}", {})
    return nested if isinstance(nested, dict) else {}


def _decode_text(fields: Fields, kind: str, role: str) -> Text:
    del fields.left["type"]
    if (kind == "output_text") is not (role == "assistant"):
        fields.marks["part"] = kind
    text = fields.left.pop("text")
    annotations = fields.left.get("annotations")
    citations = None
    if isinstance(annotations, list) and annotations and all(is_annotation(item) for item in annotations):
        citations = tuple(fields.left.pop("annotations"))
    cache = _take_cache(fields)
    return Text(text=text, citations=citations, cache=cache, opaque=fields.opaque(WIRE))


def _decode_image(fields: Fields) -> Media | None:
    url = fields.take("image_url", str)
    file_id = fields.take("file_id", str) if url is None else None
    if url is None and file_id is None:
        return None
    source: dict[str, Any] = {"file_id": file_id} if url is None else by_url(url)
    del fields.left["type"]
    detail = fields.take("detail", str)
    if detail == AUTO:  # what is meant where nothing is said
        detail = None
    elif detail is None:
        fields.marks["detail"] = "absent"
    cache = _take_cache(fields)
    return Media(kind="image", detail=detail, cache=cache, opaque=fields.opaque(WIRE), **source)


def _decode_file(fields: Fields) -> Media | None:
    data = fields.take("file_data", str)
    url = fields.take("file_url", str) if data is None else None
    file_id = fields.take("file_id", str) if data is None and url is None else None
    if data is None and url is None and file_id is None:
        return None
    del fields.left["type"]
    source: dict[str, Any] = {"url": url} if url is not None else {"file_id": file_id}
    if data is not None:
        split = split_data_url(data)
        if split is None:
            fields.marks["raw"] = True
        source = {"data": data} if split is None else {"media_type": split[0], "data": split[1]}
    name = fields.take("filename", str)
    if name is None and data is not None:
        fields.marks["filename"] = "absent"
    detail = fields.take("detail", str)
    cache = _take_cache(fields)
    return Media(kind="document", name=name, detail=detail, cache=cache, opaque=fields.opaque(WIRE), **source)


def _decode_sound(fields: Fields) -> Media:
    del fields.left["type"]
    inner = Fields(fields.left.pop("input_audio"))
    data, name = inner.left.pop("data"), inner.left.pop("format")
    cache = _take_cache(fields)
    if inner.left:
        fields.left["~input_audio"] = inner.left
    fields.marks["said"] = True  # the vendor's own types have no such part
    media_type = AUDIO.get(name, f"audio/{name}")
    return Media(kind="audio", media_type=media_type, data=data, cache=cache, opaque=fields.opaque(WIRE))


def _encode_media(media: Media, notes: Notes, path: Path) -> dict[str, Any] | None:
    if media.text is not None:
        notes.add(path, "substituted", "a text document became a text part", loss=False)
        return {"type": "input_text", "text": media.text}
    match media.kind:
        case "image":
            return _encode_image(media)
        case "document":
            return _encode_file(media, notes, path)
        case "audio" if media.data is not None and marks(media.opaque, WIRE).get("said"):
            name = AUDIO_NAMES.get(media.media_type or "", (media.media_type or "audio/wav").removeprefix("audio/"))
            sound = {"data": media.data, "format": name}
            return {"type": "input_audio", "input_audio": restore(sound, own_nested(media, "input_audio"))}
        case _:
            notes.add(path, "dropped", f"a Responses part cannot hold this {media.kind}")
            return None


def _encode_image(media: Media) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "input_image"}
    if media.detail is not None or marks(media.opaque, WIRE).get("detail") != "absent":
        out["detail"] = AUTO if media.detail is None else media.detail
    url = data_url(media)
    return {**out, "image_url": url} if url is not None else {**out, "file_id": media.file_id}


def _encode_file(media: Media, notes: Notes, path: Path) -> dict[str, Any]:
    spelled = marks(media.opaque, WIRE)
    out: dict[str, Any] = {"type": "input_file"}
    if media.data is not None:
        raw = spelled.get("raw") and media.media_type is None
        out["file_data"] = media.data if raw else data_url(media)
    elif media.url is not None:
        out["file_url"] = media.url
    else:
        out["file_id"] = media.file_id
    if media.name is not None:
        out["filename"] = media.name
    elif media.data is not None and spelled.get("filename") != "absent":
        out["filename"] = DOCUMENT
        notes.add((*path, "name"), "synthesised", "file data needs a file name on the responses wire", loss=False)
    if media.detail is not None:
        out["detail"] = media.detail
    return out


def _cache_hint(block: Content, dialect: Dialect, notes: Notes, path: Path) -> dict[str, Any]:
    spelling = spelling_of(block.opaque, WIRE, dialect)
    if block.cache is None or spelling is None:
        notes.add((*path, "cache"), "dropped", "this server is told no cache hints")
        return {}
    return write_cache(block.cache, spelling)


def _take_cache(fields: Fields) -> Any:
    cache = take_cache(fields, "breakpoint")
    if cache is not None:
        fields.marks["cache"] = "breakpoint"
    return cache


def _is_sound(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("data"), str) and isinstance(value.get("format"), str)
