"""What callers pass to an agent, looked at where it comes in: a mistake is one line that says what to pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dragoman.agent.permission import Policy
from dragoman.agent.run import Run
from dragoman.agent.values import Limits, RunState
from dragoman.errors import UsageError
from dragoman.passed import hold, hold_function, hold_several
from dragoman.tools.base import AnyTool
from dragoman.transport.cancel import CancelToken
from dragoman.types.message import Message
from dragoman.types.request import Request
from dragoman.types.tool import Tool, ToolChoice

if TYPE_CHECKING:
    from dragoman.agent.gather import AsyncModel, SyncModel

NUMBER = (int, float)


def asking(model: Any) -> SyncModel | AsyncModel:
    """A model as an agent keeps it. Raises UsageError for what cannot be asked."""
    if not callable(getattr(model, "stream", None)) or isinstance(model, type):
        said = f"Model({model!r})" if isinstance(model, str) else "a Model, or what has `stream`"
        raise UsageError("usage", f"an agent's model is {type(model).__name__}: pass {said}")
    return model


def runnable(tools: Any, name: str = "tools") -> tuple[AnyTool, ...]:
    """Tools as an agent keeps them. Raises UsageError for what cannot be run."""
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError("usage", f"an agent's tools are {type(tools).__name__}: pass a list of tools")
    listed: tuple[Any, ...] = tuple(tools)
    for place, item in enumerate(listed):
        if not isinstance(getattr(item, "definition", None), Tool):
            hint = "make it a tool: tool(…)" if callable(item) else "pass what `dragoman.tool` makes of a function"
            at = f"{name}[{place}]" if name == "tools" else name
            raise UsageError("usage", f"an agent's {at} is {type(item).__name__}: {hint}")
    return listed


def limited(options: Mapping[str, Any], tools: Sequence[AnyTool]) -> Limits:
    """The limits of an agent's options. Raises UsageError for what is none."""
    limits, most = options.get("limits") or Limits(), options.get("max_steps", 1)
    if not isinstance(limits, Limits):
        raise UsageError("usage", f"an agent's limits are {type(limits).__name__}: pass Limits(…)")
    if type(most) is not int or most < 1:
        raise UsageError("usage", f"an agent's max_steps is {most!r}: pass a number, 1 or more")
    polling = (*limits.polling, *(item.definition.name for item in tools if item.traits.polls))
    return msgspec.structs.replace(limits, steps=options.get("max_steps", limits.steps), polling=polling)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises UsageError for an option that is of another kind than it must be; what says nothing may be false."""
    system = options.get("system")
    if system is not None and not isinstance(system, str):
        raise UsageError("usage", f"an agent's system is {type(system).__name__}: pass a text")
    for name, kind, wanted in (
        ("policy", Policy, "a Policy, as Policy.of(allow=[…])"),
        ("first_choice", ToolChoice, "a ToolChoice"),
        ("settings", Request, "a Request"),
    ):
        if options.get(name):
            hold(f"an agent's {name}", options[name], kind, wanted)
    hold_function("an agent's permit", options.get("permit"))


def check_run(history: Any, on_event: Any = None) -> None:
    """Raises UsageError for a history of what are no messages, and for a listener that cannot be told."""
    hold_function("on_event", on_event)
    hold_several("history", history, "a list of Messages, as an earlier result's `history`")
    for at, message in enumerate(cast(Iterable[Any], history)):
        hold(f"history[{at}]", message, Message, "a Message")


def check_machine(machine: Any, on_event: Any = None) -> None:
    """Raises UsageError for what is no run to drive."""
    hold_function("on_event", on_event)
    hold("machine", machine, Run, "what `start` or `resume` made")


def check_state(state: Any) -> None:
    """Raises UsageError for what is no run to go on with."""
    hold("state", state, RunState, "a run's `state`")


def check_manner(manner: Any) -> None:
    """Raises UsageError for a Manner that drives nothing."""
    for name in ("permit", "checkpoint", "keep", "price"):
        hold_function(f"Manner.{name}", getattr(manner, name))
    if manner.cancel is not None:
        hold("Manner.cancel", manner.cancel, CancelToken, "a CancelToken, or None")
    if manner.tool_timeout is not None:
        hold("Manner.tool_timeout", manner.tool_timeout, NUMBER, "seconds, or None")
    hold("Manner.eager", manner.eager, bool, "False or True")
    if not callable(getattr(manner.clock, "now", None)):
        hold("Manner.clock", manner.clock, (), "a Clock")
