"""The small public class over the machine and its drivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

import msgspec

from dragoman.agent import drive
from dragoman.agent.arguments import asking, check_machine, check_options, check_run, check_state, limited, runnable
from dragoman.agent.drive import Manner, Permitter, RunResult
from dragoman.agent.gather import AsyncModel, OnEvent, SyncModel
from dragoman.agent.permission import Gate, Policy
from dragoman.agent.run import Run
from dragoman.agent.values import Limits, RunState
from dragoman.errors import UsageError
from dragoman.passed import hold
from dragoman.tools.base import AnyTool
from dragoman.tools.words import near
from dragoman.transport.cancel import CancelToken
from dragoman.types.message import Message, user
from dragoman.types.request import Request
from dragoman.types.tool import Tool, ToolChoice

if TYPE_CHECKING:
    from dragoman.types.content import Content


class AgentOptions(TypedDict, total=False):
    """What an agent may be told beside its model and tools.

    `policy` says which calls may run, `permit` is asked about those it says to ask about: without it they are denied.
    `limits` end a run that does not end by itself; `max_steps` is the one most often said. `final` is a tool that is not
    run: its arguments are the run's `output`. `first_choice` is the tool choice of the first step of a run alone,
    `settings` a Request of everything else (model, max_output, sampling…), `manner` how a run is driven.
    """

    system: str | None
    max_steps: int
    limits: Limits
    policy: Policy
    permit: Permitter
    final: Tool | AnyTool
    first_choice: ToolChoice | None
    settings: Request
    manner: Manner


class Agent:
    """A model, its tools and a system prompt. It keeps no conversation: `run` takes one and gives it back longer.

    Raises UsageError for two tools of one name, for a rule about a tool there is none of, for an unknown option, and for
    what can be no model, tool, system prompt or limit.
    """

    def __init__(
        self, model: SyncModel | AsyncModel, tools: Sequence[AnyTool] = (), **options: Unpack[AgentOptions]
    ) -> None:
        for name in options:
            if name not in AgentOptions.__optional_keys__:
                raise UsageError("usage", f"an agent's option is {near(name, sorted(AgentOptions.__optional_keys__))}")
        check_options(options)
        self._model = asking(model)
        self._tools = runnable(tools)
        final = options.get("final")
        if final is not None and not isinstance(final, Tool):
            runnable([final], "final")
        self._final = final if isinstance(final, Tool) or final is None else final.definition
        self._offered = (*(item.definition for item in self._tools), *((self._final,) if self._final else ()))
        listed = [item.name for item in self._offered]
        if twice := next((name for name in listed if listed.count(name) > 1), None):
            raise UsageError("usage", f"two tools are named {twice!r}: a model could not tell them apart")
        self._system = options.get("system")
        self._limits = limited(options, self._tools)
        self._first = options.get("first_choice")
        self._settings = options.get("settings") or Request()
        manner = options.get("manner") or Manner()
        hold("an agent's manner", manner, Manner, "a Manner")
        self._manner = replace(manner, permit=options.get("permit") or manner.permit)
        self.gate = Gate(options.get("policy") or Policy(), self._tools)

    def start(self, prompt: str | Content | Message, *, history: Sequence[Message] = ()) -> Run:
        """The machine of one run: for those who drive it themselves, or want its history when they are interrupted."""
        check_run(history)
        said = prompt if isinstance(prompt, Message) else user(prompt)
        request = msgspec.structs.replace(self._settings, messages=(*history, said), tools=self._offered or None)
        return Run(
            request.with_system(self._system),
            limits=self._limits,
            first_choice=self._first,
            final=self._final.name if self._final else None,
            judge=self.gate,
        )

    def resume(self, state: RunState) -> Run:
        """The machine of a run that was saved, under this agent's policy. Drive it with `drive` or `adrive`."""
        check_state(state)
        return Run.resume(state, judge=self.gate)

    def run(
        self,
        prompt: str | Content | Message,
        *,
        history: Sequence[Message] = (),
        on_event: OnEvent | None = None,
        cancel: CancelToken | None = None,
    ) -> RunResult:
        """Ask, run the tools the model calls, ask again, until it answers. `history` is that of an earlier result.

        `cancel` ends it from any thread, quietly: the outcome is "cancelled", and every call has its result (S0-48).
        """
        return self.drive(self.start(prompt, history=history), on_event=on_event, cancel=cancel)

    async def arun(
        self,
        prompt: str | Content | Message,
        *,
        history: Sequence[Message] = (),
        on_event: OnEvent | None = None,
        cancel: CancelToken | None = None,
    ) -> RunResult:
        """As `run`, for an async model: tools run as tasks, sync ones in threads."""
        return await self.adrive(self.start(prompt, history=history), on_event=on_event, cancel=cancel)

    def drive(self, machine: Run, *, on_event: OnEvent | None = None, cancel: CancelToken | None = None) -> RunResult:
        """Drive a machine of this agent to its end."""
        check_machine(machine, on_event)
        model = cast(SyncModel, self._model)
        return drive.run(machine, model, self._tools, on_event=on_event, manner=self._with(cancel))

    async def adrive(
        self, machine: Run, *, on_event: OnEvent | None = None, cancel: CancelToken | None = None
    ) -> RunResult:
        """As `drive`, for an async model."""
        check_machine(machine, on_event)
        model = cast(AsyncModel, self._model)
        return await drive.arun(machine, model, self._tools, on_event=on_event, manner=self._with(cancel))

    def _with(self, cancel: CancelToken | None) -> Manner:
        return self._manner if cancel is None else replace(self._manner, cancel=cancel)
