"""A reasoning item, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import Reasoning
from dragoman.types.note import Path
from dragoman.types.opaque import listed, marks, restore
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.responses.parts import WIRE


def decode_reasoning(item: Mapping[str, Any]) -> Reasoning:
    """Summary and text are typed; the ciphertext, the id and the rest stay leftovers, so they go back whole."""
    fields = Fields(item)
    del fields.left["type"]
    summary = _take_texts(fields, "summary", "summary_text")
    pieces = _take_texts(fields, "content", "reasoning_text") if fields.left.get("content") else None
    if pieces is not None and len(pieces) > 1:
        fields.marks["parts"] = [len(piece) for piece in pieces]
    if not fields.left and not fields.marks:
        fields.marks["item"] = True  # nothing else tells that this wire said it
    text = None if pieces is None else "".join(pieces)
    return Reasoning(text=text, summary=summary, opaque=fields.opaque(WIRE))


def encode_reasoning(block: Reasoning, dialect: Dialect, notes: Notes, path: Path, *, shown: bool) -> dict[str, Any]:
    """A reasoning item. `shown`: a client reads what another wire's model thought, so `summary` is said."""
    notes.leftovers(block.opaque, WIRE, path)
    if block.redacted:
        reason = "the responses wire hides reasoning without saying so"
        notes.add((*path, "redacted"), "dropped", reason, loss=False)
    text, summary = block.text, block.summary
    if shown and dialect.reasoning_as_summary and text is not None:
        text, summary = None, (*(summary or ()), text)
    item: dict[str, Any] = {"type": "reasoning"}
    left = own(block.opaque, WIRE)
    if summary is not None:
        item["summary"] = [{"type": "summary_text", "text": part} for part in summary]
    elif shown and "summary" not in left:
        item["summary"] = []
    if text is not None:
        item["content"] = [{"type": "reasoning_text", "text": piece} for piece in _pieces(block, text)]
    return restore(item, left)


def _take_texts(fields: Fields, key: str, kind: str) -> tuple[str, ...] | None:
    """The texts of an array of plain parts; an array of anything else stays a leftover."""
    parts = fields.left.get(key)
    if not isinstance(parts, list):
        return None
    for part in parts:
        plain = isinstance(part, dict) and set(part) == {"type", "text"} and part["type"] == kind
        if not plain or not isinstance(part["text"], str):
            return None
    del fields.left[key]
    return tuple(part["text"] for part in parts)


def _pieces(block: Reasoning, text: str) -> list[str]:
    """The text as it was divided, as long as nobody edited it."""
    lengths = listed(marks(block.opaque, WIRE), "parts", int)
    if not lengths or sum(lengths) != len(text) or min(lengths) < 0:
        return [text]
    ends = list(accumulate(lengths))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
