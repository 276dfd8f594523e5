"""Reasoning that a server writes into the text of its reply, in tags."""

from __future__ import annotations

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Reasoning, Text
from dragoman.wire.tags import OPEN, ThinkTags, apart, written

IN_TEXT = OPEN  # as a dialect's `reasoning_out`: not under a key, but in the text


def tags_of(dialect: Dialect) -> ThinkTags | None:
    """The reader of tags for one reply; None where tags are the model's own text."""
    return None if dialect.think_tags == "never" else ThinkTags(inside=dialect.think_tags == "prefilled")


def take_thoughts(content: tuple[Content, ...], dialect: Dialect) -> tuple[Content, ...]:
    """A reply's blocks with the thinking in their texts as blocks of its own."""
    if dialect.think_tags == "never":
        return content
    texts = [block.text for block in content if isinstance(block, Text)]
    found = iter(apart(texts, inside=dialect.think_tags == "prefilled"))
    out: list[Content] = []
    for block in content:
        if not isinstance(block, Text):
            out.append(block)
            continue
        for kind, text in next(found):
            thought = kind == "reasoning"
            out.append(Reasoning(text=text) if thought else msgspec.structs.replace(block, text=text))
    return tuple(out)


def in_text(thought: str) -> Text:
    """A thought as text for a server that wants it there."""
    return Text(text=written(thought))
