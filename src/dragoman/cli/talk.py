"""A conversation at the terminal: its model, its turns, and what is told about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from dragoman import config
from dragoman.agent import (
    AgentEvent,
    Compacting,
    Follow,
    Gate,
    Limits,
    Manner,
    Policy,
    Question,
    Run,
    RunResult,
    Session,
    drive,
)
from dragoman.agent.entries import Prompt, Switched
from dragoman.agent.usage import total
from dragoman.cli import sessions
from dragoman.cli.accounts import Accounts
from dragoman.cli.main import FAILED, LIMITED
from dragoman.cli.output import tell
from dragoman.cli.permit import Asker, interruptible
from dragoman.cli.run import EXITS, HINTS, pick_tools
from dragoman.cli.screen import Screen
from dragoman.cli.trace import trace
from dragoman.errors import DragomanError
from dragoman.money.show import dollars
from dragoman.transport.cancel import CancelToken
from dragoman.types.message import user
from dragoman.types.note import show_path
from dragoman.types.reply import Reply
from dragoman.types.request import Request

if TYPE_CHECKING:
    from dragoman.client import Model


class TalkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation may do; see `dragoman chat --help`."""

    tools: str = "none"
    record: Path | None = None
    ledger: bool = True
    compact: bool = True
    max_steps: int = 20
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    trace: bool = False


class Talk:
    """A session, and whoever it is spoken with now. Raises UsageError for tools and rules that there are none of."""

    def __init__(self, session: Session, env: Mapping[str, str], options: TalkOptions) -> None:
        self.session = session
        self.spec = ""
        self._env = env
        self._options = options
        self._tools, self._keep = pick_tools(options.tools, Path.cwd())
        self._gate = Gate(Policy.of(allow=options.allow, deny=options.deny), self._tools)
        self._asker = Asker(self._gate)
        self._accounts = Accounts(env, wanted=options.ledger)
        self._told: set[str] = set()
        self._model: Model | None = None
        self._around: Compacting | None = None

    def system(self, text: str | None) -> None:
        """The system prompt from here on; None leaves it as it is."""
        if text is not None and text != self.session.tale.system:
            self.session.append(Prompt(text=text))

    def model(self, spec: str) -> None:
        """Speak with this model from here on. Raises UsageError, and nothing has changed, where there is no such one."""
        from dragoman.client import Model

        model = Model(spec, env=self._env, repair=True, record=self._options.record, observers=self._accounts.observers)
        if self._model is not None:
            self._model.close()
        self._model, self.spec = model, spec
        self._around = sessions.compacting(self.session, model, compact=self._options.compact)
        if self.session.tale.model != spec:
            self.session.append(Switched(model=spec))

    def switch(self, said: str) -> None:
        """/model: another model in the middle of the conversation, whose history goes with it."""
        if not said:
            tell(self.spec)
            return
        self.model(config.load(self._env).named(said))
        tell(f"{self.spec} from here on; it reads the whole conversation, so the first answer may cost more", dim=True)

    def turn(self, said: str) -> int:
        """One message and what the model does about it; the exit code that it would be. Ctrl-C stops it and keeps what
        was said; what fails is told, and the conversation goes on.
        """
        assert self._around is not None
        token, screen = CancelToken(), Screen()
        self._asker.denied.clear()

        def show(event: AgentEvent) -> None:
            if self._options.trace:
                trace(event)
            screen.show(event)

        def ask(question: Question) -> bool | str | None:
            screen.close()
            return self._asker(question)

        try:
            machine = self._machine(said)
            follow = Follow(self.session, machine, cost=self._price)
            manner = Manner(permit=ask, cancel=token, keep=self._keep, checkpoint=follow)
            with interruptible(token, self._asker):
                result = drive.run(machine, self._around, self._tools, on_event=show, manner=manner)
        except KeyboardInterrupt:
            screen.close()
            tell("stopped; what was said so far is kept")
            return EXITS["cancelled"]
        except DragomanError as error:
            screen.close()
            tell(f"dragoman: {error.message}")
            return FAILED
        screen.close()
        return self._ended(result)

    def undo(self) -> None:
        """/undo: the conversation only, and it says so."""
        count = self.session.undo()
        if self._around is not None:
            self._around.memory.cut = self.session.tale.cut
        kept = "files and whatever tools did stay as they are"
        taken = f"{count} message{'s are' if count > 1 else ' is'} taken back from the conversation"
        tell(f"{taken}; {kept}" if count else "there is nothing to take back")

    def cost(self) -> None:
        """/cost: what this conversation used and cost, all its models together."""
        spent = self.session.tale.spent
        usage = total(entry.usage for entry in spent)
        if usage is None:
            tell(f"{len(spent)} replies, and no service said what they used")
            return
        cached = f" ({usage.cache_read} cached)" if usage.cache_read else ""
        costs = [entry.cost for entry in spent if entry.cost is not None]
        money = dollars(sum(costs)) if costs else "cost not known"
        if costs and len(costs) < len(spent):
            money += f" for {len(costs)} of them, of the others it is not known"
        replies = f"{len(spent)} repl{'ies' if len(spent) != 1 else 'y'}"
        tell(f"{replies} · {usage.input or 0} tokens in{cached} · {usage.output or 0} tokens out · {money}")

    def _machine(self, said: str) -> Run:
        self.session.settle()
        tools = tuple(item.definition for item in self._tools) or None
        request = self.session.request(Request(tools=tools))
        request = msgspec.structs.replace(request, messages=(*request.messages, user(said)))
        polling = tuple(item.definition.name for item in self._tools if item.traits.polls)
        return Run(request, limits=Limits(steps=self._options.max_steps, polling=polling), judge=self._gate)

    def _price(self, reply: Reply) -> int | None:
        """What a reply cost, in nano-dollars: nothing on this machine, else by the service's word or its price list."""
        from dragoman.money.bill import bill
        from dragoman.money.prices import catalogued

        if self._model is None or self._model.target is None:
            return 0
        target = self._model.target
        prices = catalogued(target.provider, target.model)
        return None if reply.usage is None else bill(reply.usage, prices).cost

    def _ended(self, result: RunResult) -> int:
        """Say what is to be known of a turn. A note is told once: the next turns have the same losses."""
        for note in result.notes:
            line = f"note: {show_path(note.path)} {note.action}: {note.reason}"
            if note.reason not in self._told:
                tell(line)
            self._told.add(note.reason)
        if result.outcome == "cancelled":
            tell("stopped; what was said so far is kept")
        elif result.outcome != "done":
            tell(f"dragoman: {result.outcome}: {result.detail}{HINTS.get(result.limit or result.outcome, '')}")
        if denied := self._asker.denied:
            tell(f"dragoman: not permitted, and nobody to ask: --allow {' --allow '.join(denied)} would allow it")
            return LIMITED if result.outcome == "done" else EXITS[result.outcome]
        return EXITS[result.outcome]

    def close(self) -> None:
        """Close the connections and the ledger; say what it cost where that is known."""
        if self._model is not None:
            self._model.close()
        self._accounts.close()
        if self._accounts.told:
            tell(self._accounts.told, dim=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
