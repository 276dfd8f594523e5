"""What compiling gives: the schema, everything that changed and why, and the way back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.types.note import Action, Note, Path
from dragoman.wire.schema.reverse import Reverse
from dragoman.wire.schema.vocabulary import pointer

Effect = Literal["same", "wider", "narrower"]
EFFECTS: dict[Effect, str] = {
    "same": "",
    "wider": " (no longer enforced)",
    "narrower": " (some values can no longer be said)",
}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the compiled schema says differently. `path` is its place in the original schema.

    `effect` compares what the schemas allow, the way back included: the same values, more, or fewer. An object that
    does not speak of other properties is taken to have none, and one that lists properties to be an object.
    """

    path: Path
    action: Action
    reason: str
    effect: Effect = "same"

    def __str__(self) -> str:
        return f"{pointer(self.path) or '/'}: {self.action}: {self.reason}{EFFECTS[self.effect]}"


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A schema in the form of a subset. `schema` is None where the server wants none at all.

    `changes` come in the order in which they were made, which is fixed; `reverse` maps values back; `beyond` names what
    the subset's servers are documented to refuse and no rewriting mends: sizes, and recursion.
    """

    schema: dict[str, Any] | None
    changes: tuple[Change, ...] = ()
    reverse: Reverse = Reverse()
    beyond: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """The changes as notes, with paths that start at the schema; a loss is whatever allows more or fewer values."""
        return tuple(
            Note(path=change.path, action=change.action, reason=change.reason, loss=change.effect != "same")
            for change in self.changes
        )

    @property
    def lines(self) -> list[str]:
        """One line for each change, and for each thing that is refused all the same."""
        return [*map(str, self.changes), *(f"/: the server refuses it: {fault}" for fault in self.beyond)]
