"""The calls of one reply: which of them may run, and their results until all are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.agent.fit import whole
from dragoman.agent.permission import refusal
from dragoman.agent.values import Done, Judge, Judgement, Limits, OpenCall, Question, Repeat, Slot, ToolEnd
from dragoman.agent.watch import key_of, mark_of
from dragoman.tools.arguments import Misfit, Read, read_arguments
from dragoman.tools.base import ToolOutput
from dragoman.tools.result import bounded, failed, said
from dragoman.tools.words import closest, names
from dragoman.types.content import Content, Invalid, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.tool import Tool

AGAIN = (
    "not executed: `{}` was called {} times in a row with these arguments and gave the same each time. Use what it gave, "
    "or do something else."
)
STUCK = "the model made the same call {} times in a row, though the result never changed"
TAKEN = "taken as the final result"
NOT_RUN = "not executed: the final result was given in the same turn"
LOST = "interrupted before its result came: it may have run, wholly or in part. Look before you call it again."
NAME = 100  # characters of a name that nobody registered, in what is said of it


class Offer:
    """The tools that may be called: the one list that a model's words are held against."""

    def __init__(self, tools: Sequence[object], final: str | None) -> None:
        self._tools = {(item.namespace, item.name): item for item in tools if isinstance(item, Tool)}
        self.final = final
        self.runnable = tuple(item.name for item in self._tools.values() if item.name != final)

    def read(self, call: ToolCall, *, cut: bool = False) -> Read | str:
        """The arguments of a call that may run, or why it may not: only registered names do (S4-34, C-16)."""
        offered = self._tools.get((call.namespace, call.name))
        if offered is None:
            known = [item.name for item in self._tools.values()]
            near = closest(call.name, known)
            meant = f" Did you mean `{near}`?" if near else ""
            listed = names(known) or "no tools"
            return f"unknown tool `{call.name[:NAME]}`, nothing was executed.{meant} Available: {listed}."
        if cut:  # even if its arguments parse: services mend what was cut into an object that lacks its end
            return f"the call of `{call.name}` was cut off by the output limit and not executed. Make it shorter."
        if offered.kind == call.kind == "custom":
            return Read({"input": call.arguments})
        found = read_arguments(call, offered.parameters)
        if isinstance(found, Misfit):
            again = f"Correct them and call `{call.name}` again."
            return f"invalid arguments for `{call.name}`, not executed: {found.faults}. {again}"
        if isinstance(found, Invalid):
            return f"{found.why}. `{call.name}` was not executed: call it again with one JSON object as arguments."
        return msgspec.structs.replace(found, arguments=whole(found.arguments))


class Batch:
    """The calls of one reply, from when it came until each has its result."""

    def __init__(self, slots: Sequence[Slot] = (), *, limits: Limits, judge: Judge | None) -> None:
        self.slots = list(slots)
        self._limits = limits
        self._judge = judge
        self._permitted: set[int] = set()

    @property
    def open(self) -> tuple[OpenCall, ...]:
        """The calls that wait for their result."""
        return tuple(
            OpenCall(position=at, call=slot.call, arguments=slot.arguments or {}, began=slot.began)
            for at, slot in enumerate(self.slots)
            if slot.result is None
        )

    @property
    def results(self) -> tuple[ToolResult, ...] | None:
        """All results in the order of the calls; None while one is missing, and when there are no calls."""
        found = tuple(slot.result for slot in self.slots if slot.result is not None)
        return found if found and len(found) == len(self.slots) else None

    @property
    def marks(self) -> list[tuple[str, str, bool]]:
        """For each call what makes it and its result the same as another, and whether it was refused as a repetition."""
        return [(slot.key, mark_of(slot.result), slot.repeated) for slot in self.slots if slot.result is not None]

    def judged(self, call: ToolCall, arguments: dict[str, Any]) -> Judgement:
        """Whether a call may run, as the rules stand now."""
        return Judgement(verdict="allow") if self._judge is None else self._judge(call, arguments)

    def questions(self) -> tuple[Question, ...]:
        """What must be asked before the open calls can run."""
        waiting = [item for item in self.open if item.position not in self._permitted and not item.began]
        judged = [(item, self.judged(item.call, item.arguments)) for item in waiting]
        return tuple(
            Question(position=item.position, call=item.call, arguments=item.arguments, judgement=judgement)
            for item, judgement in judged
            if judgement.verdict != "allow"
        )

    def permit(self, position: int) -> bool:
        """Let a call run because somebody said so. Nobody can say so where a rule denies it."""
        slot = self.slots[position]
        allowed = self.judged(slot.call, slot.arguments or {}).verdict != "deny"
        if allowed:
            self._permitted.add(position)
        return allowed

    def refuse(self, position: int, reason: str | None) -> ToolEnd:
        """The call is not to run; `reason` is what somebody said, None where nobody could be asked."""
        slot = self.slots[position]
        judgement = self.judged(slot.call, slot.arguments or {})
        return self.answer(position, failed(refusal(slot.call, judgement, asked=reason)))

    def began(self, position: int) -> None:
        """The call runs from now on."""
        self.slots[position] = msgspec.structs.replace(self.slots[position], began=True)

    def answer(self, position: int, output: ToolOutput) -> ToolEnd:
        """The call's one result, cut to what the history takes."""
        slot, output = self.slots[position], bounded(output, self._limits.result)
        result = ToolResult(
            call_id=slot.call.id,
            content=output.content,
            name=slot.call.name,
            is_error=True if output.is_error else None,
            kind=slot.call.kind,
        )
        self.slots[position] = msgspec.structs.replace(slot, result=result)
        return ToolEnd(call=slot.call, output=output)

    def sort(
        self, found: Sequence[Read | str], repeats: Mapping[str, Repeat]
    ) -> tuple[dict[int, ToolOutput], Done | None]:
        """What the calls that may not run are answered, and how the run ends if it does. `found`: their arguments, or
        why there are none.
        """
        answers: dict[int, ToolOutput] = {}
        stuck: Done | None = None
        counts: dict[str, int] = {}
        for at, (slot, read) in enumerate(zip(self.slots, found, strict=True)):
            before = repeats[slot.key].count if slot.key in repeats else 0
            count = counts.setdefault(slot.key, before)
            counts[slot.key] += 1
            if too_often(self._limits, slot.call, before - 1):
                stuck = Done(outcome="limit", detail=STUCK.format(before + 1), limit="identical_calls")
            if too_often(self._limits, slot.call, count):
                self.slots[at] = msgspec.structs.replace(slot, repeated=True)
                answers[at] = failed(AGAIN.format(slot.call.name[:NAME], count))
            if isinstance(read, str):
                answers[at] = failed(read)
            elif at not in answers and (judgement := self.judged(slot.call, read.arguments)).verdict == "deny":
                answers[at] = failed(refusal(slot.call, judgement))
        return answers, stuck


def too_often(limits: Limits, call: ToolCall, count: int) -> bool:
    """Whether a call that gave the same `count` times in a row is not to run again."""
    return limits.identical_calls is not None and count >= limits.identical_calls and call.name not in limits.polling


def slots_of(calls: Sequence[ToolCall], found: Sequence[Read | str]) -> list[Slot]:
    """The calls of a reply and what was read of them."""
    read = [item.arguments if isinstance(item, Read) else None for item in found]
    return [
        Slot(call=call, key=key_of(call, arguments), arguments=arguments)
        for call, arguments in zip(calls, read, strict=True)
    ]


def final_answers(
    calls: Sequence[ToolCall], found: Sequence[Read | str], final: str | None
) -> tuple[int, list[ToolOutput]]:
    """Which call holds the final result, and what all calls of its turn are answered; (-1, []) where none does.

    The first fitting call of the final tool wins, and nothing else of that turn is run (STO-004).
    """
    for position, (call, read) in enumerate(zip(calls, found, strict=True)):
        if final is not None and call.name == final and isinstance(read, Read):
            return position, [said(TAKEN if place == position else NOT_RUN) for place in range(len(calls))]
    return -1, []


def ran_part(message: Message, ran: frozenset[int]) -> Message:
    """Of a turn that broke off the part that counts: the calls that ran, by their places, and what was said before them."""
    blocks: list[Content] = []
    place = -1
    for block in message.content:
        place += isinstance(block, ToolCall)
        if not isinstance(block, ToolCall) or place in ran:
            blocks.append(block)
        if place == max(ran):
            break
    return msgspec.structs.replace(message, content=tuple(blocks))
