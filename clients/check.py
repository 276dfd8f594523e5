"""What one run must show, and what it is called: done, degraded or WRONG."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from clients.backend import ANSWER
from clients.client import Client, Ran


class Cell(Struct, frozen=True, kw_only=True):
    """One client before one back end, in one scene. `faults` are sentences; none of them: done."""

    client: str
    speaks: str
    wire: str
    scene: str
    outcome: Literal["done", "degraded", "WRONG"]
    faults: tuple[str, ...] = ()
    seconds: float = 0.0


def cell(client: Client, wire: str, scene: str, ran: Ran) -> Cell:
    """What is to be said of a run."""
    faults: list[str] = []
    if ran.answer is None or ANSWER not in ran.answer:
        faults.append(f"no answer: exit code {ran.code}, {(ran.fault or ran.answer or (ran.err or ran.out)[-300:])!r}")
    return Cell(
        client=client.name,
        speaks=client.wire,
        wire=wire,
        scene=scene,
        outcome="WRONG" if faults else "done",
        faults=tuple(faults),
        seconds=round(ran.seconds, 2),
    )
