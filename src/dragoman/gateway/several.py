"""Several answers to one text completion, of a model that answers one question at a time (CMP-002): whole ones side by
side, streams one after the other, choices in the order of the prompts, tokens added up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import anyio
from msgspec.structs import replace

from dragoman.client import AsyncModel, AsyncModelStream, Forward
from dragoman.errors import DragomanError
from dragoman.types.events import Failure, Finish, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire.completions.several import Further, added, joined

AT_ONCE = 8  # whole answers that a service is asked for at a time


class EachOf:
    """A model that is asked several questions for one."""

    def __init__(self, model: AsyncModel, questions: Sequence[Request]) -> None:
        self._model, self._questions = model, questions
        self.target = model.target

    def forward(self, ask: Forward) -> Several:
        """See AsyncModel.forward."""
        streams = [self._model.forward(replace(ask, request=each)) for each in self._questions]
        return Several(streams, stream=bool(ask.request.stream))


class Several:
    """Answers as one, for whoever reads one: see AsyncModelStream."""

    def __init__(self, streams: Sequence[AsyncModelStream], *, stream: bool) -> None:
        self._streams = streams
        self._further: list[Note] = []  # of what has no place in a further choice
        self._events = self._one_by_one() if stream else self._side_by_side()

    @property
    def reply(self) -> Reply:
        """All answers as one reply with several choices."""
        return joined([stream.reply for stream in self._streams])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was told of any of them, once."""
        told = dict.fromkeys(note for stream in self._streams for note in stream.notes)
        return (*told, *self._further)

    def __aiter__(self) -> AsyncGenerator[StreamEvent, None]:
        return self._events

    async def batches(self) -> AsyncGenerator[list[StreamEvent], None]:
        """The same events, as those who hand them on read them."""
        async for event in self._events:
            yield [event]

    async def finish(self) -> Failure | None:
        """Read them all to their ends; the Failure that ended them, if one did."""
        last = None
        async for event in self._events:
            last = event
        return last if isinstance(last, Failure) else None

    async def close(self) -> None:
        """End them all."""
        await self._events.aclose()
        for stream in self._streams:
            await stream.close()

    async def _one_by_one(self) -> AsyncGenerator[StreamEvent, None]:
        end: Finish | None = None
        for at, stream in enumerate(self._streams):
            further = Further(at)
            async for event in stream:
                if at == 0 and isinstance(event, Finish):
                    end = event
                    continue
                for piece in further.feed(event) if at else (event,):
                    yield piece
                if isinstance(event, Failure):
                    return
            self._further += further.notes
        if end is not None:
            yield replace(end, usage=added([stream.reply.usage for stream in self._streams]), reply=None)

    async def _side_by_side(self) -> AsyncGenerator[StreamEvent, None]:
        for failure in await self._all():
            yield failure

    async def _all(self) -> list[Failure]:
        """Wait for all; what goes wrong in one ends the others. Raises its error."""
        room, raised, failed = anyio.CapacityLimiter(AT_ONCE), list[DragomanError](), list[Failure]()
        async with anyio.create_task_group() as group:

            async def wait(stream: AsyncModelStream) -> None:
                async with room:
                    try:
                        failed.extend([event async for event in stream if isinstance(event, Failure)])
                    except DragomanError as error:
                        raised.append(error)
                if raised or failed:
                    group.cancel_scope.cancel()

            for stream in self._streams:
                group.start_soon(wait, stream)
        if raised:
            raise raised[0]
        return failed
