"""What a finished part of a conversation no longer needs: errors that were put right, and long results that were used."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.history.rounds import Group, groups
from dragoman.types.content import Media, Reasoning, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Note

LONG = 600  # characters of a result that may stay as it is
RESOLVED = "(an error, put right by a later call)"
USED = "(a result of {} characters, used in this turn and left out since)"


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that are left, and what became of the others."""

    messages: tuple[Message, ...]
    notes: tuple[Note, ...] = ()


def settled(messages: Sequence[Message], *, long: int = LONG, first: int = 0) -> Settled:
    """A copy of finished rounds without what they no longer need (S4-16).

    A turn of failed calls alone, each of whose tools succeeded later, goes whole, with its results; otherwise a result of
    an error that was put right, or of more than `long` characters, becomes a few words (C-07). Every call that stays has
    its result. What a part of the conversation becomes depends on that part alone, so that it is the same each time.
    `first` is where this part begins in the conversation, for the places in the notes.
    """
    kept: list[Message] = []
    notes: list[Note] = []
    good = _successes(messages)
    for piece in groups(messages):
        own = messages[piece.start : piece.stop]
        if not piece.calls:
            kept += own
        elif _is_spent(own, piece, good):
            reason = "a turn of failed calls that later ones put right"
            notes.append(Note(path=("messages", first + piece.start), action="dropped", reason=reason))
        else:
            names = {block.id: block.name for block in own[0].content if isinstance(block, ToolCall)}
            done = {id for id, name in names.items() if good.get(name, -1) >= piece.stop}
            for at, message in enumerate(own, first + piece.start):
                stubbed, told = _stubbed(message, at, done, long)
                kept.append(stubbed)
                notes += told
    return Settled(messages=tuple(kept), notes=tuple(notes))


def _successes(messages: Sequence[Message]) -> dict[str, int]:
    """For each tool the last message in which it succeeded."""
    last: dict[str, int] = {}
    names: dict[str, str] = {}
    for at, message in enumerate(messages):
        for block in message.content:
            if isinstance(block, ToolCall):
                names[block.id] = block.name
            elif isinstance(block, ToolResult) and not block.is_error:
                last[names.get(block.call_id, "")] = at
    return last


def _is_spent(own: Sequence[Message], piece: Group, good: dict[str, int]) -> bool:
    blocks = [block for message in own for block in message.content]
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    results = [block for block in blocks if isinstance(block, ToolResult)]
    others = [block for block in blocks if not isinstance(block, ToolCall | ToolResult | Reasoning)]
    failed = all(block.is_error for block in results) and len(results) == len(calls)
    return failed and not others and all(good.get(call.name, -1) >= piece.stop for call in calls)


def _stubbed(message: Message, at: int, done: set[str], long: int) -> tuple[Message, list[Note]]:
    """A message of results in few words; `done` are the calls whose tool succeeded in a later turn."""
    content = list(message.content)
    notes: list[Note] = []
    for inner, block in enumerate(content):
        if not isinstance(block, ToolResult):
            continue
        size = sum(len(getattr(part, "text", None) or getattr(part, "value", None) or "") for part in block.content)
        seen = any(isinstance(part, Media) for part in block.content)
        words = ""
        if block.is_error and block.call_id in done:
            words = RESOLVED
        elif seen or size > long:
            words = USED.format(size)
        if words:
            content[inner] = msgspec.structs.replace(block, content=(Text(text=words),))
            path = ("messages", at, "content", inner)
            notes.append(Note(path=path, action="substituted", reason=words.strip("()")))
    return (msgspec.structs.replace(message, content=tuple(content)) if notes else message), notes
