"""What is wrong with a conversation, before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import LocalError
from dragoman.history import content, pairing, shape
from dragoman.history.rules import Finding
from dragoman.history.view import View
from dragoman.types.base import Origin
from dragoman.types.note import show_path
from dragoman.types.request import Request


def _paired(view: View) -> Iterator[Finding]:
    return pairing.findings(view.pairs, view.wire, kept=view.kept)


MENDABLE: tuple[Callable[[View], Iterator[Finding]], ...] = (
    content.unicode,
    shape.turns,
    _paired,
    content.blanks,
    content.arguments,
    shape.roles,
    shape.offers,
)
TOLD = (content.forms, shape.systems)  # what codecs change by themselves


def check(request: Request, wire: str, dialect: Dialect = BASE, *, target: Origin | None = None) -> tuple[Finding, ...]:
    """Every place where `request` breaks a rule of `wire` under `dialect`, in the order of the rules; changes nothing.

    `target` is where it is going: without it, nothing is said about reasoning of other models. The rules are in
    `RULES`; `repair` mends what is `fixable` (C-28).
    """
    view = View(request, wire, dialect, target)
    return tuple(finding for rule in (*MENDABLE, *TOLD) for finding in rule(view))


def require(request: Request, wire: str, dialect: Dialect = BASE) -> None:
    """Raise LocalError invalid_request, with the rule and what to do, for the first error of `check` (C-24, C-28)."""
    for finding in check(request, wire, dialect):
        if finding.severity == "error":
            place = show_path(finding.path)
            raise LocalError("invalid_request", f"{place}: {finding.message} (rule {finding.rule})")


def broken_rules(request: Request, wire: str, dialect: Dialect) -> frozenset[str]:
    """The rules that repair would mend."""
    view = View(request, wire, dialect)
    return frozenset(finding.rule for rule in MENDABLE for finding in rule(view) if finding.fixable)
