"""The loop as a machine: it says what it needs next, is given it, and does nothing else itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.agent.calls import LOST, Batch, Offer, final_answers, ran_part, slots_of, too_often
from dragoman.agent.fit import fitted, whole
from dragoman.agent.usage import total
from dragoman.agent.values import (
    Answer,
    Ask,
    Done,
    Judge,
    Judgement,
    Limits,
    NeedModel,
    NeedTools,
    OpenCall,
    Outcome,
    Permit,
    Repeat,
    RunEvent,
    RunState,
    Slot,
    ToolEnd,
    ToolStart,
)
from dragoman.agent.watch import counted, key_of, spent
from dragoman.errors import UsageError
from dragoman.history.append import enqueue
from dragoman.tools.base import ToolOutput
from dragoman.tools.result import failed
from dragoman.tools.words import names
from dragoman.types.content import Content, Foreign, HostedCall, HostedResult, Json, Media, Refusal, Text, ToolCall
from dragoman.types.message import Message, system, tool
from dragoman.types.note import Note
from dragoman.types.reply import Reply, StopReason, Usage
from dragoman.types.request import Request
from dragoman.types.tool import ToolChoice

# How a reply without calls ends the run; every other reason is "done", save `pause`, after which the model goes on.
OUTCOMES: dict[StopReason, Outcome] = {
    "length": "truncated",
    "context": "truncated",
    "refusal": "refused",
    "filter": "refused",
    "malformed": "failed",
    "error": "failed",
    "cancelled": "cancelled",
    "tool_calls": "failed",
}
BROKEN: frozenset[StopReason] = frozenset({"error", "cancelled"})  # what arrived is not a finished turn
CUT: frozenset[StopReason] = frozenset({"length", "context"})  # the last call may have lost its end
STORED = ("user", "assistant", "tool")


class Run:
    """One run over `request`: its messages are what was said so far, its tools what may be called.

    `step` says what is needed; `give` it; until `step` says Done. A leading system message is sent with each request
    and never stored; what is stored is user, assistant and tool messages only (C-26), in `history`: a call is there
    before its tool can run (S0-65), and each call gets exactly one result, in the order of the calls (S0-45, S0-48).
    `first_choice` is the tool choice of the first step alone. `judge` says of each call whether it may run (S4-35);
    without one every call of an offered tool may, and whoever drives the machine answers for it. A call of the tool
    named `final` is not run: its arguments are the run's `output`, and other calls of that turn are not run either
    (STO-004). `state` is all of it as a plain value, at any point. Raises UsageError for any other role in the history.
    """

    def __init__(
        self,
        request: Request,
        *,
        limits: Limits | None = None,
        first_choice: ToolChoice | None = None,
        final: str | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.history: list[Message] = []
        self.replies: list[Reply] = []
        self.notes: list[Note] = []
        self.incomplete: Reply | None = None  # a reply that broke off or said nothing: kept, but not a turn
        self.output: dict[str, Any] | None = None
        self.judge = judge
        self.limits = limits or Limits()
        self.seconds = 0.0
        self.charged = 0  # nano-dollars, where whoever drives knows prices
        self._system = request.system
        self._settings = request.with_system(None)
        self._first = first_choice
        self._offer = Offer(request.tools or (), final)
        self._batch = self._batch_of([])
        self._ids: set[str] = set()  # of all calls in the history
        self._repeats: dict[str, Repeat] = {}
        self._queued: list[Message] = []
        self._sent = 0  # messages of the history that a model has seen
        self._empties = 0
        self._pending: Done | None = None  # how the run ends once the calls of its last turn are answered
        self._end: Done | None = None
        for message in self._settings.messages:
            self._store(message)

    @classmethod
    def resume(cls, state: RunState, *, judge: Judge | None = None) -> Run:
        """The run of a `state`. A call that had begun is not run again: its result says that it may have run."""
        run = cls(state.request, limits=state.limits, first_choice=state.first_choice, final=state.final, judge=judge)
        run.replies, run.notes, run._queued = list(state.replies), list(state.notes), list(state.queued)
        run.incomplete, run.output, run.seconds, run._sent = state.incomplete, state.output, state.seconds, state.sent
        run.charged = state.charged
        run._repeats, run._empties = dict(state.repeats), state.empties
        run._pending, run._end = state.pending, state.end
        run._batch = run._batch_of(state.batch)
        for item in run._batch.open:
            if item.began:
                run._answered(item.position, failed(LOST))
        return run

    @property
    def state(self) -> RunState:
        """This run as a plain value."""
        return RunState(
            request=self.request,
            limits=self.limits,
            first_choice=self._first,
            final=self._offer.final,
            replies=tuple(self.replies),
            notes=tuple(self.notes),
            incomplete=self.incomplete,
            batch=tuple(self._batch.slots),
            repeats=dict(self._repeats),
            queued=tuple(self._queued),
            sent=self._sent,
            empties=self._empties,
            seconds=self.seconds,
            charged=self.charged,
            output=self.output,
            pending=self._pending,
            end=self._end,
        )

    @property
    def request(self) -> Request:
        """The conversation as it stands, as a request: what is sent next, and what is saved (S0-16, S0-17, C-18)."""
        head = () if self._system is None else (system(self._system),)
        choice = self._settings.tool_choice or (ToolChoice(mode="auto") if self._settings.tools else None)
        return msgspec.structs.replace(
            self._settings,
            messages=(*head, *self.history),
            tools=self._settings.tools or None,
            tool_choice=choice if self._settings.tools else None,
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the tools that may run."""
        return self._offer.runnable

    @property
    def open(self) -> tuple[OpenCall, ...]:
        """The calls that wait for their result."""
        return self._batch.open

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._end is not None

    @property
    def queued(self) -> tuple[Message, ...]:
        """What was said to the run and not yet to the model."""
        return tuple(self._queued)

    @property
    def usage(self) -> Usage | None:
        """The sum over all replies; None when none was reported."""
        return total(reply.usage for reply in self.replies)

    def say(self, message: Message) -> None:
        """Queue a user's message: the model reads it with its next request, after the results it waits for. A run that
        would end goes on with it. Raises UsageError for another role, and once the run is over.
        """
        if message.role != "user":
            raise UsageError("usage", f"only a user speaks in the middle of a run, not {message.role!r}")
        self._must_run()
        self._queued.append(message)

    def step(self) -> NeedModel | NeedTools | Ask | Done:
        """What is needed now. Asking twice without giving says the same again."""
        if self._end is not None:
            return self._end
        if self._batch.open:
            questions = self._batch.questions()
            return Ask(questions=questions) if questions else NeedTools(calls=self._batch.open)
        self._end = self._pending or spent(self.limits, self.replies, self.seconds, self.charged)
        if self._end is not None:
            return self._end
        self.history[:] = enqueue(self.history, self._queued, sent=self._sent)
        self._queued.clear()
        self._sent = len(self.history)
        request = self.request
        if self._forced:
            request = msgspec.structs.replace(request, tool_choice=self._first)
        return NeedModel(request=request)

    def begin(self, position: int) -> tuple[RunEvent, ...]:
        """The call at `position` is about to run: from now on, a run that is resumed does not run it again."""
        self._batch.began(position)
        return (ToolStart(call=self._batch.slots[position].call),)

    def give(
        self, value: Reply | Answer | Permit, *, early: Mapping[int, ToolOutput] | None = None
    ) -> tuple[RunEvent, ...]:
        """Take what `step` asked for. Returns what there is to show: the calls that were refused, or the result.

        `early` are the outputs of calls that ran before their reply came to its end. If it broke off, they and what was
        said before them are a turn of their own, and all else that arrived is `incomplete`.
        """
        self._must_run()
        if isinstance(value, Permit):
            return self._permit(value)
        if isinstance(value, Answer):
            return (self._answered(value.position, value.output),)
        return self._replied(whole(value), early or {})

    def would_run(self, call: ToolCall) -> dict[str, Any] | None:
        """The arguments of a call that, were its reply at its end, would run without anybody being asked; else None."""
        read = self._offer.read(call)
        if isinstance(read, str) or call.name == self._offer.final:
            return None
        seen = self._repeats.get(key_of(call, read.arguments))
        if self._batch.judged(call, read.arguments).verdict != "allow" or (
            seen and too_often(self.limits, call, seen.count)
        ):
            return None
        return read.arguments

    def spend(self, seconds: float = 0.0, nanodollars: int = 0) -> None:
        """Time that passed and money that was charged: a machine has neither a clock nor prices of its own."""
        self.seconds += seconds
        self.charged += nanodollars

    def cancel(self, reason: str = "cancelled by user", *, done: Done | None = None) -> None:
        """End the run now. Results that came are kept, every open call is answered with `reason` (S0-48); once over, no-op.

        `done` says how it ended, where that is not "cancelled".
        """
        if self._end is not None:
            return
        for item in self._batch.open:
            self._answered(item.position, failed(f"{reason}: no result"))
        self._end = done or Done(outcome="cancelled", detail=reason)

    @property
    def _forced(self) -> bool:
        return self._first is not None and bool(self._settings.tools) and not self.replies

    def _batch_of(self, slots: Sequence[Slot]) -> Batch:
        return Batch(slots, limits=self.limits, judge=self._say_whether)

    def _say_whether(self, call: ToolCall, arguments: dict[str, Any]) -> Judgement:
        return Judgement(verdict="allow") if self.judge is None else self.judge(call, arguments)

    def _must_run(self) -> None:
        if self._end is not None:
            raise UsageError("usage", "the run is over: start another with its request")

    def _check_choice(self, calls: tuple[ToolCall, ...]) -> None:
        """A model that does not do what it was told is no fault of the run: the reply counts as any other (S1-16)."""
        choice = self._first if self._forced else self._settings.tool_choice
        if choice is None or choice.mode != "required" or not self._settings.tools:
            return
        if not any(not choice.names or call.name in choice.names for call in calls):
            wanted = names(choice.names) if choice.names else "a tool"
            reason = f"forced tool not honoured: the model was to call {wanted} and did not"
            self.notes.append(Note(path=("tool_choice",), action="dropped", reason=reason, loss=False))

    def _replied(self, reply: Reply, early: Mapping[int, ToolOutput]) -> tuple[RunEvent, ...]:
        broken = reply.stop.reason in BROKEN
        if not broken:
            self._check_choice(reply.calls)
        self.replies.append(reply)
        says = bool(reply.calls) or _says_something(reply.message.content)
        if broken or not says:
            self.incomplete = reply
        self._empties = 0 if says or broken else self._empties + 1
        events: tuple[RunEvent, ...] = ()
        if broken:
            events = self._salvaged(reply, early)
        elif reply.calls:
            events = self._opened(reply)
        elif says:
            self._take(reply.message)
        if (broken or not reply.calls) and reply.stop.reason != "pause":
            self._end = self._pending = self._ending(reply)
        return events

    def _store(self, message: Message) -> None:
        if message.role not in STORED:
            fix = "the system prompt is the leading system message of the request"
            raise UsageError("usage", f"a history holds user, assistant and tool messages, not {message.role!r}: {fix}")
        self.history.append(message)
        self._ids.update(block.id for block in message.content if isinstance(block, ToolCall))

    def _take(self, message: Message) -> Message:
        """Store what the model said, in a form that can be sent anywhere."""
        if message.role != "assistant":
            message = msgspec.structs.replace(message, role="assistant")
        message, changes = fitted(message, self._ids)
        self._store(message)
        self._note(changes)
        return message

    def _note(self, reasons: Sequence[str]) -> None:
        path = ("messages", len(self.history) - 1 + (self._system is not None))
        self.notes += [Note(path=path, action="substituted", reason=reason, loss=False) for reason in reasons]

    def _opened(self, reply: Reply) -> tuple[RunEvent, ...]:
        """Sort the calls of a reply: those that may run are open, each other one has its error result at once."""
        ids = [block.id for block in self._take(reply.message).content if isinstance(block, ToolCall)]
        calls = [msgspec.structs.replace(call, id=id) for call, id in zip(reply.calls, ids, strict=True)]
        ends_in_call = reply.stop.reason in CUT and isinstance(reply.message.content[-1], ToolCall)
        found = [self._offer.read(call, cut=ends_in_call and call is calls[-1]) for call in calls]
        for read in found:
            self._note(() if isinstance(read, str) else read.did)
        self._batch = self._batch_of(slots_of(calls, found))
        place, outputs = final_answers(calls, found, self._offer.final)
        if outputs:
            self.output = self._batch.slots[place].arguments
            self._pending = Done(outcome="done")
            answers = dict(enumerate(outputs))
        else:
            answers, self._pending = self._batch.sort(found, self._repeats)
        if len(answers) == len(calls) and reply.stop.reason in CUT:  # asking again would be cut off again (C-08)
            self._pending = Done(outcome="truncated", detail="the reply was cut off in the middle of a tool call")
        return tuple(
            event
            for position, output in sorted(answers.items())
            for event in (ToolStart(call=calls[position]), self._answered(position, output))
        )

    def _permit(self, value: Permit) -> tuple[RunEvent, ...]:
        if value.allowed and self._batch.permit(value.position):
            return ()
        call, end = self._batch.slots[value.position].call, self._batch.refuse(value.position, value.reason)
        self._close()
        return (ToolStart(call=call), end)

    def _answered(self, position: int, output: ToolOutput) -> ToolEnd:
        end = self._batch.answer(position, output)
        self._close()
        return end

    def _close(self) -> None:
        """Store the results once all are in."""
        results = self._batch.results
        if results is not None:
            self._store(tool(*results))
            self._repeats = counted(self._repeats, self._batch.marks)
            self._batch = self._batch_of([])

    def _salvaged(self, reply: Reply, early: Mapping[int, ToolOutput]) -> tuple[RunEvent, ...]:
        """What ran before the reply broke off, as a turn: the calls that did, what was said before them, their results."""
        if not early:
            return ()
        message = self._take(ran_part(reply.message, frozenset(early)))
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        self._batch = self._batch_of(slots_of(calls, [self._offer.read(call) for call in calls]))
        return tuple(self._answered(position, early[key]) for position, key in enumerate(sorted(early)))

    def _ending(self, reply: Reply) -> Done | None:
        outcome = OUTCOMES.get(reply.stop.reason, "done")
        detail = reply.stop.detail or reply.stop.raw
        if reply.stop.reason == "tool_calls":
            detail = "the model announced a tool call, and none came"
        if self.incomplete is reply and outcome in ("done", "failed") and reply.stop.reason not in BROKEN:
            if self._queued or self._empties < self.limits.empty_turns:
                return None
            return Done(outcome="empty", detail="the model answered with nothing")
        if outcome == "done":
            return None if self._queued else Done(outcome="done")
        if outcome == "cancelled":
            return spent(self.limits, (), self.seconds) or Done(outcome=outcome, detail=detail or "cancelled by user")
        return Done(outcome=outcome, detail=detail or f"the model stopped: {reply.stop.reason}")


def _says_something(content: tuple[Content, ...]) -> bool:
    """Whether a reply is a turn at all: thinking alone, or blank text, is not (AGT-016)."""
    return any(
        isinstance(block, Media | Json | Foreign | HostedCall | HostedResult)
        or (isinstance(block, Text | Refusal) and block.text.strip() != "")
        for block in content
    )
