"""Models that answer by script: what the tests of the loop stand on in place of a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypeAlias

from dragoman.types.collect import explode
from dragoman.types.content import Text, ToolCall
from dragoman.types.events import StreamEvent
from dragoman.types.message import Message
from dragoman.types.reply import Reply, Stop, StopReason, Usage
from dragoman.types.request import Request

Turn: TypeAlias = Reply | Sequence[StreamEvent] | Exception


class Script:
    """Answers each request with the next turn; `requests` are those it got."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.requests: list[Request] = []

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        self.requests.append(request)
        yield from events(self.turns[len(self.requests) - 1])


class AsyncScript(Script):
    """The same for async callers."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:  # pyright: ignore
        self.requests.append(request)
        for event in events(self.turns[len(self.requests) - 1]):
            yield event


def events(turn: Turn) -> Iterator[StreamEvent]:
    if isinstance(turn, Exception):
        raise turn
    yield from explode(turn) if isinstance(turn, Reply) else turn


def says(text: str, reason: StopReason = "end", usage: Usage | None = None) -> Reply:
    """A reply of text."""
    return Reply(message=Message(role="assistant", content=(Text(text=text),)), stop=Stop(reason=reason), usage=usage)


def calls(*made: ToolCall, reason: StopReason = "tool_calls", usage: Usage | None = None) -> Reply:
    """A reply of calls."""
    return Reply(message=Message(role="assistant", content=made), stop=Stop(reason=reason), usage=usage)


def call(id: str, name: str, arguments: str = "{}") -> ToolCall:
    """A call, its arguments as a model writes them."""
    return ToolCall(id=id, name=name, arguments=arguments)
