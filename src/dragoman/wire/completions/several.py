"""Several answers to one body, for whoever answers one question at a time: a question each, and one reply of them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dragoman.types.content import Refusal, Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Raw, StreamEvent
from dragoman.types.message import Message
from dragoman.types.opaque import bag
from dragoman.types.reply import Choice, Reply, Usage
from dragoman.types.request import Request
from dragoman.wire.base import Notes
from dragoman.wire.completions.parts import WIRE, block_text
from dragoman.wire.completions.prompt import MORE, block_of
from dragoman.wire.completions.stops import encode_stop

CHOICE = "choice"  # the event that is a piece of a choice after the first, as this wire writes it


def how_many(request: Request) -> int:
    """How many answers a body asks for: `n` to each of its prompts."""
    first = request.messages[0] if request.messages else None
    more = 0 if first is None else len(bag(first.opaque, WIRE).get(MORE, ()))
    return (1 + more) * max(request.n or 1, 1)


def each_prompt(request: Request) -> tuple[Request, ...]:
    """One request for each prompt of a body that had several: what a server does that answers one at a time (CMP-002)."""
    first = request.messages[0] if request.messages else None
    more = bag(first.opaque, WIRE).get(MORE, []) if first is not None else []
    if first is None or not more:
        return (request,)
    prompts = (*first.content, *map(block_of, more))
    return tuple(replace(request, messages=(Message(role="user", content=(block,)),)) for block in prompts)


def each_sample(request: Request) -> tuple[Request, ...]:
    """One request for each of `n` answers to one prompt. A seed counts on, or all would be the same answer."""
    if not request.n or request.n < 2:
        return (request,)
    seed, lone = request.sampling.seed, replace(request, n=None)
    if seed is None:
        return (lone,) * request.n
    return tuple(replace(lone, sampling=replace(request.sampling, seed=seed + at)) for at in range(request.n))


def joined(replies: Sequence[Reply]) -> Reply:
    """The answers as one reply: choices in the order of the questions, tokens added up."""
    first = replies[0]
    choices = [
        choice
        for reply in replies
        for choice in (Choice(message=reply.message, stop=reply.stop), *(reply.others or ()))
    ]
    return replace(first, others=tuple(choices[1:]) or None, usage=added([reply.usage for reply in replies]))


def added(usages: Sequence[Usage | None]) -> Usage | None:
    """The tokens of several answers; None where none told any."""
    told = [usage for usage in usages if usage is not None]
    if not told:
        return None
    figures = ("input", "output", "cache_read", "cache_write", "reasoning", "cost")
    said = {name: [value for usage in told if (value := getattr(usage, name)) is not None] for name in figures}
    totals: dict[str, Any] = {name: sum(values) for name, values in said.items() if values}
    return Usage(**totals)


class Further:
    """The events of a further answer as pieces of the choice with its index; `notes`: what has no place in one."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._taken = Notes()
        self._texts: set[int] = set()
        self._said: set[int] = set()

    @property
    def notes(self) -> Sequence[Any]:
        """What the events so far had beyond text."""
        return self._taken.taken

    def feed(self, event: StreamEvent) -> tuple[StreamEvent, ...]:
        """The pieces of one event; a failure is the failure of all."""
        match event:
            case BlockStart():
                return self._begun(event)
            case Delta(index=index, text=text) if index in self._texts:
                self._said.add(index)
                return self._piece(text)
            case BlockEnd(index=index, block=Text() | Refusal() as block) if index in self._texts - self._said:
                return self._piece(block.text)
            case Finish(stop=stop):
                word = encode_stop(stop, Message(role="assistant", content=()), self._taken, ("others", "stop"))
                return (self._choice("", word or "stop"),)
            case Failure():
                return (event,)
            case _:
                return ()

    def _begun(self, event: BlockStart) -> tuple[StreamEvent, ...]:
        text = block_text(event.block, self._taken, ("others", self._index - 1, "message", "content", event.index))
        if text is None:
            return ()
        before = "\n" if self._texts else ""
        self._texts.add(event.index)
        if text:
            self._said.add(event.index)
        return self._piece(before + text)

    def _piece(self, text: str) -> tuple[StreamEvent, ...]:
        return (self._choice(text, None),) if text else ()

    def _choice(self, text: str, stop: str | None) -> Raw:
        said = {"text": text, "index": self._index, "logprobs": None, "finish_reason": stop}
        return Raw(wire=WIRE, name=CHOICE, payload=said)
