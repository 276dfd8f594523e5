"""A conversation while it is mended: turns that can change, each block with the place it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.history.view import is_kept
from dragoman.types.content import Content
from dragoman.types.message import Message, Role
from dragoman.types.note import Path
from dragoman.types.request import Request
from dragoman.wire.base import Notes

Placed = tuple[Path, Content]


class Turn:
    """One message: its blocks, where each stood in the request as it was given, and what else is to change."""

    __slots__ = ("changes", "content", "message", "path", "paths")

    def __init__(self, message: Message, path: Path, paths: Iterable[Path]) -> None:
        self.message = message
        self.path = path
        self.paths = list(paths)
        self.content: list[Content] = list(message.content)
        self.changes: dict[str, Any] = {}

    @classmethod
    def of(cls, role: Role, blocks: Sequence[Placed], path: Path | None = None) -> Turn:
        """A message that nobody said."""
        message = Message(role=role, content=tuple(block for _, block in blocks))
        return cls(message, path or blocks[0][0], (place for place, _ in blocks))

    @property
    def role(self) -> Role:
        """Who speaks."""
        return self.changes.get("role", self.message.role)

    @property
    def blocks(self) -> list[Placed]:
        """The blocks with their places; set it to change them."""
        return list(zip(self.paths, self.content, strict=True))

    @blocks.setter
    def blocks(self, blocks: Sequence[Placed]) -> None:
        self.paths = [path for path, _ in blocks]
        self.content = [block for _, block in blocks]

    def done(self) -> Message:
        """The message: the very same one when nothing changed."""
        content = tuple(self.content)
        same = len(content) == len(self.message.content) and all(
            new is old for new, old in zip(content, self.message.content, strict=True)
        )
        if same and not self.changes:
            return self.message
        return msgspec.structs.replace(self.message, content=content, **self.changes)


class Draft:
    """A request being mended for one wire and dialect; `notes` tells each change, by its place as it was given."""

    def __init__(self, request: Request, wire: str, dialect: Dialect, placeholder: str) -> None:
        self.request = request
        self.wire = wire
        self.dialect = dialect
        self.placeholder = placeholder
        self.kept = is_kept(request)
        self.notes = Notes()
        self.changes: dict[str, Any] = {}
        self.turns: list[Turn] = []
        for at, message in enumerate(request.messages):
            path = ("messages", at)
            self.turns.append(Turn(message, path, ((*path, "content", inner) for inner in range(len(message.content)))))

    def done(self) -> Request:
        """The request as mended."""
        messages = tuple(turn.done() for turn in self.turns)
        return msgspec.structs.replace(self.request, messages=messages, **self.changes)
