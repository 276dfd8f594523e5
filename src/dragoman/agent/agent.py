"""The small public class over the machine and its drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from dragoman.agent import drive
from dragoman.agent.drive import AsyncModel, OnEvent, RunResult, SyncModel
from dragoman.agent.run import Limits, Run
from dragoman.errors import UsageError
from dragoman.tools.base import AnyTool
from dragoman.types.message import Message, user
from dragoman.types.request import Request
from dragoman.types.tool import ToolChoice

if TYPE_CHECKING:
    from dragoman.types.content import Content


class Agent:
    """A model, its tools and a system prompt. It keeps no conversation: `run` takes one and gives it back longer.

    `settings` is a Request of everything else (model, max_output, sampling…); `first_choice` the tool choice of the
    first step of a run alone. Raises UsageError for two tools of one name.
    """

    def __init__(
        self,
        model: SyncModel | AsyncModel,
        tools: Sequence[AnyTool] = (),
        *,
        system: str | None = None,
        max_steps: int = 20,
        first_choice: ToolChoice | None = None,
        settings: Request | None = None,
    ) -> None:
        listed = [item.definition.name for item in tools]
        if twice := next((name for name in listed if listed.count(name) > 1), None):
            raise UsageError("usage", f"two tools are named {twice!r}: a model could not tell them apart")
        self._model = model
        self._tools = tuple(tools)
        self._system = system
        self._limits = Limits(steps=max_steps)
        self._first = first_choice
        self._settings = settings or Request()

    def start(self, prompt: str | Content | Message, *, history: Sequence[Message] = ()) -> Run:
        """The machine of one run: for those who drive it themselves, or want its history when they are interrupted."""
        said = prompt if isinstance(prompt, Message) else user(prompt)
        offered = tuple(item.definition for item in self._tools) or None
        request = msgspec.structs.replace(self._settings, messages=(*history, said), tools=offered)
        return Run(request.with_system(self._system), limits=self._limits, first_choice=self._first)

    def run(
        self, prompt: str | Content | Message, *, history: Sequence[Message] = (), on_event: OnEvent | None = None
    ) -> RunResult:
        """Ask, run the tools the model calls, ask again, until it answers. `history` is that of an earlier result."""
        machine = self.start(prompt, history=history)
        return drive.run(machine, cast(SyncModel, self._model), self._tools, on_event=on_event)

    async def arun(
        self, prompt: str | Content | Message, *, history: Sequence[Message] = (), on_event: OnEvent | None = None
    ) -> RunResult:
        """As `run`, for an async model: tools run at once, sync ones in threads."""
        machine = self.start(prompt, history=history)
        return await drive.arun(machine, cast(AsyncModel, self._model), self._tools, on_event=on_event)
