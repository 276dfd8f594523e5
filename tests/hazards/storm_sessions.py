"""Sessions whose process is killed at a random moment, or whose file ends at a random byte, and which then go on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from dragoman.agent import Agent, Follow, Limits, Manner, Policy, Session
from dragoman.agent.entries import Said, Summed
from dragoman.dialect.model import BASE
from dragoman.history import Cut, check, composed
from dragoman.history.rounds import running
from dragoman.tools import FunctionTool, tool
from dragoman.types import Content, Note, Reply, Request, Stop, Text, ToolCall, assistant, explode, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange

NAMES = ("act", "look", "look", "forbidden", "nobody")
ENDS = ("tool_calls", "tool_calls", "end", "error")


class Steady:
    """A model whose calls can be told apart, some of which are broken; every few turns it ends or breaks off."""

    def __init__(self, rng: Random, start: int) -> None:
        self.rng, self.numbers = rng, count(start)

    def stream(self, request: Request) -> Iterator[Any]:
        """The next turn."""
        reason = self.rng.choice(ENDS)
        made: list[Content] = [Text(text="Working. 好")]
        for _ in range(self.rng.randrange(1, 4) if reason == "tool_calls" else 0):
            number = next(self.numbers)
            arguments = f'{{"n":{number}' + "}" * self.rng.choice([0, 1, 1, 1])
            id = self.rng.choice(["c", f"c{number}"])
            made.append(ToolCall(id=id, name=self.rng.choice(NAMES), arguments=arguments))
        yield from explode(Reply(message=assistant(*made), stop=Stop(reason=reason)))


def tools_of(journal: Path) -> list[FunctionTool]:
    """Two tools that write themselves into a journal, and one that must never run."""

    def note(n: int) -> str:
        descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{n}\n".encode())
        os.close(descriptor)
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
        journal.with_suffix(".forbidden").write_text("ran")
        return "sent"

    return [look, act, forbidden]


def go_on(session: Session, rng: Random, journal: Path, start: int, rounds: int) -> None:
    """Some rounds more of a session, as a chat has them."""
    tools = tools_of(journal)
    model = Steady(rng, start)
    for at in range(rounds):
        agent = Agent(model, tools, policy=Policy.of(allow=["act"]), limits=Limits(steps=6))
        session.settle()
        machine = agent.start(f"Go on, {at}.", history=session.tale.history)
        follow = Follow(session, machine)
        machine.say(user("Meanwhile."))
        Agent(
            model, tools, policy=Policy.of(allow=["act"]), limits=Limits(steps=6), manner=Manner(checkpoint=follow)
        ).drive(machine)
        if tuple(machine.history) != session.tale.history:
            raise AssertionError("what is in the file is not what was said")
        if len(machine.history) > 12 and rng.random() < 0.3:
            cut = Cut(upto=running(machine.history), summary="So far.")
            session.append(Summed(cut=cut, note=Note(path=("messages",), action="substituted", reason="compaction")))


def faults(session: Session, journal: Path) -> list[str]:
    """Why a session could not go on, on whatever wire, without repair; empty when it could."""
    said = session.request(Request(model="m", tools=tuple(item.definition for item in tools_of(journal))))
    said = composed(said, session.tale.cut)[0]
    asked = Request(model="m", messages=(*said.messages, user("go on")), tools=said.tools)
    wrong: list[str] = []
    for wire in WIRES:
        for finding in check(asked, wire):
            if finding.severity == "error":
                wrong.append(f"{wire}: {finding.rule} at {finding.path}")
        find(wire).encode_request(asked, BASE, Exchange(seed="s", now=1))
    if journal.with_suffix(".forbidden").exists():
        wrong.append("a forbidden tool ran")
    lines = journal.read_text().split() if journal.exists() else []
    if len(lines) != len(set(lines)):
        wrong.append(f"a call ran twice: {lines}")
    return wrong


def killed(seed: int, folder: Path) -> list[str]:
    """A session in a child process that is killed; what does not hold when it is opened, and after it went on."""
    rng, journal, file = Random(seed), folder / f"ran-{seed}", folder / f"session-{seed}.jsonl"
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(tell, b".")
            go_on(Session.create(file, system="Be kind."), Random(seed), journal, 0, 60)
        finally:
            os._exit(0)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(rng.random() * 0.08)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if not file.exists() or b"\n" not in file.read_bytes():
        return []
    return [f"seed {seed}: {fault}" for fault in taken_up(file, rng, journal)]


def taken_up(file: Path, rng: Random, journal: Path) -> list[str]:
    """What does not hold when a session is opened, and after it went on."""
    with Session.open(file) as session:
        wrong = faults(session, journal)
        ran = set(journal.read_text().split()) if journal.exists() else set[str]()
        told = {line for line in _results(session) if line.startswith("did ")}
        if not told <= {f"did {number}" for number in ran}:
            wrong.append("a result of a call that never ran")
        go_on(session, rng, journal, 100_000, 2)
        wrong += faults(session, journal)
    with Session.open(file) as again:
        if again.tale.history != session.tale.history or again.notes:
            wrong.append("what was read again is not what was written")
    return wrong


def _results(session: Session) -> list[str]:
    return [
        part.text
        for message in session.tale.history
        for block in message.content
        for part in getattr(block, "content", ())
        if isinstance(part, Text)
    ]


def torn(seed: int, folder: Path) -> list[str]:
    """A session whose file ends at a random byte."""
    rng, journal = Random(seed), folder / f"torn-ran-{seed}"
    file = folder / f"torn-{seed}.jsonl"
    with Session.create(file, system="Be kind.") as session:
        go_on(session, rng, journal, 0, 4)
    data = file.read_bytes()
    first = data.index(b"\n") + 1
    wrong: list[str] = []
    for at in range(12):
        part = folder / f"torn-{seed}-{at}.jsonl"
        part.write_bytes(data[: rng.randrange(first, len(data) + 1)])
        with Session.open(part) as opened:
            wrong += faults(opened, journal)
            opened.settle()
            opened.append(Said(message=user("Go on.")))
            wrong += faults(opened, journal)
        if Session.open(part).notes:
            wrong.append("a half line stayed")
    return [f"seed {seed}: {fault}" for fault in wrong]


def storm_of_sessions(seed: int, kills: int, tears: int, folder: Path) -> list[str]:
    """Many of both; what did not hold, each with the seed that shows it again."""
    wrong = [fault for at in range(seed, seed + kills) for fault in killed(at, folder)]
    return wrong + [fault for at in range(seed, seed + tears) for fault in torn(at, folder)]
