"""A model over any transport for tests that call and wait: what is awaited is awaited within."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from dragoman.client import AsyncModel, Model
from dragoman.types.events import StreamEvent

SYNC = ("httpx2", "stdlib")
ASYNC = ("async httpx2", "aiohttp")
TRANSPORTS = (*SYNC, *ASYNC)


def made(spec: Any, *, transport: str, **options: Any) -> Any:
    """A Model over that transport, or what stands for an AsyncModel."""
    if transport in SYNC:
        return Model(spec, transport=transport, **options)
    return Awaited(AsyncModel(spec, transport=transport.removeprefix("async "), **options))


class Awaited:
    """An AsyncModel as a Model: an event loop of its own, a stream read to its end."""

    def __init__(self, model: AsyncModel) -> None:
        self._model = model
        self._runner = asyncio.Runner()

    def chat(self, *said: Any, **options: Any) -> Any:
        return self._runner.run(self._model.chat(*said, **options))

    def outcome(self, *said: Any, **options: Any) -> Any:
        return self._runner.run(self._model.outcome(*said, **options))

    def stream(self, *said: Any, **options: Any) -> list[StreamEvent]:
        async def read() -> list[StreamEvent]:
            return [event async for event in self._model.stream(*said, **options)]

        return self._runner.run(read())

    def close(self) -> None:
        self._runner.run(self._model.close())
        self._runner.close()

    def __repr__(self) -> str:
        return repr(self._model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
