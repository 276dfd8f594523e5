"""Guards what leaves towards a client: what is written within one step of the loop in one piece, in order, and all of it before
the connection closes."""

from __future__ import annotations

import asyncio
from typing import Any

from dragoman.gateway.joined import Joined


class Noting:
    """A transport that writes down what was done to it."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("close")

    def is_closing(self) -> bool:
        return "close" in self.done


def test_one_step_is_one_piece_and_nothing_waits_longer() -> None:
    async def go() -> list[Any]:
        noting = Noting()
        transport: Any = noting
        joined: Any = Joined(transport, asyncio.get_running_loop())
        joined.write(b"head")
        joined.write(b"body")
        assert noting.done == []
        await asyncio.sleep(0)
        assert noting.done == [b"headbody"]
        joined.write(b"last")
        joined.close()
        assert joined.is_closing()
        await asyncio.sleep(0)
        return noting.done

    assert asyncio.run(go()) == [b"headbody", b"last", "close"]
