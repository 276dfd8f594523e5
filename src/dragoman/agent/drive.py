"""Two thin drivers of the machine: they ask the model, ask for permission, and run the tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from dragoman.agent.arguments import check_manner
from dragoman.agent.crew import AsyncCrew, Crew
from dragoman.agent.gather import AsyncModel, Gather, OnEvent, SyncModel, aask, ask, ignore
from dragoman.agent.permission import Gate, Policy
from dragoman.agent.run import Run
from dragoman.agent.values import (
    Answer,
    Ask,
    Done,
    NeedModel,
    OpenCall,
    Outcome,
    Permit,
    Question,
    RunEnd,
    RunEvent,
    StepStart,
    ToolStart,
)
from dragoman.errors import UsageError
from dragoman.tools.base import Access, AnyTool, ToolOutput
from dragoman.tools.result import is_within
from dragoman.transport.cancel import CancelToken
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Usage

TOGETHER: frozenset[Access] = frozenset(
    {"read", "network"}
)  # calls that change nothing run at once; others alone, in order
Permitter: TypeAlias = Callable[[Question], Any]
Keeper: TypeAlias = Callable[[ToolCall, ToolOutput], str]


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a run is driven.

    `permit` is asked about calls that need it: True lets one run, False or words for the model do not; it may be async
    for `arun`. Without it nobody can be asked, and ask means deny. `cancel` stops the run, wherever it waits.
    `checkpoint` is called with the machine whenever its state has changed: before a tool runs, and after each result.
    `eager` starts a call that only reads as soon as its block is whole, while the reply still streams (S3-29).
    `tool_timeout` is for tools that have none of their own. `keep` puts a result that must be cut somewhere and says, for
    the model, where it can be read. `price` is what a reply cost, in nano-dollars, for the limit of `cost`.
    """

    permit: Permitter | None = None
    cancel: CancelToken | None = None
    checkpoint: Callable[[Run], object] | None = None
    eager: bool = False
    tool_timeout: float | None = None
    keep: Keeper | None = None
    price: Callable[[Reply], int | None] | None = None
    clock: Clock = SYSTEM

    def __post_init__(self) -> None:
        check_manner(self)


USUAL = Manner()


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `text` is the last answer, `history` what was stored; `incomplete` a reply that broke off.

    `detail` says why in words where the outcome is not "done", `limit` which limit was reached, `output` is the final
    tool's. A service that failed is an outcome, not an exception, because the history up to then is worth keeping.
    """

    outcome: Outcome
    text: str
    history: tuple[Message, ...]
    steps: int
    usage: Usage | None = None
    notes: tuple[Note, ...] = ()
    detail: str | None = None
    limit: str | None = None
    replies: tuple[Reply, ...] = ()
    incomplete: Reply | None = None
    output: dict[str, Any] | None = None


def run(
    machine: Run,
    model: SyncModel,
    tools: Sequence[AnyTool] = (),
    *,
    on_event: OnEvent | None = None,
    manner: Manner = USUAL,
) -> RunResult:
    """Drive `machine` to its end. `on_event` sees each event of model and tools as it comes.

    Calls that only read run at once, each other one alone and in its place; results are stored in the order of the calls.
    Whatever is raised on the way (an interrupt, a missing key), every call in `machine.history` has its result. A machine
    without a judge gets the usual policy. Raises UsageError where a tool of the request has nothing to run it.
    """
    drive = _Drive(machine, tools, on_event or ignore, manner)
    crew = Crew(manner.cancel)
    try:
        while not isinstance(need := drive.next(), Done):
            if isinstance(need, NeedModel):
                gather = drive.gather(crew)
                try:
                    ask(model, need.request, gather, manner.cancel, drive.is_late)
                except BaseException:
                    if gather.seen:
                        drive.take(gather, crew)
                    raise
                drive.take(gather, crew)
            elif isinstance(need, Ask):
                for question in need.questions:
                    drive.permitted(question, _answer(manner.permit, question))
            else:
                for group in drive.groups(need.calls):
                    _run_group(drive, crew, group)
        return drive.result(need)
    finally:
        _stop(drive, crew)


async def arun(
    machine: Run,
    model: AsyncModel,
    tools: Sequence[AnyTool] = (),
    *,
    on_event: OnEvent | None = None,
    manner: Manner = USUAL,
) -> RunResult:
    """As `run`, for an async model: tools are tasks, sync ones run in threads."""
    drive = _Drive(machine, tools, on_event or ignore, manner)
    crew = AsyncCrew(manner.cancel)
    try:
        while not isinstance(need := drive.next(), Done):
            if isinstance(need, NeedModel):
                gather = drive.gather(crew)
                try:
                    await aask(model, need.request, gather, manner.cancel, drive.is_late)
                except BaseException:
                    if gather.seen:
                        drive.take(gather, crew)
                    raise
                drive.take(gather, crew)
            elif isinstance(need, Ask):
                for question in need.questions:
                    said = _answer(manner.permit, question)
                    drive.permitted(question, await said if inspect.isawaitable(said) else said)
            else:
                for group in drive.groups(need.calls):
                    drive.begin(group, crew)
                    while crew.working or crew.ready:
                        await crew.wait()
                        drive.answer(crew)
                        if crew.stopped:
                            await crew.stop()
        return drive.result(need)
    finally:
        try:
            await crew.stop()
        finally:
            drive.finish(crew)


class _Drive:
    """What both drivers do with the machine between their waits."""

    def __init__(self, machine: Run, tools: Sequence[AnyTool], emit: OnEvent, manner: Manner) -> None:
        self.machine = machine
        self.manner = manner
        self._emit = emit
        self._table = {item.definition.name: item for item in tools}
        self._early: dict[int, ToolCall] = {}
        self._since = manner.clock.now()
        if lacking := [name for name in machine.offered if name not in self._table]:
            raise UsageError("usage", f"tool {lacking[0]!r} is offered to the model, and nothing was passed to run it")
        if machine.judge is None:
            machine.judge = Gate(Policy(), tools)

    def next(self) -> Any:
        """What is needed now."""
        self._clock_in()
        if self.manner.cancel is not None and self.manner.cancel.cancelled:
            self.machine.cancel()
        need = self.machine.step()
        if isinstance(need, NeedModel):
            self._changed()
            self._emit(StepStart(number=len(self.machine.replies) + 1, request=need.request))
        return need

    def gather(self, crew: Crew | AsyncCrew) -> Gather:
        """What the next reply is gathered in; its calls may begin while it streams."""
        self._early = {}

        def begin(position: int, call: ToolCall) -> None:
            arguments = self.machine.would_run(call)
            if arguments is not None and self._may_share(call.name):
                self._early[position] = call
                self._emit(ToolStart(call=call))
                crew.start(position, self._table[call.name], arguments, self._seconds(call.name))

        return Gather(self._emit, begin if self.manner.eager else None)

    def take(self, gather: Gather, crew: Crew | AsyncCrew) -> None:
        """Give the machine the reply. What began early and has no place in it is stopped."""
        self._clock_in()
        crew.look()
        machine, reply = self.machine, gather.reply
        if self.manner.price is not None:
            machine.spend(nanodollars=self.manner.price(reply) or 0)
        calls = reply.calls
        begun = {*self._early, *crew.working, *crew.ready}
        kept = {at for at, call in self._early.items() if at < len(calls) and _same(calls[at], call)}
        lost = sorted(begun - kept)
        broken = reply.stop.reason in ("error", "cancelled")
        for position in [*crew.working] if broken else lost:
            if position in crew.working:
                crew.working.pop(position).token.cancel()
        early = {at: self._kept(calls[at], output) for at, output in crew.ready.items() if at not in lost}
        if broken or lost:
            for position in [*crew.ready] if broken else lost:
                crew.ready.pop(position, None)
                self._early.pop(position, None)
        machine.notes.extend(note for note in dict.fromkeys(gather.notes) if note not in machine.notes)
        self._show(machine.give(reply, early=early if broken else None))

    def is_late(self) -> bool:
        """Whether the time of the whole run is up."""
        limit = self.machine.limits.seconds
        return limit is not None and self.machine.seconds + self.manner.clock.now() - self._since >= limit

    def permitted(self, question: Question, said: bool | str | None) -> None:
        """Give the machine what was said to a question; None: nobody could be asked."""
        reason = said if isinstance(said, str) else "it was refused" if said is False else None
        self._show(self.machine.give(Permit(position=question.position, allowed=said is True, reason=reason)))

    def groups(self, calls: Iterable[OpenCall]) -> Iterator[tuple[OpenCall, ...]]:
        """Neighbours that only read, together; each other call alone; none once the run is cancelled."""

        def alone(item: OpenCall) -> int:
            return -1 if self._may_share(item.call.name) else item.position

        for _, group in groupby(calls, key=alone):
            waiting = {item.position for item in self.machine.open}
            if self.manner.cancel is not None and self.manner.cancel.cancelled:
                return
            yield tuple(item for item in group if item.position in waiting)

    def begin(self, group: tuple[OpenCall, ...], crew: Crew | AsyncCrew) -> None:
        """Set the tools of a group to work, those that are not yet."""
        for item in group:
            shown = self.machine.begin(item.position)
            if self._early.pop(item.position, None) is None:
                self._show(shown)
                tool = self._table[item.call.name]
                crew.start(item.position, tool, item.arguments, self._seconds(item.call.name))

    def alone(self, item: OpenCall) -> AnyTool | None:
        """The tool that may run in the caller's own thread: nothing could end it there but itself."""
        if self.manner.cancel is not None or item.position in self._early or self._seconds(item.call.name) is not None:
            return None
        return self._table[item.call.name]

    def start(self, item: OpenCall) -> None:
        """The call runs from now on."""
        self._show(self.machine.begin(item.position))

    def answer(self, crew: Crew | AsyncCrew) -> None:
        """Give the machine what is ready."""
        for position in [*crew.ready]:
            self.answered(position, crew.ready.pop(position))

    def answered(self, position: int, output: ToolOutput) -> None:
        """Give the machine one output."""
        waiting = {item.position: item.call for item in self.machine.open}
        if position in waiting:
            kept = self._kept(waiting[position], output)
            self._show(self.machine.give(Answer(position=position, output=kept)))

    def finish(self, crew: Crew | AsyncCrew) -> None:
        """The end, however it came: what is ready is kept, every other open call is answered."""
        self._clock_in()
        if not self.machine.ended:
            self.answer(crew)
        self.machine.cancel()
        self._changed()

    def result(self, done: Done) -> RunResult:
        """What a machine that is done has come to."""
        self._emit(RunEnd(done=done))
        return result(self.machine, done)

    def _may_share(self, name: str) -> bool:
        traits = self._table[name].traits
        return traits.access in TOGETHER and not traits.alone

    def _seconds(self, name: str) -> float | None:
        own, limit = self._table[name].traits.timeout or self.manner.tool_timeout, self.machine.limits.seconds
        left = None if limit is None else max(limit - self.machine.seconds, 0.1)
        return min((seconds for seconds in (own, left) if seconds is not None), default=None)

    def _kept(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        if self.manner.keep is None or output.rest is not None or is_within(output, self.machine.limits.result):
            return output
        return msgspec.structs.replace(output, rest=self.manner.keep(call, output))

    def _show(self, events: tuple[RunEvent, ...]) -> None:
        self._changed()
        for event in events:
            self._emit(event)

    def _changed(self) -> None:
        if self.manner.checkpoint is not None:
            self.manner.checkpoint(self.machine)

    def _clock_in(self) -> None:
        now = self.manner.clock.now()
        self.machine.spend(now - self._since)
        self._since = now


def result(machine: Run, done: Done) -> RunResult:
    """What a machine that is done has come to."""
    last = machine.replies[-1] if machine.replies else None
    return RunResult(
        outcome=done.outcome,
        text=last.text if last else "",
        history=tuple(machine.history),
        steps=len(machine.replies),
        usage=machine.usage,
        notes=tuple(machine.notes),
        detail=done.detail,
        limit=done.limit,
        replies=tuple(machine.replies),
        incomplete=machine.incomplete,
        output=machine.output,
    )


def _run_group(drive: _Drive, crew: Crew, group: tuple[OpenCall, ...]) -> None:
    if len(group) == 1 and (tool := drive.alone(group[0])) is not None:
        drive.start(group[0])
        drive.answered(group[0].position, tool.invoke(group[0].arguments))
        return
    drive.begin(group, crew)
    while crew.working or crew.ready:
        crew.wait()
        drive.answer(crew)
        if crew.stopped:
            crew.stop()


def _stop(drive: _Drive, crew: Crew) -> None:
    try:
        crew.stop()
    finally:
        drive.finish(crew)


def _answer(permit: Permitter | None, question: Question) -> Any:
    return None if permit is None else permit(question)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return (one.id, one.name, one.arguments) == (other.id, other.name, other.arguments)
