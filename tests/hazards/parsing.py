"""What the hazards of tool parsers share: a text read in one piece, and in every way that it could have been cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

from dragoman.engine.parsers import Parser
from dragoman.engine.parsers.formats import named
from dragoman.types import Collector, Reasoning, Text, Tool, ToolCall
from dragoman.types.events import Finish
from dragoman.types.reply import Stop

SEEDED = 50


class Read(NamedTuple):
    """What a text came to: `parts` are the blocks in order."""

    parts: tuple[tuple[str, Any], ...]
    cuts: tuple[tuple[str, str], ...] = ()

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """Name and arguments of each call."""
        return [part for part in self.parts if part[0] not in ("text", "reasoning")]

    @property
    def text(self) -> str:
        """All text."""
        return "".join(said for kind, said in self.parts if kind == "text")

    @property
    def reasoning(self) -> str:
        """All reasoning."""
        return "".join(said for kind, said in self.parts if kind == "reasoning")


def tools(*names: str, **schemas: dict[str, Any]) -> dict[str, Tool]:
    """Offered tools: by name alone, or by name and the types of their properties."""
    made = [Tool(name=name) for name in names]
    for name, types in schemas.items():
        properties: dict[str, Any] = {key: {"type": kind} for key, kind in types.items()}
        made.append(Tool(name=name, parameters={"type": "object", "properties": properties}))
    return {tool.name: tool for tool in made}


def read(format: str, pieces: Iterable[str], offered: dict[str, Tool] | None = None, inside: bool = False) -> Read:
    """A text as it came in `pieces`."""
    found = named(format)
    assert found is not None
    parser = Parser(found, offered or {}, seed="hazard", inside=inside)
    collector = Collector()
    for piece in pieces:
        for event in parser.feed(piece):
            collector.feed(event)
    for event in parser.close():
        collector.feed(event)
    collector.feed(Finish(stop=Stop(reason="end")))
    blocks = collector.reply.message.content
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    assert len(set(ids)) == len(ids) and all(ids)
    return Read(tuple(_part(block) for block in blocks), tuple((cut.name, cut.raw) for cut in parser.cuts))


def read_however_cut(format: str, text: str, offered: dict[str, Tool] | None = None, inside: bool = False) -> Read:
    """A text that must come to the same in one piece, in every two pieces, character by character and at random."""
    whole = read(format, [text], offered, inside)
    for pieces in cuts(text):
        assert read(format, pieces, offered, inside) == whole, pieces
    return whole


def cuts(text: str) -> Iterator[list[str]]:
    """Every split in two, one character at a time, and fifty seeded random chunkings."""
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    rng = Random(len(text))
    for _ in range(SEEDED):
        places = (
            sorted(rng.sample(range(1, len(text)), min(len(text) - 1, rng.randint(1, 12)))) if len(text) > 1 else []
        )
        yield [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _part(block: Any) -> tuple[str, Any]:
    match block:
        case Text(text=text):
            return "text", text
        case Reasoning(text=text):
            return "reasoning", text
        case ToolCall(name=name, arguments=arguments):
            return name, json.loads(arguments)
        case _:
            raise AssertionError(block)
