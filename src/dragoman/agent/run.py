"""The loop as a machine: it says what it needs next, is given it, and does nothing else itself."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.agent.usage import total
from dragoman.errors import UsageError
from dragoman.tools.arguments import Misfit, read_arguments
from dragoman.tools.base import ToolOutput
from dragoman.tools.result import Bounds, bounded, failed
from dragoman.tools.words import closest, names
from dragoman.types.content import (
    Content,
    Foreign,
    HostedCall,
    HostedResult,
    Invalid,
    Json,
    Media,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.types.message import Message, system, tool
from dragoman.types.note import Note
from dragoman.types.reply import Reply, StopReason, Usage
from dragoman.types.request import Request
from dragoman.types.tool import Tool, ToolChoice

Outcome: TypeAlias = Literal["done", "truncated", "refused", "empty", "limit", "failed", "cancelled"]

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


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`steps`: replies of the model in one run. `result_bytes`: text of one tool result, whatever the tool."""

    steps: int = 20
    result_bytes: int = 100_000


class OpenCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may run: its tool is registered and its arguments are an object. `position`: among its reply's calls."""

    position: int
    call: ToolCall
    arguments: dict[str, Any]


class NeedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Ask the model this, and give its Reply."""

    request: Request


class NeedTools(msgspec.Struct, frozen=True, kw_only=True):
    """Run these, in any order or at once, and give an Answer for each as it comes."""

    calls: tuple[OpenCall, ...]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The run is over. `detail` says why in words where the outcome is not "done"."""

    outcome: Outcome
    detail: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the call at `position` gave."""

    position: int
    output: ToolOutput


class ToolStart(msgspec.Struct, frozen=True, kw_only=True):
    """A call is about to run, or to be refused."""

    call: ToolCall


class ToolEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A call has its result; `output.display` is seen here and nowhere later."""

    call: ToolCall
    output: ToolOutput


RunEvent: TypeAlias = ToolStart | ToolEnd


class Run:
    """One run over `request`: its messages are what was said so far, its tools what may be called.

    `step` says what is needed; `give` it; until `step` says Done. A leading system message is sent with each request
    and never stored; what is stored is user, assistant and tool messages only (C-26), in `history`: a call is there
    before its tool can run (S0-65), and each call gets exactly one result, in the order of the calls (S0-45, S0-48).
    `first_choice` is the tool choice of the first step alone. Raises UsageError for any other role in the history.
    """

    def __init__(
        self, request: Request, *, limits: Limits | None = None, first_choice: ToolChoice | None = None
    ) -> None:
        self.history: list[Message] = []
        self.replies: list[Reply] = []
        self.notes: list[Note] = []
        self.incomplete: Reply | None = None  # a reply that broke off or said nothing: kept, but not a turn
        self._system = request.system
        self._settings = request.with_system(None)
        self._limits = limits or Limits()
        self._first = first_choice
        self._tools = {(item.namespace, item.name): item for item in request.tools or () if isinstance(item, Tool)}
        self._batch: list[ToolCall] = []
        self._open: dict[int, OpenCall] = {}
        self._results: dict[int, ToolResult] = {}
        self._end: Done | None = None
        for message in self._settings.messages:
            self._store(message)

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
        return tuple(item.name for item in self._tools.values())

    @property
    def usage(self) -> Usage | None:
        """The sum over all replies; None when none was reported."""
        return total(reply.usage for reply in self.replies)

    def step(self) -> NeedModel | NeedTools | Done:
        """What is needed now. Asking twice without giving says the same again."""
        if self._end is not None:
            return self._end
        if self._open:
            return NeedTools(calls=tuple(self._open[position] for position in sorted(self._open)))
        if len(self.replies) >= self._limits.steps:
            self._end = Done(outcome="limit", detail=f"stopped after {self._limits.steps} steps: the step limit")
            return self._end
        request = self.request
        if self._forced:
            request = msgspec.structs.replace(request, tool_choice=self._first)
        return NeedModel(request=request)

    def give(self, value: Reply | Answer) -> tuple[RunEvent, ...]:
        """Take what `step` asked for. Returns what there is to show: the calls that were refused, or the result."""
        if self._end is not None:
            raise UsageError("usage", "the run is over: start another with its request")
        if isinstance(value, Answer):
            call = self._open.pop(value.position).call
            return (self._answered(value.position, call, value.output),)
        broken = value.stop.reason in BROKEN
        if not broken:
            self._check_choice(value.calls)
        self.replies.append(value)
        if broken or not (value.calls or _says_something(value.message.content)):
            self.incomplete = value
        else:
            self._store(value.message)
        if value.calls and not broken:
            return self._opened(value)
        if value.stop.reason != "pause":
            self._end = self._ending(value)
        return ()

    def cancel(self, reason: str = "cancelled by user") -> None:
        """End the run now. Results that came are kept, every open call is answered with `reason` (S0-48); once over, no-op."""
        if self._end is not None:
            return
        for position, item in sorted(self._open.items()):
            self._answered(position, item.call, failed(f"{reason}: no result"))
        self._open.clear()
        self._end = Done(outcome="cancelled", detail=reason)

    @property
    def _forced(self) -> bool:
        return self._first is not None and bool(self._settings.tools) and not self.replies

    def _check_choice(self, calls: tuple[ToolCall, ...]) -> None:
        """A model that does not do what it was told is no fault of the run: the reply counts as any other (S1-16)."""
        choice = self._first if self._forced else self._settings.tool_choice
        if choice is None or choice.mode != "required" or not self._settings.tools:
            return
        if not any(not choice.names or call.name in choice.names for call in calls):
            wanted = names(choice.names) if choice.names else "a tool"
            reason = f"forced tool not honoured: the model was to call {wanted} and did not"
            self.notes.append(Note(path=("tool_choice",), action="dropped", reason=reason, loss=False))

    def _store(self, message: Message) -> None:
        if message.role not in STORED:
            fix = "the system prompt is the leading system message of the request"
            raise UsageError("usage", f"a history holds user, assistant and tool messages, not {message.role!r}: {fix}")
        self.history.append(message)

    def _opened(self, reply: Reply) -> tuple[RunEvent, ...]:
        """Sort the calls of a reply: those that may run are open, each other one has its error result at once."""
        self._batch = list(reply.calls)
        self._results = {}
        events: list[RunEvent] = []
        refused: list[tuple[int, ToolCall, str]] = []
        for position, call in enumerate(self._batch):
            found = self._judge(call, cut=reply.stop.reason in CUT and call is reply.message.content[-1])
            if isinstance(found, str):
                refused.append((position, call, found))
            else:
                self._open[position] = OpenCall(position=position, call=call, arguments=found)
        for position, call, why in refused:
            events += [ToolStart(call=call), self._answered(position, call, failed(why))]
        if not self._open and reply.stop.reason in CUT:  # asking again would be cut off again (C-08)
            self._end = Done(outcome="truncated", detail="the reply was cut off in the middle of a tool call")
        return tuple(events)

    def _judge(self, call: ToolCall, *, cut: bool) -> dict[str, Any] | str:
        """The arguments of a call that may run, or why it may not: only registered names do (S4-34, C-16)."""
        offered = self._tools.get((call.namespace, call.name))
        if offered is None:
            near = closest(call.name, self.offered)
            meant = f" Did you mean `{near}`?" if near else ""
            known = names(self.offered) or "no tools"
            return f"unknown tool `{call.name}`, nothing was executed.{meant} Available: {known}."
        if cut:  # even if its arguments parse: services mend what was cut into an object that lacks its end
            return f"the call of `{call.name}` was cut off by the output limit and not executed. Make it shorter."
        found = read_arguments(call, offered.parameters)
        if isinstance(found, Misfit):
            again = f"Correct them and call `{call.name}` again."
            return f"invalid arguments for `{call.name}`, not executed: {found.faults}. {again}"
        if isinstance(found, Invalid):
            return f"{found.why}. `{call.name}` was not executed: call it again with one JSON object as arguments."
        return found.arguments

    def _answered(self, position: int, call: ToolCall, output: ToolOutput) -> ToolEnd:
        output = bounded(output, Bounds(bytes=self._limits.result_bytes))
        self._results[position] = ToolResult(
            call_id=call.id,
            content=output.content,
            name=call.name,
            is_error=True if output.is_error else None,
            kind=call.kind,
        )
        if len(self._results) == len(self._batch):
            self._store(tool(*(self._results[place] for place in range(len(self._batch)))))
        return ToolEnd(call=call, output=output)

    def _ending(self, reply: Reply) -> Done:
        outcome = OUTCOMES.get(reply.stop.reason, "done")
        if outcome == "done" and self.incomplete is reply:
            return Done(outcome="empty", detail="the model answered with nothing")
        if outcome == "done":
            return Done(outcome="done")
        detail = reply.stop.detail or reply.stop.raw
        if reply.stop.reason == "tool_calls":
            detail = "the model announced a tool call, and none came"
        return Done(outcome=outcome, detail=detail or f"the model stopped: {reply.stop.reason}")


def _says_something(content: tuple[Content, ...]) -> bool:
    """Whether a reply is a turn at all: thinking alone, or blank text, is not (AGT-016)."""
    return any(
        isinstance(block, Media | Json | Foreign | HostedCall | HostedResult)
        or (isinstance(block, Text | Refusal) and block.text.strip() != "")
        for block in content
    )
