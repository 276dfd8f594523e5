"""A run written into a session while it goes on: the checkpoint of a driver."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.agent.entries import Began, Broke, Entry, Gave, Queued, Remark, Said, Spent
from dragoman.agent.run import Run
from dragoman.agent.session import Session
from dragoman.errors import UsageError
from dragoman.types.content import ToolResult
from dragoman.types.message import Message
from dragoman.types.reply import Reply


class Follow:
    """`Manner(checkpoint=Follow(session, machine))`: each change of the machine is in the session before anything is done
    about it. `cost` says what a reply cost, in nano-dollars. The machine's history must begin with the session's.

    Raises UsageError for a machine of another conversation.
    """

    def __init__(self, session: Session, machine: Run, *, cost: Callable[[Reply], int | None] | None = None) -> None:
        session.settle()
        self.session = session
        self._cost = cost
        self._replies, self._notes = len(machine.replies), len(machine.notes)
        self._incomplete = machine.incomplete
        written = session.tale.messages
        if machine.history[: len(written)] != written:
            raise UsageError("usage", "this run is about another conversation than the session")

    def __call__(self, machine: Run) -> None:
        """Write what is new. Entries that belong together are written in one go."""
        session, tale = self.session, self.session.tale
        while len(tale.messages) < len(machine.history):
            session.append(*self._next(machine.history[len(tale.messages)]))
        state = machine.state
        for slot in state.batch:
            if slot.began and slot.call.id not in tale.began and slot.result is None:
                session.append(Began(call_id=slot.call.id))
            if slot.result is not None and slot.call.id not in tale.results:
                session.append(Gave(result=slot.result))
        session.append(*(Queued(message=item) for item in machine.queued[len(tale.queued) :]))
        session.append(*self._bookkeeping(machine))
        if machine.ended:
            session.sync()

    def _next(self, message: Message) -> list[Entry]:
        """The entries of a message: results that are there already are not written again."""
        tale = self.session.tale
        results = [block for block in message.content if isinstance(block, ToolResult)]
        if message.role == "tool" and {item.call_id for item in results} == tale.pending.keys():
            return [Gave(result=item) for item in results if item.call_id not in tale.results]
        return [Said(message=message)]

    def _bookkeeping(self, machine: Run) -> list[Entry]:
        found: list[Entry] = []
        for reply in machine.replies[self._replies :]:
            cost = None if self._cost is None else self._cost(reply)
            found.append(Spent(stop=reply.stop.reason, model=reply.model, usage=reply.usage, cost=cost))
        if machine.incomplete is not None and machine.incomplete is not self._incomplete:
            found.append(Broke(reply=machine.incomplete))
        found += [Remark(note=note) for note in machine.notes[self._notes :]]
        self._replies, self._notes = len(machine.replies), len(machine.notes)
        self._incomplete = machine.incomplete
        return found
