"""The request that is sent, made of the one that was meant: checked or mended, without images that nobody could see, and
with an effort that the model takes. Only what our own client composes passes here, never a translation (C-28, C-32)."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.caching import Caching, cached, within
from dragoman.catalog import models
from dragoman.catalog.target import Target
from dragoman.client import effort
from dragoman.errors import LocalError
from dragoman.history.check import check
from dragoman.history.repair import repair
from dragoman.history.rules import RULES
from dragoman.history.sound import is_sound
from dragoman.history.vision import without_images
from dragoman.types.note import Note, show_path
from dragoman.types.request import Request


class Care(NamedTuple):
    """What a model does with requests: refuse losses, mend histories, whether images are seen (None: look it up), and
    whether its service's prompt cache is made use of."""

    strict: bool = False
    repair: bool = False
    vision: bool | None = None
    cache: Caching = "auto"


def composed(request: Request, target: Target, care: Care) -> tuple[Request, tuple[Note, ...]]:
    """The request to encode for `target`, and what was changed.

    Raises LocalError invalid_request with the rule, the place and the fix for a conversation that the wire's vendor would
    refuse, unless `care.repair` mends it (C-28). A model that is not known to see images gets words instead (C-32).
    """
    notes: tuple[Note, ...] = ()
    if care.repair:
        mended = repair(request, target.wire, target.dialect)
        request, notes = mended.request, mended.notes
    if not is_sound(request, target.wire, target.dialect):
        _refuse(request, target)
    facts = models.find(target.provider, target.model)
    sees = care.vision if care.vision is not None else facts is not None and "image" in facts.inputs
    if not sees:
        request, blind = without_images(request)
        notes += blind
    fit = effort.fitted(request, target, facts)
    sent = fit.request if care.cache == "off" else cached(fit.request, target.wire, target.dialect)
    sent, cut = within(sent, target.wire, target.dialect)
    return sent, (*notes, *fit.notes, *cut)


def _refuse(request: Request, target: Target) -> None:
    for finding in check(request, target.wire, target.dialect):
        if finding.severity == "error":
            fix = RULES[finding.rule].fix
            mends = f"; Model(repair=True) mends it: {fix}" if finding.fixable and fix else ""
            said = f"{show_path(finding.path)}: {finding.message} (rule {finding.rule}){mends}"
            raise LocalError("invalid_request", said)
