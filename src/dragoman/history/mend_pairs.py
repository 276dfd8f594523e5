"""Calls and results brought together again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from dragoman.history.draft import Draft, Placed, Turn
from dragoman.history.pairing import ADJACENT, Call, Pairs, Result
from dragoman.history.view import SPOKEN, is_blank, steps
from dragoman.types.content import Content, Json, Text, ToolCall, ToolResult
from dragoman.types.note import Path

NOTHING = "No result provided"  # dialects §8e.1
SAYS_ERROR = frozenset({"messages"})  # wires with an error flag on results (S0-49, C-14)

Spot = tuple[int, int]  # a turn of the draft and a block of it


def mend_pairs(draft: Draft) -> None:
    """One result a call, directly after its turn where the wire wants that, and no result without a call.

    A result without a call becomes a user's text: what it says may matter, and as a result it would be refused
    (REQ-002). Of the order of results within a batch nothing is changed.
    """
    pairs = Pairs(steps(draft.turns))
    _name(draft, pairs)
    plan = _Plan(draft, pairs)
    if plan.needed:
        draft.turns = plan.carried_out()


def drop_calls(draft: Draft, spots: set[Spot]) -> None:
    """Take calls away with all their results: never half a pair (C-07)."""
    gone = set(spots)
    for call in Pairs(steps(draft.turns)).calls:
        if _spot(call.path) in spots:
            gone.update(_spot(result.path) for result in call.results)
    for at, turn in enumerate(draft.turns):
        for inner, path in enumerate(turn.paths):
            if (at, inner) in gone:
                draft.notes.add(path, "dropped", "a part of a turn that was not finished")
        turn.blocks = [placed for inner, placed in enumerate(turn.blocks) if (at, inner) not in gone]


def _name(draft: Draft, pairs: Pairs) -> None:
    """Ids for calls that share one, and for results that have none."""
    taken: dict[int, set[str]] = {}  # ids of one run of assistant messages: what follows cannot change them
    counts: dict[tuple[int, str], int] = {}
    elsewhere = {result.id for result in pairs.results if result.call is None} if draft.kept else set[str]()
    for call in pairs.calls:
        taken.setdefault(call.run, set()).add(call.id)
    for call in pairs.calls:
        if call.doubled:
            count = counts.get((call.run, call.id), 1) + 1
            while f"{call.id}_{count}" in taken[call.run] or f"{call.id}_{count}" in elsewhere:
                count += 1
            counts[call.run, call.id] = count
            call.id = f"{call.id}_{count}"
            _rename(draft, call.path, "id", call.id, "another call of this turn has this id")
        for result in call.results:
            if result.id != call.id:
                reason = "it follows its call" if result.id else "a result that names no call answers the next open one"
                _rename(draft, result.path, "call_id", call.id, reason)
                result.id = call.id


def _rename(draft: Draft, path: Path, key: str, value: str, reason: str) -> None:
    at, inner = _spot(path)
    turn = draft.turns[at]
    draft.notes.add((*turn.paths[inner], key), "renamed", reason, loss=False)
    turn.content[inner] = msgspec.structs.replace(turn.content[inner], **{key: value})


class _Plan:
    """What goes, what comes, and where; then one walk that does it."""

    def __init__(self, draft: Draft, pairs: Pairs) -> None:
        self._draft = draft
        self._adjacent = draft.wire in ADJACENT
        self._gone: set[Spot] = set()
        self._said: dict[int, list[Placed]] = {}  # turn → results without a call, as a user's words
        self._coming: dict[int, list[Turn]] = {}  # last turn of a run of assistant messages → results for it
        self._moved: set[int] = set()  # turns that go elsewhere whole
        ends = _ends(draft.turns)
        for result in pairs.results:
            if result.call is None:
                if not draft.kept or not result.id:
                    self._orphan(result)
            elif result is not result.call.results[-1]:
                self._drop(result, f"call {result.id!r} is answered again later: the last answer stays")
        for call in pairs.calls:
            self._bring(call, ends[_spot(call.path)[0]])
        self.needed = bool(self._gone or self._coming) or (self._adjacent and self._is_interrupted())

    def carried_out(self) -> list[Turn]:
        """The turns as they should be."""
        out: list[Turn] = []
        run: list[Turn] = []  # the results after a run of assistant messages
        after: list[Turn] = []  # what is said after them
        coming: list[Turn] = []
        before = ""
        for at, turn in enumerate(self._draft.turns):
            if at in self._moved:
                continue
            goes_on = turn.role == before == "assistant"
            before = turn.role
            if turn.role != "tool" and not goes_on:
                out += [*self._closed(run, coming), *after]
                run, after, coming = [], [], []
            had = bool(turn.content)
            turn.blocks = [placed for inner, placed in enumerate(turn.blocks) if (at, inner) not in self._gone]
            if turn.content or not had:
                (run if turn.role == "tool" else out).append(turn)
            coming += self._coming.get(at, [])
            if at in self._said:
                after.append(Turn.of("user", self._said[at]))
        return [*out, *self._closed(run, coming), *after]

    def _orphan(self, result: Result) -> None:
        at, inner = spot = _spot(result.path)
        path, block = self._draft.turns[at].paths[inner], self._draft.turns[at].content[inner]
        assert isinstance(block, ToolResult)
        self._gone.add(spot)
        words = as_words(block)
        if not words:
            self._draft.notes.add(path, "dropped", "a result without a call and without a word", loss=False)
            return
        self._draft.notes.add(path, "substituted", "a result without a call before it became a user's text")
        self._said.setdefault(at, []).extend((path, word) for word in words)

    def _drop(self, result: Result, reason: str) -> None:
        at, inner = spot = _spot(result.path)
        self._gone.add(spot)
        self._draft.notes.add(self._draft.turns[at].paths[inner], "dropped", reason)

    def _bring(self, call: Call, end: int) -> None:
        if not call.results:
            if not self._draft.kept:
                self._coming.setdefault(end, []).append(self._made(call))
            return
        result = call.results[-1]
        if not self._adjacent or not result.apart:
            return
        at, inner = spot = _spot(result.path)
        turn = self._draft.turns[at]
        reason = f"the result of {call.id!r} belongs directly behind its call's turn"
        self._draft.notes.add(turn.paths[inner], "moved", reason, loss=False)
        coming = self._coming.setdefault(end, [])
        if len(turn.content) == 1:
            self._moved.add(at)
            coming.append(turn)
            return
        self._gone.add(spot)
        coming.append(Turn.of("tool", [(turn.paths[inner], turn.content[inner])]))

    def _made(self, call: Call) -> Turn:
        at, inner = _spot(call.path)
        path, block = self._draft.turns[at].paths[inner], self._draft.turns[at].content[inner]
        assert isinstance(block, ToolCall)
        self._draft.notes.add(
            path, "synthesised", f"call {call.id!r} has no result: it got one that says so", loss=False
        )
        is_error = True if self._draft.wire in SAYS_ERROR else None
        said = ToolResult(call_id=call.id, content=(Text(text=NOTHING),), is_error=is_error, kind=block.kind)
        return Turn.of("tool", [(path, said)])

    def _closed(self, run: list[Turn], coming: list[Turn]) -> list[Turn]:
        """A run of results with those that come; what is said among them follows them."""
        run = [*run, *coming]
        if not self._adjacent or len(run) < 2:
            return run
        spoken: list[Placed] = []
        for turn in run[:-1]:
            spoken += [placed for placed in turn.blocks if isinstance(placed[1], SPOKEN)]
            turn.blocks = [placed for placed in turn.blocks if not isinstance(placed[1], SPOKEN)]
        for path, _ in spoken:
            self._draft.notes.add(path, "moved", "it stood between the results of one batch (S0-44)", loss=False)
        last = run[-1].blocks
        answers = [placed for placed in last if not isinstance(placed[1], SPOKEN)]
        run[-1].blocks = [*answers, *spoken, *(placed for placed in last if isinstance(placed[1], SPOKEN))]
        return [turn for turn in run if turn.content or not turn.message.content]

    def _is_interrupted(self) -> bool:
        """Whether somebody speaks in a message of results that is not the last of its run."""
        turns = self._draft.turns
        return any(
            turn.role == after.role == "tool" and any(isinstance(block, SPOKEN) for block in turn.content)
            for turn, after in pairwise(turns)
        )


def as_words(result: ToolResult) -> list[Content]:
    """What a result says, as a user may say it: marked, so that it is not taken for the user's own word."""
    words: list[Content] = []
    for item in result.content:
        if isinstance(item, Json):
            words.append(Text(text=item.value, cache=item.cache))
        elif not is_blank(item):
            words.append(item)
    if not words:
        return []
    label = result.name or result.call_id
    head = f"(result of an earlier tool call{f' {label}' if label else ''})"
    first = words[0]
    if isinstance(first, Text):
        words[0] = msgspec.structs.replace(first, text=f"{head}\n{first.text}")
    else:
        words.insert(0, Text(text=head))
    if result.cache is not None:
        words[-1] = msgspec.structs.replace(words[-1], cache=result.cache)
    return words


def _ends(turns: Sequence[Turn]) -> list[int]:
    """For each turn the last one of its run of assistant messages."""
    ends = list(range(len(turns)))
    for at in range(len(turns) - 2, -1, -1):
        if turns[at].role == turns[at + 1].role == "assistant":
            ends[at] = ends[at + 1]
    return ends


def _spot(path: Path) -> Spot:
    return int(path[1]), int(path[3])
