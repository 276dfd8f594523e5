"""How much a model is to think, on one scale, brought to what it takes, with room left for its answer."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from dragoman.catalog.models import ModelFacts
from dragoman.catalog.target import Target
from dragoman.types.note import Action, Note
from dragoman.types.opaque import marks
from dragoman.types.request import Request

SCALE = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
OFF = "none"
# An effort as a budget of thinking tokens, for models that take nothing else; the vendor's least is 1024.
# Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "budget_tokens".
BUDGETS = {"minimal": 1024, "low": 4096, "medium": 8192, "high": 16_384, "xhigh": 32_768, "max": 32_768}
LEAST = 1024
COMMON = ("low", "medium", "high")
# Wires on which an effort is said, and their dialects that take a budget too, or neither.
UNWORDED = {"chat": ("reasoning", "enable_thinking", "none"), "responses": ("none",)}
ANSWER = 32_768  # tokens of an answer that nobody limited, where a limit must be said: enough for long calls (PAR-002)


class Fitted(NamedTuple):
    """A request, and what was changed."""

    request: Request
    notes: tuple[Note, ...] = ()


def fitted(request: Request, target: Target, facts: ModelFacts | None) -> Fitted:
    """`request` with an effort, a budget and a limit that the target's model takes; each change is told.

    A word that is not on the scale is a vendor's own and goes as it is. Where thinking counts within the limit of the
    answer, the limit is raised by the budget, up to what the model can answer; beyond that the budget gives way.
    """
    notes: list[Note] = []
    request = _word(_worded(request, target, notes), target, notes)
    if target.wire == "messages":
        most = None if facts is None else facts.max_output
        request = _spelled(request, target, notes)
        if request.max_output is None and most is not None and not _said(request, target, "max_tokens"):
            request = _limited(request, most, notes)
        if target.dialect.thinking_form != "adaptive":
            request = _room(request, most, notes)
    return Fitted(request, tuple(notes))


def nearest(word: str, taken: tuple[str, ...]) -> str:
    """The one of `taken` that is nearest to `word`; of two the lesser. Only who asks for no thinking at all gets none."""
    at = SCALE.index(word)
    able = [each for each in taken if each in SCALE and (each != OFF or word == OFF)]
    return min(able, key=lambda each: (abs(SCALE.index(each) - at), SCALE.index(each)), default=word)


def _worded(request: Request, target: Target, notes: list[Note]) -> Request:
    """A budget as an effort, where nothing else is taken: the least word that every such model knows and that gives as much."""
    budget, takes = request.budget, target.dialect.effort_in
    if budget is None or request.effort is not None or takes in UNWORDED.get(target.wire, (takes,)):
        return request
    if "effort" in marks(request.opaque, target.wire):  # said in a form of this very wire
        return request
    word = next((word for word in COMMON if BUDGETS[word] >= budget), COMMON[-1])
    _tell(notes, "budget", "substituted", f"{target.model} takes an effort, not a budget: {word!r}")
    return replace(request, effort=word, budget=None)


def _word(request: Request, target: Target, notes: list[Note]) -> Request:
    word, taken = request.effort, target.dialect.efforts
    if word not in SCALE or not taken or word in taken:
        return request
    found = nearest(word, taken)
    _tell(notes, "effort", "clamped", f"{target.model} takes {', '.join(taken)}: {word!r} becomes {found!r}", loss=True)
    return replace(request, effort=found)


def _spelled(request: Request, target: Target, notes: list[Note]) -> Request:
    """An effort as this wire's model understands it: a budget, a budget besides, or thinking that finds its own measure."""
    word = request.effort
    if word not in BUDGETS or request.budget is not None:
        return request
    budget = BUDGETS[word]
    if target.dialect.effort_beside:
        reason = f"{target.model} thinks only within a budget, whatever its effort: {budget} tokens"
        _tell(notes, "budget", "synthesised", reason)
        return replace(request, budget=budget)
    if target.dialect.effort_budget:
        _tell(notes, "effort", "substituted", f"{target.model} takes a budget, not an effort: {budget} tokens")
        return replace(request, effort=None, budget=budget)
    if target.dialect.thinking_form in ("adaptive", "either"):
        kept = request.opaque or {}
        own = {"thinking": {"type": "adaptive"}, **kept.get(target.wire, {})}
        return replace(request, opaque={**kept, target.wire: own})
    return request


def _limited(request: Request, most: int, notes: list[Note]) -> Request:
    """A limit where nobody said one: what a long answer needs beside the thinking, or half of what there is."""
    budget = request.budget or 0
    whole = min(most, ANSWER + budget)
    _tell(notes, "max_output", "synthesised", f"this wire wants a limit: {whole} tokens")
    if budget and whole - budget < LEAST:
        said = f"the model answers at most {most} tokens, thinking included: {whole // 2} are left to think"
        _tell(notes, "budget", "clamped", said, loss=True)
        request = replace(request, budget=whole // 2)
    return replace(request, max_output=whole)


def _said(request: Request, target: Target, key: str) -> bool:
    return key in (request.opaque or {}).get(target.wire, {})


def _room(request: Request, most: int | None, notes: list[Note]) -> Request:
    budget, limit = request.budget, request.max_output
    if budget is None:
        return request
    if budget < LEAST:
        _tell(notes, "budget", "clamped", f"thinking takes at least {LEAST} tokens")
        budget = LEAST
    if limit is not None and limit <= budget:
        whole = limit + budget if most is None else max(min(limit + budget, most), LEAST + 1)
        kept = min(budget, max(whole - limit, LEAST))
        if kept != budget:
            reason = f"the model answers at most {most} tokens, thinking included: {kept} are left to think"
            _tell(notes, "budget", "clamped", reason, loss=True)
        _tell(notes, "max_output", "substituted", f"thinking counts within the limit here: {whole} tokens")
        budget, limit = kept, whole
    return replace(request, budget=budget, max_output=limit)


def _tell(notes: list[Note], field: str, action: Action, reason: str, *, loss: bool = False) -> None:
    notes.append(Note(path=(field,), action=action, reason=reason, loss=loss))
