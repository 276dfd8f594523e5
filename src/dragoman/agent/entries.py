"""The entries of a session, and what a list of them comes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from dragoman.agent.calls import LOST
from dragoman.history.window import WHOLE, Cut
from dragoman.tools.result import failed
from dragoman.types.content import ToolCall, ToolResult
from dragoman.types.message import Message, tool
from dragoman.types.note import Note
from dragoman.types.reply import Reply, StopReason, Usage

NOT_RUN = "not executed: it was interrupted before it ran. Call it again if it is still wanted."


class _Entry(msgspec.Struct, frozen=True, kw_only=True, tag_field="entry", omit_defaults=True):
    """The base of all entries."""


class Prompt(_Entry, frozen=True, kw_only=True, tag="system"):
    """The system prompt from here on; None: none (C-26)."""

    text: str | None = None


class Said(_Entry, frozen=True, kw_only=True, tag="message"):
    """A message of a user or an assistant, or results that came together."""

    message: Message


class Queued(_Entry, frozen=True, kw_only=True, tag="queued"):
    """What a user said while a run went on, and no model has read yet."""

    message: Message


class Began(_Entry, frozen=True, kw_only=True, tag="began"):
    """A call is about to run: from here on it is never run again by itself."""

    call_id: str


class Gave(_Entry, frozen=True, kw_only=True, tag="result"):
    """The result of one call; the results of a turn are a tool message once all are there, in the order of the calls."""

    result: ToolResult


class Broke(_Entry, frozen=True, kw_only=True, tag="incomplete"):
    """A reply that broke off or said nothing: for people to read, sent to nobody."""

    reply: Reply


class Summed(_Entry, frozen=True, kw_only=True, tag="summary"):
    """How the start of the conversation is sent from here on. The conversation itself stays as it is."""

    cut: Cut
    note: Note


class Switched(_Entry, frozen=True, kw_only=True, tag="model"):
    """The model from here on, by the name with which it was asked for."""

    model: str


class Spent(_Entry, frozen=True, kw_only=True, tag="usage"):
    """What a reply used. `cost` is in nano-dollars, None where nobody knows it."""

    stop: StopReason
    model: str | None = None
    usage: Usage | None = None
    cost: int | None = None


class Remark(_Entry, frozen=True, kw_only=True, tag="note"):
    """Something that was changed or lost on the way."""

    note: Note


class Undone(_Entry, frozen=True, kw_only=True, tag="undo"):
    """The conversation has its first `messages` only from here on. What tools did is not undone."""

    messages: int


Entry: TypeAlias = Prompt | Said | Queued | Began | Gave | Broke | Summed | Switched | Spent | Remark | Undone


class Tale:
    """What entries come to. `messages` are whole turns; the calls of the last one that wait are `pending`."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.system: str | None = None
        self.model: str | None = None
        self.messages: list[Message] = []
        self.queued: list[Message] = []
        self.pending: dict[str, ToolCall] = {}
        self.results: dict[str, ToolResult] = {}
        self.began: set[str] = set()
        self.incomplete: list[Reply] = []
        self.spent: list[Spent] = []
        self.notes: list[Note] = []
        self.cut = WHOLE
        for entry in entries:
            self.feed(entry)

    def feed(self, entry: Entry) -> None:
        """Take an entry in."""
        match entry:
            case Prompt():
                self.system = entry.text
            case Switched():
                self.model = entry.model
            case Said():
                self._say(entry.message)
            case Queued():
                self.queued.append(entry.message)
            case Began():
                self.began.add(entry.call_id)
            case Gave():
                self._give(entry.result)
            case Broke():
                self.incomplete.append(entry.reply)
            case Summed():
                self.cut = entry.cut
            case Spent():
                self.spent.append(entry)
            case Remark():
                self.notes.append(entry.note)
            case Undone():
                self._undo(entry.messages)

    @property
    def missing(self) -> tuple[ToolResult, ...]:
        """A result for each call that has none: it says whether it may have run (S0-48)."""
        return tuple(
            ToolResult(
                call_id=call.id,
                name=call.name,
                content=failed(LOST if call.id in self.began else NOT_RUN).content,
                is_error=True,
                kind=call.kind,
            )
            for call in self.pending.values()
            if call.id not in self.results
        )

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation as it can be sent: every call has its result, what nobody read yet stands last."""
        whole = Tale()
        whole.messages, whole.pending, whole.results = [*self.messages], {**self.pending}, {**self.results}
        for result in self.missing:
            whole.feed(Gave(result=result))
        return (*whole.messages, *self.queued)

    def _say(self, message: Message) -> None:
        if self.pending:
            if message.role == "tool":
                self._forget()
            for result in self.missing:
                self._give(result)
        if message.role == "user":
            self.queued.clear()
        self.messages.append(message)
        if message.role == "assistant":
            self._forget()
            self.pending = {block.id: block for block in message.content if isinstance(block, ToolCall)}

    def _give(self, result: ToolResult) -> None:
        if result.call_id not in self.pending:
            return
        self.results[result.call_id] = result
        if self.results.keys() == self.pending.keys():
            self.messages.append(tool(*(self.results[id] for id in self.pending)))
            self._forget()

    def _undo(self, count: int) -> None:
        del self.messages[count:]
        self._forget()
        self.queued.clear()
        if max(self.cut.upto, self.cut.settled) >= count:
            self.cut = WHOLE

    def _forget(self) -> None:
        self.pending, self.results, self.began = {}, {}, set()
