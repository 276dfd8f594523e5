"""Consecutive requests compared, conversation by conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from dragoman.doctor.causes import ADVICE, Cause, cause
from dragoman.doctor.elements import SECTIONS, Element, elements
from dragoman.doctor.sent import Sent
from dragoman.doctor.words import difference
from dragoman.money.estimate import tokens
from dragoman.types.note import Path
from dragoman.types.reply import Usage

FALLEN = 0.5  # of what the cache held: a hit below it, with nothing moved, is worth telling
REPEATED = 3  # so many elements in common make a conversation, though tools and system prompt are others
HEAD = ("model", "form", "tools", "system")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The first element of `request` that is not what it was in `before`, the request before it in its conversation.

    `turn` counts in that conversation from 1. `cause` is a word of ADVICE, `seen` what it looked like, `advice` what to
    do. `tokens` had been cached and were read anew: derived from the hits that the service reported (`hit`: before, and
    now), else estimated from the length of what follows `path`, a place in the body.
    """

    request: str
    before: str
    turn: int
    path: Path
    cause: str
    seen: str
    advice: str
    tokens: int
    label: Literal["derived", "estimated"]
    hit: tuple[int, int] | None = None


class Exam(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in `requests` requests of `conversations` conversations."""

    requests: int
    conversations: int
    findings: tuple[Finding, ...] = ()

    @property
    def tokens(self) -> int:
        """The tokens that were read anew, in all."""
        return sum(finding.tokens for finding in self.findings)


class _Seen:
    """A request of a conversation, taken apart."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        self.turn = 1
        self.elements = elements(sent.body)
        self.said = Counter(element.spelled for element in self.elements if element.section == "messages")
        self.head = [element for element in self.elements if element.section in HEAD]

    def of(self, section: str) -> list[str]:
        """The elements of one section, as they are spelled."""
        return [element.spelled for element in self.head if element.section == section]


def examine(sent: Iterable[Sent]) -> Exam:
    """The exam of requests in the order in which they were sent (S3-44).

    A request belongs to the conversation of which it repeats most; one that repeats nothing begins another. Of each pair
    the first difference is found, since one change makes everything after it new. Cache markers are no difference, nor is
    what was added at the end, nor an end that was taken away.
    """
    last: list[_Seen] = []  # the latest request of each conversation, the most recent one at the end
    findings: list[Finding] = []
    requests = list(sent)
    for each in requests:
        now = _Seen(each)
        before = _before(now, last)
        if before is None:
            found = _heads(now, last)
        else:
            last.remove(before)
            now.turn = before.turn + 1
            found = _pair(before, now)
        if found is not None:
            findings.append(found)
        last.append(now)
    return Exam(requests=len(requests), conversations=len(last), findings=tuple(findings))


def _before(now: _Seen, last: Sequence[_Seen]) -> _Seen | None:
    """The request that this one goes on from."""
    best, most = None, 0
    for seen in reversed(last):
        shared = (seen.said & now.said).total()
        if shared > most and (shared >= REPEATED or _alike(seen, now)):
            best, most = seen, shared
    return best


def _alike(one: _Seen, other: _Seen) -> bool:
    """Whether two requests have the tools or the system prompt in common: neither means another agent."""
    return any(one.of(section) == other.of(section) for section in ("tools", "system"))


def _pair(before: _Seen, now: _Seen) -> Finding | None:
    at = _moved(before.elements, now.elements)
    if at is None:
        return _expired(before, now)
    if at == len(now.elements):  # an end that was taken away: all that is left was cached
        return None
    if before.elements[at].section == "settings" or now.elements[at].section == "settings":
        hits = _hits(before.sent.usage, now.sent.usage)
        if hits is not None and hits[1] >= hits[0]:  # this service does not mind
            return None
    return _finding(before, now, at, cause(before.elements, now.elements, at))


def _moved(old: Sequence[Element], new: Sequence[Element]) -> int | None:
    """The place of the first difference; None where `new` goes on from `old`."""
    for at, element in enumerate(old):
        if at >= len(new) or new[at].spelled != element.spelled or new[at].section != element.section:
            return at
    return None


def _finding(before: _Seen, now: _Seen, at: int, why: Cause) -> Finding:
    hits = _hits(before.sent.usage, now.sent.usage)
    lost = None if hits is None else _held(before.sent.usage) - hits[1]
    estimate = sum(tokens(element.spelled) for element in before.elements[at:])
    was, place = before.elements[at], now.elements[at] if at < len(now.elements) else before.elements[at]
    if SECTIONS.index(place.section) > SECTIONS.index(was.section):  # what was there went, and so did its section
        place = was
    return Finding(
        request=now.sent.name,
        before=before.sent.name,
        turn=now.turn,
        path=place.path,
        cause=why.name,
        seen=why.seen,
        advice=ADVICE[why.name],
        tokens=estimate if lost is None else max(lost, 0),
        label="estimated" if lost is None else "derived",
        hit=hits,
    )


def _expired(before: _Seen, now: _Seen) -> Finding | None:
    """Nothing moved, and yet the hit fell."""
    hits = _hits(before.sent.usage, now.sent.usage)
    if hits is None or hits[1] >= _held(before.sent.usage) * FALLEN:
        return None
    seen = f"nothing moved, and yet the hit fell: {hits[0]:,} → {hits[1]:,}"
    found = _finding(before, now, len(before.elements) - 1, Cause("expired", seen))
    return msgspec.structs.replace(found, path=())


def _heads(now: _Seen, last: Sequence[_Seen]) -> Finding | None:
    """Another conversation that would share its head with an earlier one, were it not for a time, an id or a number."""
    for seen in reversed(last):
        at = _moved(seen.head, now.head)
        if at is None:
            return None
        if at < len(now.head) and seen.head[at].section == now.head[at].section in ("tools", "system"):
            manner = difference(seen.head[at].spelled, now.head[at].spelled).manner
            if manner != "words":
                why = cause(seen.elements, now.elements, at)
                head = _finding(seen, now, at, why)
                lost = sum(tokens(element.spelled) for element in seen.head[at:])
                return msgspec.structs.replace(head, tokens=lost, label="estimated", hit=None)
    return None


def _held(usage: Usage | None) -> int:
    """What a service's cache held after a request: what it read from it, and what it wrote where that is told."""
    return 0 if usage is None else (usage.cache_read or 0) + (usage.cache_write or 0)


def _hits(before: Usage | None, now: Usage | None) -> tuple[int, int] | None:
    """The hit of a request and of the one after it; None where a service reports none, or had nothing to hit."""
    if before is None or now is None or now.cache_read is None or not _held(before):
        return None
    return before.cache_read or 0, now.cache_read
