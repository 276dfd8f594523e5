"""Runs that are killed at a random moment, as a power cut would, and taken up again from their last checkpoint."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import msgspec

from dragoman.agent import Agent, Limits, Manner, Policy, Run, RunState
from dragoman.tools import FunctionTool, tool
from dragoman.types import Content, Message, Reply, Request, Stop, Text, ToolCall, explode
from dragoman.types.events import StreamEvent
from hazards.storm import Model, faults


def killed(seed: int, folder: Path) -> list[str]:
    """A run in a child process that is killed at a random moment, and taken up again; what did not hold.

    Every tool call writes itself into a journal: none may be there twice.
    """
    rng, journal, file = Random(seed), folder / f"journal-{seed}", folder / f"state-{seed}"
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(tell, b".")
            _child(Random(seed), journal, file, folder)
        finally:
            os._exit(0)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(rng.random() * 0.06)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if not file.exists():
        return []
    state = msgspec.json.decode(file.read_bytes(), type=RunState)
    tools = _journalled(journal, 0.0)
    agent = Agent(Steady(rng, start=1000, limit=2), tools, policy=Policy.of(allow=["act"]))
    result = agent.drive(agent.resume(state))
    wrong = faults(result.history, tools)
    lines = journal.read_text().split() if journal.exists() else []
    if len(lines) != len(set(lines)):
        wrong.append(f"a call ran twice: {lines}")
    if (folder / "forbidden").exists():
        wrong.append("a forbidden tool ran")
    return [f"seed {seed}: {fault}" for fault in wrong]


class Steady(Model):
    """A model whose calls can be told apart."""

    def __init__(self, rng: Random, start: int = 0, limit: int = 30) -> None:
        super().__init__(rng, limit)
        self.count = start

    def turn(self, request: Request) -> list[StreamEvent]:
        """Some calls, good and bad, then an end."""
        if len(self.requests) >= self.limit:
            return super().turn(request)
        self.requests.append(request)
        made: list[Content] = [Text(text="Working.")]
        for _ in range(self.rng.randrange(1, 4)):
            self.count += 1
            name = self.rng.choice(["act", "look", "look", "forbidden", "nobody"])
            made.append(
                ToolCall(id=self.rng.choice(["c", f"c{self.count}"]), name=name, arguments=f'{{"n":{self.count}}}')
            )
        return list(
            explode(Reply(message=Message(role="assistant", content=tuple(made)), stop=Stop(reason="tool_calls")))
        )


def _journalled(journal: Path, pause: float) -> list[FunctionTool]:
    def note(n: int) -> str:
        descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{n}\n".encode())
        os.close(descriptor)
        time.sleep(pause)
        return f"did {n}"

    @tool
    def look(n: int) -> str:
        """Look."""
        return note(n)

    @tool(access="execute")
    def act(n: int) -> str:
        """Act."""
        return note(n)

    @tool(access="send")
    def forbidden(n: int) -> str:
        """Send."""
        (journal.parent / "forbidden").write_text("ran")
        return "sent"

    return [look, act, forbidden]


def _child(rng: Random, journal: Path, file: Path, folder: Path) -> None:
    draft = file.with_suffix(".draft")

    def keep(run: Run) -> None:
        draft.write_bytes(msgspec.json.encode(run.state))
        os.replace(draft, file)

    agent = Agent(
        Steady(rng),
        _journalled(journal, 0.0005),
        policy=Policy.of(allow=["act"]),
        limits=Limits(steps=30),
        manner=Manner(checkpoint=keep),
    )
    agent.run("Go.")


def storm_of_kills(seed: int, runs: int, folder: Path) -> list[str]:
    """Many killed runs; what did not hold."""
    return [fault for at in range(seed, seed + runs) for fault in killed(at, folder)]
