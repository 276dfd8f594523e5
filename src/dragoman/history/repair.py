"""A conversation made fit to be sent: on a copy, the same the second time, and every change noted."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import UsageError
from dragoman.history.check import broken_rules
from dragoman.history.draft import Draft
from dragoman.history.mend_content import mend_arguments, mend_blanks, mend_end, mend_unicode
from dragoman.history.mend_pairs import mend_pairs
from dragoman.history.mend_shape import (
    mend_last,
    mend_offers,
    mend_places,
    mend_roles,
    mend_silence,
    mend_split_turns,
    mend_unfinished,
)
from dragoman.history.sound import is_sound
from dragoman.types.note import Note, Path
from dragoman.types.request import Request

PLACEHOLDER = "(nothing said)"  # C-05: never empty
ROUNDS = 3  # messages that became one may put two calls of one id into one turn


# Rules whose mend touches one place and can break no other rule.
LEAVES: dict[str, Callable[[Draft], None]] = {
    "trailing-whitespace": mend_end,
    "invalid-arguments": mend_arguments,
    "tools-missing": mend_offers,
    "choice-without-tools": mend_offers,
    "parallel-without-tools": mend_offers,
    "duplicate-tool": mend_offers,
}


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """The request to send, the very one that was given when nothing was wrong, and what was changed.

    Paths of `notes` are places in the request as it was given. `places` is the way back: for each message of `request`
    where it stood, and each of its blocks; empty when nothing changed.
    """

    request: Request
    notes: tuple[Note, ...] = ()
    places: tuple[tuple[Path, tuple[Path, ...]], ...] = ()

    def given(self, path: Path) -> Path:
        """Where a place in the repaired request stood in the one that was given."""
        match path if self.places else ():
            case ("messages", int(at), "content", int(inner), *rest) if inner < len(self.places[at][1]):
                return (*self.places[at][1][inner], *rest)
            case ("messages", int(at), *rest):
                return (*self.places[at][0], *rest)
            case _:
                return path


def repair(
    request: Request,
    wire: str,
    dialect: Dialect = BASE,
    *,
    placeholder: str = PLACEHOLDER,
    keep_unfinished: bool = False,
) -> Repaired:
    """A copy of `request` that breaks no rule which can be mended, for `wire` under `dialect` (C-28).

    `request` is never changed; messages before the first repaired place stay the same values, so their bytes do, and
    with them the provider's prompt cache. Repairing twice gives the same. `keep_unfinished` keeps the text of turns
    that broke off. While the server keeps the conversation (`request.state`), halves of a pair are left alone. Ids,
    names and foreign reasoning are for the codecs. Raises UsageError for a blank placeholder.
    """
    if not placeholder.strip():
        raise UsageError("usage", "the placeholder must say something: servers refuse an empty text (C-05)")
    if is_sound(request, wire, dialect):
        return Repaired(request=request)
    broken = broken_rules(request, wire, dialect)
    if not broken:
        return Repaired(request=request)
    draft = Draft(request, wire, dialect, placeholder)
    if broken <= LEAVES.keys():
        for mend in dict.fromkeys(LEAVES[rule] for rule in sorted(broken)):
            mend(draft)
    else:
        for _ in range(ROUNDS):
            _mend_all(draft, keep_unfinished=keep_unfinished)
            if not broken_rules(draft.done(), wire, dialect):
                break
    places = tuple((turn.path, tuple(turn.paths)) for turn in draft.turns)
    return Repaired(request=draft.done(), notes=draft.notes.done(), places=places)


def _mend_all(draft: Draft, *, keep_unfinished: bool) -> None:
    """Every mend, in an order in which none undoes another."""
    mend_unicode(draft)
    mend_unfinished(draft, keep_text=keep_unfinished)
    mend_places(draft)
    mend_blanks(draft)
    mend_pairs(draft)
    mend_split_turns(draft)
    mend_arguments(draft)
    mend_silence(draft)
    mend_roles(draft)
    mend_last(draft)
    mend_end(draft)
    mend_offers(draft)
