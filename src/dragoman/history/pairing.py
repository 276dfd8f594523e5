"""Calls and their results: which belongs to which, and what is missing, doubled or out of place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from dragoman.history.rules import Finding, find
from dragoman.types.note import Path

ADJACENT = frozenset({"chat", "messages"})  # wires that want results directly after their calls


class Call:
    """A call, the run of assistant messages it stands in, and its results in the order they came."""

    __slots__ = ("doubled", "id", "name", "optional", "path", "results", "run")

    def __init__(self, path: Path, id: str, name: str = "") -> None:
        self.path = path
        self.id = id
        self.name = name
        self.run = 0
        self.optional = False  # the server may answer it itself
        self.doubled = False  # an earlier call of the same run has its id
        self.results: list[Result] = []


class Result:
    """A result and the call it answers; None for an orphan."""

    __slots__ = ("apart", "call", "id", "path", "spoken")

    def __init__(self, path: Path, id: str) -> None:
        self.path = path
        self.id = id
        self.call: Call | None = None
        self.apart = False  # something stands between it and its call
        self.spoken = False  # and that is what somebody says between two results of one batch


class Step:
    """One message as pairing sees it. `role` is assistant, tool, or any other; `speaks`: it holds what was said."""

    __slots__ = ("calls", "results", "role", "speaks")

    def __init__(self, role: str) -> None:
        self.role = role
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self.speaks = False


class Pairs:
    """All calls and results of a conversation, linked, in linear time.

    Ids repeat across turns: a result answers the latest open call of its id. A call answered twice in one run of
    results has two, and the last one counts; a second answer after somebody else spoke answers nothing, so that a
    longer history changes nothing before it.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self._open: dict[str, deque[Call]] = {}
        self._run = 0
        self._last: dict[str, Call] = {}  # id → its last call in the latest run
        self._waiting: deque[Call] = deque()  # the calls of the latest run, for results that name none
        self._heard = False  # whether a call of the latest run was answered
        self._broken = True  # whether somebody spoke since the latest run
        self._left = True  # and did so in a message of his own
        self._before = ""
        for step in steps:
            self._take(step)

    def _take(self, step: Step) -> None:
        if step.role == "assistant":
            if self._before != "assistant":
                self._run += 1
                self._last, self._waiting = {}, deque()
                self._heard = self._broken = self._left = False
            for call in step.calls:
                self._ask(call)
        elif step.role != "tool":
            self._broken = self._left = True
        for result in step.results:
            self._answer(result)
        if step.speaks and step.role != "assistant":
            self._broken = True
        self._before = step.role

    def _ask(self, call: Call) -> None:
        call.run = self._run
        call.doubled = call.id in self._last
        same = self._open.get(call.id)
        if not call.doubled or same is None:
            same = self._open[call.id] = deque()
        same.append(call)
        self._last[call.id] = call
        self._waiting.append(call)
        self.calls.append(call)

    def _answer(self, result: Result) -> None:
        self.results.append(result)
        call = self._called(result.id)
        if call is None:
            return
        result.call = call
        result.apart = self._broken or call.run != self._run
        result.spoken = result.apart and call.run == self._run and self._heard
        self._heard = self._heard or call.run == self._run
        call.results.append(result)

    def _called(self, id: str) -> Call | None:
        if not id:
            while self._waiting and self._waiting[0].results:
                self._waiting.popleft()
            return self._waiting[0] if self._waiting else None
        same = self._open.get(id)
        while same and same[0].results:  # answered by a result that named no call
            same.popleft()
        if same:
            return same.popleft()
        return None if self._left else self._last.get(id)


def findings(pairs: Pairs, wire: str, *, kept: bool) -> Iterator[Finding]:
    """What is wrong with calls and results. `kept`: the server holds the rest, so halves of a pair are right."""
    for call in pairs.calls:
        if call.doubled:
            message = f"two calls of one turn have the id {call.id!r}: give each its own, and its result the same"
            yield find("duplicate-call-id", call.path, message)
        if not call.results and not kept and not call.optional:
            what = f"call {call.id!r}" + (f" of `{call.name}`" if call.name else "")
            yield find("orphan-call", call.path, f"{what} has no result: add one, if only to say that there was none")
        for result in call.results[:-1]:
            message = f"call {call.id!r} is answered again later: keep one result a call"
            yield find("duplicate-result", result.path, message)
    for result in pairs.results:
        yield from _result_findings(result, wire, kept=kept)


def _result_findings(result: Result, wire: str, *, kept: bool) -> Iterator[Finding]:
    call = result.call
    if call is None:
        if not kept or not result.id:
            named = f"the result of {result.id!r} answers no call before it" if result.id else "a result has no call"
            yield find("orphan-result", result.path, f"{named}: send the call too, or leave the result out")
        return
    if not result.id:
        yield find("result-without-id", result.path, f"a result does not name its call: say {call.id!r}")
    if wire not in ADJACENT or not result.apart or result is not call.results[-1]:
        return
    if result.spoken:
        message = f"somebody speaks between the results of one batch, before that of {call.id!r}: let him speak after"
        yield find("user-between-results", result.path, message)
    else:
        message = f"the result of {call.id!r} does not follow its call at once: put it behind the turn that calls"
        yield find("result-not-adjacent", result.path, message)
