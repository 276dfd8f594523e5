"""What the machine asks for, is given and tells: plain values, each of which can be saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.passed import hold_fields
from dragoman.tools.base import ToolOutput
from dragoman.tools.result import Bounds
from dragoman.types.content import ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import ToolChoice

Outcome: TypeAlias = Literal["done", "truncated", "refused", "empty", "limit", "failed", "cancelled"]
LimitName: TypeAlias = Literal["steps", "identical_calls", "tokens", "cost", "seconds"]
Verdict: TypeAlias = Literal["allow", "ask", "deny"]


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ends a run that does not end by itself; each has a name in `Done.limit`. None: no such limit.

    `steps`: replies of the model. `identical_calls`: how often one call may give one result before it is refused with a
    hint, and the next time ends the run; tools of `polling` are exempt. `empty_turns`: replies of nothing in a row; before the last one the model is asked the same again.
    `tokens`: input and output of all replies. `cost`: nano-dollars, as services report them or `Manner.price` says. `seconds`: of the whole run.
    `result`: how much of one tool's result the history takes.
    """

    steps: int = 20
    identical_calls: int | None = 3
    empty_turns: int = 1
    tokens: int | None = None
    cost: int | None = None
    seconds: float | None = None
    result: Bounds = Bounds()
    polling: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        hold_fields(self)


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a call may run, why, and the narrowest rule that would allow it."""

    verdict: Verdict
    why: str = ""
    grant: str | None = None


Judge: TypeAlias = Callable[[ToolCall, dict[str, Any]], Judgement]


class OpenCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that may run: its tool is registered, its arguments fit. `position`: among its reply's calls. `began`: it
    was told that the call runs.
    """

    position: int
    call: ToolCall
    arguments: dict[str, Any]
    began: bool = False


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A call that somebody must permit."""

    position: int
    call: ToolCall
    arguments: dict[str, Any]
    judgement: Judgement


class NeedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Ask the model this, and give its Reply."""

    request: Request


class NeedTools(msgspec.Struct, frozen=True, kw_only=True):
    """Run these, in any order or at once, and give an Answer for each as it comes."""

    calls: tuple[OpenCall, ...]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Ask whoever may permit it, and give a Permit for each."""

    questions: tuple[Question, ...]


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run is over. `detail` says why in words where the outcome is not "done", `limit` which limit it was."""

    outcome: Outcome
    detail: str | None = None
    limit: LimitName | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the call at `position` gave."""

    position: int
    output: ToolOutput


class Permit(msgspec.Struct, frozen=True, kw_only=True):
    """What was said to the call at `position`. `reason` is told to the model where it is no; None: nobody was there."""

    position: int
    allowed: bool
    reason: str | None = None


class StepStart(msgspec.Struct, frozen=True, kw_only=True):
    """The model is about to be asked."""

    number: int
    request: Request


class ToolStart(msgspec.Struct, frozen=True, kw_only=True):
    """A call is about to run, or to be refused."""

    call: ToolCall


class ToolEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A call has its result; `output.display` is seen here and nowhere later."""

    call: ToolCall
    output: ToolOutput


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The run is over."""

    done: Done


RunEvent: TypeAlias = StepStart | ToolStart | ToolEnd | RunEnd


class Repeat(msgspec.Struct, frozen=True):
    """How often a call gave the same result in a row."""

    count: int
    result: str


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of the reply at hand: `key` names it by value, `arguments` are those that fit (None: none did), `repeated`
    says that it was refused as a repetition.
    """

    call: ToolCall
    key: str
    arguments: dict[str, Any] | None = None
    began: bool = False
    repeated: bool = False
    result: ToolResult | None = None


class RunState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run at any point, as a plain value: `Run.resume` goes on from it.

    `request` is the conversation so far. Permissions are no part of it: whoever resumes a run says again what it may do,
    so a file cannot grant anything.
    """

    request: Request
    limits: Limits = Limits()
    first_choice: ToolChoice | None = None
    final: str | None = None
    replies: tuple[Reply, ...] = ()
    notes: tuple[Note, ...] = ()
    incomplete: Reply | None = None
    batch: tuple[Slot, ...] = ()
    repeats: dict[str, Repeat] = {}
    queued: tuple[Message, ...] = ()
    sent: int = 0
    empties: int = 0
    seconds: float = 0.0
    charged: int = 0
    output: dict[str, Any] | None = None
    pending: Done | None = None
    end: Done | None = None
