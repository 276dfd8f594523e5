"""What a message says in plain text, the only thing that this wire has words for."""

from __future__ import annotations

from dragoman.types.content import Content, Refusal, Text
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.wire.base import Notes
from dragoman.wire.kinds import kind_of

WIRE = "completions"


def text_of(message: Message, notes: Notes, path: Path) -> str:
    """The texts of a message, joined by line breaks; each other block is noted as dropped."""
    said = [block_text(block, notes, (*path, "content", at)) for at, block in enumerate(message.content)]
    return "\n".join(text for text in said if text is not None)


def block_text(block: Content, notes: Notes, path: Path) -> str | None:
    """The text of one block, what it holds beside it noted; None for a block that is no text."""
    if not isinstance(block, Text | Refusal):
        notes.add(path, "dropped", f"a text completion has no place for a block of type {kind_of(block)}")
        return None
    notes.leftovers(block.opaque, WIRE, path)
    if block.cache is not None:
        notes.add((*path, "cache"), "dropped", "a text completion has no cache hint")
    if isinstance(block, Refusal):
        notes.add(path, "substituted", "a refusal is text like any other here")
        return block.text
    if block.citations is not None:
        notes.add((*path, "citations"), "dropped", "a text completion has no citations")
    if block.phase is not None:
        notes.add((*path, "phase"), "dropped", "a text completion does not tell commentary from the answer")
    return block.text
