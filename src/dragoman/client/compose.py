"""The request that is sent, made of the one that was meant: checked or mended, without images that nobody could see, and
with an effort that the model takes. Only what our own client composes passes here, never a translation (C-28, C-32)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dragoman.caching import Caching, cached, within
from dragoman.catalog import models
from dragoman.catalog.target import Target
from dragoman.client import effort
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import LocalError
from dragoman.history.check import check
from dragoman.history.repair import repair
from dragoman.history.rules import RULES
from dragoman.history.sound import is_sound
from dragoman.history.vision import without_images
from dragoman.types.note import Note, show_path
from dragoman.types.request import Request
from dragoman.wire.keeping import with_state


class Care(NamedTuple):
    """What a model does with requests: refuse losses, mend histories, whether images are seen (None: look it up), whether
    its service's prompt cache is made use of, and which template makes prompts of them."""

    strict: bool = False
    repair: bool = False
    vision: bool | None = None
    cache: Caching = "auto"
    template: Path | str | None = None


def composed(request: Request, target: Target, care: Care) -> tuple[Request, tuple[Note, ...]]:
    """The request to encode for `target`, and what was changed.

    Raises LocalError invalid_request with the rule, the place and the fix for a conversation that the wire's vendor would
    refuse, unless `care.repair` mends it (C-28). A model that is not known to see images gets words instead (C-32).
    """
    facts = models.find(target.provider, target.model)
    knows = facts is not None and "image" in facts.inputs
    sent, notes = _fit(request, target.wire, target.dialect, care._replace(vision=_first(care.vision, knows)))
    fit = effort.fitted(sent, target, facts)
    sent = fit.request if care.cache == "off" else cached(fit.request, target.wire, target.dialect)
    sent, cut = within(sent, target.wire, target.dialect)
    if facts is not None and facts.reasoning:
        sent = with_state(sent, target.wire)
    return sent, (*notes, *fit.notes, *cut)


def composed_here(request: Request, care: Care) -> tuple[Request, tuple[Note, ...]]:
    """The same for a model that reads prompts in this process: it sees no images, and takes what its template takes."""
    return _fit(request, TEXT, BASE, care._replace(vision=_first(care.vision, False)))


TEXT = "text"  # prompts: see dragoman.engine
RULES_OF = {TEXT: "chat"}  # chat templates are written for conversations of the chat wire


def rules_of(wire: str) -> str:
    """The wire by whose rules a conversation for `wire` is checked and mended."""
    return RULES_OF.get(wire, wire)


def _fit(request: Request, wire: str, dialect: Dialect, care: Care) -> tuple[Request, tuple[Note, ...]]:
    notes: tuple[Note, ...] = ()
    wire = rules_of(wire)
    if care.repair:
        mended = repair(request, wire, dialect)
        request, notes = mended.request, mended.notes
    if not is_sound(request, wire, dialect):
        _refuse(request, wire, dialect)
    if care.vision:
        return request, notes
    request, blind = without_images(request)
    return request, (*notes, *blind)


def _first(said: bool | None, known: bool) -> bool:
    return known if said is None else said


def _refuse(request: Request, wire: str, dialect: Dialect) -> None:
    for finding in check(request, wire, dialect):
        if finding.severity == "error":
            fix = RULES[finding.rule].fix
            mends = f"; Model(repair=True) mends it: {fix}" if finding.fixable and fix else ""
            said = f"{show_path(finding.path)}: {finding.message} (rule {finding.rule}){mends}"
            raise LocalError("invalid_request", said)
