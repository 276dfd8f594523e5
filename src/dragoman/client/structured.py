"""A call for a value: asked in the best way, down one when that is refused, and read once, at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from dragoman.catalog.target import Target
from dragoman.client.answer import read
from dragoman.client.attempts import Attempt
from dragoman.client.call import Call, Outcome
from dragoman.client.completion import unusable
from dragoman.client.form import Form, Misfit, Rung
from dragoman.client.ladder import HOW, answer_name, asked, refuses
from dragoman.client.timing import later
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, Cancelled, OutputError
from dragoman.transport.clock import Clock
from dragoman.transport.flow import Flow
from dragoman.types.content import Content, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Start, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Stop
from dragoman.types.request import Request

OUTPUT = ("output",)


class Reading:
    """What is made of one answer: a call of the answer's tool becomes its text, and the text becomes the value."""

    def __init__(self, form: Form, rung: Rung, tool: str | None = None) -> None:
        self.value: Any = None
        self.error: OutputError | None = None
        self.notes: list[Note] = []
        self._form = form
        self._rung: Rung = rung
        self._tool = tool
        self._ours: set[int] = set()
        self._others = False

    def refused(self, error: ApiError) -> bool:
        """Whether it was the way of asking that a service refused."""
        return refuses(error, self._rung)

    def event(self, event: StreamEvent) -> StreamEvent:
        """The event as the caller sees it."""
        match event:
            case Start():  # what came before was given up for another try
                self._ours, self._others = set(), False
                return event
            case BlockStart(block=ToolCall() as call):
                if call.name != self._tool:
                    self._others = True
                    return event
                self._ours.add(event.index)
                return replace(event, block=_text(call))
            case Delta() if event.index in self._ours:
                return replace(event, field="text")
            case BlockEnd(block=ToolCall() as call) if event.index in self._ours:
                return replace(event, block=_text(call))
            case Finish() if self._ours and not self._others:
                return replace(event, stop=_ended(event.stop))
            case _:
                return event

    def whole(self, reply: Reply) -> Reply:
        """A whole reply as the caller sees it, its value read."""
        content: list[Content] = []
        for at, block in enumerate(reply.message.content):
            ours = isinstance(block, ToolCall) and block.name == self._tool
            self._others |= isinstance(block, ToolCall) and not ours
            if ours:
                self._ours.add(at)
            content.append(_text(block) if isinstance(block, ToolCall) and ours else block)
        if self._ours:
            stop = reply.stop if self._others else _ended(reply.stop)
            reply = replace(reply, message=replace(reply.message, content=tuple(content)), stop=stop)
        self.read(reply)
        return reply

    def read(self, reply: Reply) -> None:
        """Take the value out of a reply that is whole. Why it stopped comes before what it says (STO-005)."""
        self.error = unusable(reply)
        if self.error is None and (self._ours or not self._others):
            self._read(reply)

    def _read(self, reply: Reply) -> None:
        texts = [block.text for block in reply.message.content if isinstance(block, Text)]
        tries = list(dict.fromkeys(["".join(texts), *reversed(texts)]))
        try:
            self.value, mended = read(tries, self._form)
        except Misfit as misfit:
            self.error = OutputError("bad_shape", f"the answer does not fit {self._form.name}: {misfit}", reply)
            return
        if mended:
            said = "the answer was mended before it was read: quotes, commas or words that JSON does not have"
            self.notes.append(Note(path=OUTPUT, action="substituted", reason=said, loss=False))


class Ask(NamedTuple):
    """A question for a value; `begin` makes a call of a request and the way it goes, `forget` a way that was refused."""

    request: Request
    form: Form
    rungs: tuple[Rung, ...]
    target: Target | None
    begin: Callable[[Request], tuple[Call, Flow[StreamEvent]]]
    forget: Callable[[Rung], None]
    stream: bool


class StructuredCall(Call):
    """One call for a value, of one exchange or, where a way to ask was refused, of two."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        super().__init__(ask.target, clock)
        self._ask = ask
        self._clock = clock
        self._call: Call | None = None
        self._reading = Reading(ask.form, ask.rungs[0])
        self._late = 0.0
        self._before: tuple[Attempt, ...] = ()
        self._moved: list[Note] = []
        self.first: tuple[Call, Flow[StreamEvent]] = self._begun(ask.rungs[0])

    def steps(self) -> Flow[StreamEvent]:
        """Ask, and once more in the next way where the first is refused and a move is left."""
        form, left, began = self._ask.form, self._ask.form.wanted.moves, self._clock.now()
        steps = self.first[1]
        for rung, below in zip(self._ask.rungs, (*self._ask.rungs[1:], None), strict=True):
            self._late = self._clock.now() - began
            try:
                yield from steps
                if self._reading.error is None:
                    return
                raise self._reading.error
            except ApiError as error:
                if below is None or not left or not self._reading.refused(error):
                    raise
                self._ask.forget(rung)
                why = f"the service refused {HOW[rung]} ({error.message})"
            except OutputError as error:
                invalid = type(error) is OutputError and form.wanted.invalid == "move" and not self._ask.stream
                if below is None or not left or not invalid:
                    raise
                why = error.message
            left -= 1
            said = f"{why}: asked again by {HOW[below]}"
            self._moved.append(Note(path=OUTPUT, action="substituted", reason=said, loss=False))
            self._before = self.attempts
            _, steps = self._begun(below)

    def _begun(self, rung: Rung) -> tuple[Call, Flow[StreamEvent]]:
        ask = self._ask
        dialect = BASE if ask.target is None else ask.target.dialect
        self._reading = Reading(ask.form, rung, answer_name(ask.request.tools) if rung == "tool" else None)
        self._call, steps = ask.begin(asked(ask.request, rung, ask.form, dialect))
        self._call.reading = self._reading
        return self._call, steps

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Those of every way that was tried."""
        now = () if self._call is None else self._call.attempts
        return (*self._before, *(replace(each, number=each.number + len(self._before)) for each in now))

    @property
    def ended(self) -> bool:
        """See Call."""
        return self._call is not None and self._call.ended

    @property
    def reply(self) -> Reply:
        """See Call; its times count from the first question on."""
        assert self._call is not None
        reply = self._call.reply
        return replace(reply, timing=later(reply.timing, self._late)) if self._late else reply

    @property
    def error(self) -> ApiError | None:
        """See Call."""
        return None if self._call is None else self._call.error

    @property
    def notes(self) -> tuple[Note, ...]:
        """See Call; first which ways were refused."""
        now = () if self._call is None else self._call.notes
        return (*self._moved, *now, *self._reading.notes)

    def outcome(self) -> Outcome:
        """See Call."""
        if self._call is None:
            raise Cancelled
        made = self._call.outcome()
        return replace(made, reply=self.reply, notes=self.notes, attempts=self.attempts)


def _text(call: ToolCall) -> Text:
    return Text(text=call.arguments, cache=call.cache)


def _ended(stop: Stop) -> Stop:
    return replace(stop, reason="end") if stop.reason == "tool_calls" else stop
