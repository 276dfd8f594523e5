"""A storm of random models over the loop: whatever they say, whenever it is cancelled or killed, see what must still hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec

from dragoman.agent import Agent, Limits, Manner, Outcome, Policy, Run, RunResult, RunState, drive
from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, RemoteError, TransportError
from dragoman.history import check
from dragoman.tools import Bounds, FunctionTool, ToolOutput, Traits, tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import (
    Content,
    Delta,
    Failure,
    Message,
    Reasoning,
    Refusal,
    Reply,
    Request,
    Stop,
    Text,
    ToolCall,
    Usage,
    explode,
    user,
)
from dragoman.types.events import StreamEvent
from dragoman.types.reply import StopReason
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange

OUTCOMES = get_args(Outcome)
REASONS = get_args(StopReason)
NAMES = [
    "look",
    "look",
    "look",
    "write",
    "forbidden",
    "boom",
    "huge",
    "nothing",
    "Look",
    "look ",
    "os.system",
    "",
    "ls $HOME && rm",
]
IDS = ["c1", "c2", "", "call_x", "call_x", "a" * 80, "功能", "toolu_01 \n", "c1_2"]
WORDS = ["", " ", "\n\n", "Let me see.", "好的 🚀", "half \ud83d", "\ud800", "x" * 5000, "<think>", "\0"]
ARGUMENTS = [
    '{"n":1}',
    '{"n":"2"}',
    '{"n":2,"path":"a"}',
    '{"n":true}',
    '{"n":[1]}',
    '{"N":1}',
    "{}",
    "",
    "null",
    "[]",
    '"x"',
    "7",
    '{"n":',
    '{"n":1}{"n":2}',
    '```json\n{"n":3}\n```',
    '{"n":1,}',
    '{"n":NaN}',
    '{"n":1e999}',
    '{"n":' + "9" * 400 + "}",
    '{"path":"\\ud800"}',
    "{" * 3000,
    '{"n":1,"path":"' + "y" * 100_000 + '"}',
    '{"path":"../../etc/passwd","n":1}',
    '{"n":1,"path":"\ud800"}',
]


@dataclass
class World:
    """What the tools of one run may and may not touch."""

    folder: Path
    ran: list[str] = field(default_factory=list[str])

    @property
    def sentinel(self) -> Path:
        """The file that a forbidden tool writes."""
        return self.folder / "forbidden"

    def tools(self) -> list[FunctionTool]:
        """Tools that look, fail, give too much or nothing, and two that must never run."""

        @tool(traits=Traits(paths=("path",), root=str(self.folder)))
        def look(n: int, path: str = ".") -> str:
            """Look."""
            self.ran.append(f"{n} {path}")
            return f"saw {n}"

        @tool(access="write")
        def write(n: int) -> str:
            """Write."""
            self.sentinel.write_text("write ran")
            return "written"

        @tool(access="send")
        async def forbidden(n: int = 1) -> str:
            """Send."""
            self.sentinel.write_text("forbidden ran")
            return "sent"

        @tool
        def boom(n: int) -> str:
            """Fail."""
            raise [ValueError("no"), RuntimeError("x" * 100_000), KeyError("\ud800"), asyncio.CancelledError()][n % 3]

        @tool
        async def huge(n: int = 1) -> ToolOutput:
            """Give too much."""
            await asyncio.sleep(0)
            return ToolOutput(content=(Text(text="好" * 30_000), Text(text="")), display="PEOPLE")

        @tool
        def nothing() -> None:
            """Give nothing."""

        return [look, write, forbidden, boom, huge, nothing]


def block(rng: Random) -> Content:
    """A random block of a reply."""
    kind = rng.random()
    if kind < 0.6:
        return ToolCall(
            id=rng.choice(IDS) if rng.random() < 0.5 else f"id{rng.randrange(10**6)}",
            name=rng.choice(NAMES),
            arguments=arguments(rng),
            kind=rng.choice(["function", "function", "function", "custom", "builtin"]),
        )
    word = rng.choice(WORDS)
    return rng.choice([Text(text=word), Text(text=word), Reasoning(text=word), Reasoning(), Refusal(text=word or "no")])


def arguments(rng: Random) -> str:
    """Good ones, strange ones, and good ones with something wrong, a third each."""
    kind = rng.randrange(3)
    return json.dumps({"n": rng.randrange(9)}) if kind == 0 else rng.choice(ARGUMENTS) if kind == 1 else torn(rng)


def torn(rng: Random) -> str:
    """Good arguments with one thing wrong."""
    text = list(json.dumps({"n": rng.randrange(100), "path": "a/b"}))
    for _ in range(rng.randrange(1, 4)):
        text[rng.randrange(len(text))] = rng.choice(["", '"', "}", "{", ",", "\\", "\n", "好", "0"])
    return "".join(text)


def turn(rng: Random) -> list[StreamEvent] | Exception:
    """A random reply as a stream: whole, cut, failed, or refused."""
    content = tuple(block(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 5])))
    usage = Usage(input=rng.randrange(100), output=rng.randrange(100)) if rng.random() < 0.5 else None
    usual = "tool_calls" if any(isinstance(one, ToolCall) for one in content) else rng.choice(["end", "pause", "pause"])
    reason = rng.choice(REASONS) if rng.random() < 0.15 else usual
    reply = Reply(message=Message(role="assistant", content=content), stop=Stop(reason=reason), usage=usage)
    events: list[StreamEvent] = list(explode(reply))
    chance = rng.random()
    if chance < 0.02:
        return rng.choice(
            [ApiError("overloaded", "no"), TransportError("network", "gone"), RemoteError("bad_json", "?")]
        )
    if chance < 0.06:
        return events[: rng.randrange(len(events))]
    if chance < 0.09:
        return [*events[: rng.randrange(len(events))], Failure(code="network", message="connection lost")]
    return events


class Model:
    """A model that says what chance has it say, for `stream`; `limit` turns, then an end."""

    def __init__(self, rng: Random, limit: int = 8) -> None:
        self.rng, self.limit, self.requests = rng, limit, list[Request]()

    def turn(self, request: Request) -> list[StreamEvent]:
        """The next turn."""
        self.requests.append(request)
        if len(self.requests) > self.limit:
            return list(
                explode(Reply(message=Message(role="assistant", content=(Text(text="End."),)), stop=Stop(reason="end")))
            )
        said = turn(self.rng)
        if isinstance(said, Exception):
            raise said
        return said

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """For sync callers."""
        yield from self.turn(request)


class AsyncModel(Model):
    """The same for async callers."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:  # pyright: ignore
        """For async callers."""
        for event in self.turn(request):
            yield event


def faults(history: tuple[Message, ...] | list[Message], tools: list[FunctionTool]) -> list[str]:
    """Why the next request could not be sent as it stands, on whatever wire; empty when it could."""
    request = Request(model="m", messages=(*history, user("go on")), tools=tuple(item.definition for item in tools))
    found = [
        f"{wire}: {finding.rule} at {finding.path}"
        for wire in WIRES
        for finding in check(request, wire)
        if finding.severity == "error"
    ]
    for wire in WIRES:
        find(wire).encode_request(request, BASE, Exchange(seed="s", now=1))
    alternate = [one.role for one, two in pairwise(history) if one.role == two.role == "tool"]
    return [*found, *(["two tool messages in a row"] if alternate else [])]


def one_run(seed: int, folder: Path) -> list[str]:
    """One run through the storm; what did not hold."""
    rng, world = Random(seed), World(folder)
    tools, token, states = world.tools(), CancelToken(), list[RunState]()
    when = rng.randrange(1, 60) if rng.random() < 0.3 else None
    limits = Limits(steps=rng.choice([1, 3, 8, 20]), empty_turns=rng.choice([1, 3]), result=Bounds(bytes=2000))
    permit = rng.choice([None, lambda _question: False, lambda _question: "no, \ud800"])
    policy = rng.choice([Policy(), Policy.of(deny=["write", "forbidden"]), Policy.of(ask=["look:a*"])])
    seen = 0

    def keep(run: Run) -> None:
        if rng.random() < 0.1:
            states.append(run.state)

    def watch(event: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == when:
            token.cancel()
        if seen % 17 == 0 and isinstance(event, Delta) and not machine.ended:
            machine.say(user("By the way."))

    manner = Manner(
        permit=permit, cancel=token if when or rng.random() < 0.2 else None, eager=rng.random() < 0.5, checkpoint=keep
    )
    model = rng.choice([Model, AsyncModel])(rng)
    agent = Agent(model, tools, limits=limits, policy=policy, system=rng.choice([None, "S"]))
    machine = agent.start("Go.")
    try:
        if isinstance(model, AsyncModel):
            result = asyncio.run(drive.arun(machine, model, tools, on_event=watch, manner=manner))
        else:
            result = drive.run(machine, model, tools, on_event=watch, manner=manner)
        for one, two in pairwise(model.requests):
            if two.messages[: len(one.messages)] != one.messages:
                return ["what was sent before was changed"]
        wrong = held(result, world, tools)
        for state in states[:2]:
            wrong += [f"resumed: {fault}" for fault in resumed(state, policy, rng, world, tools)]
    except Exception as error:
        if not isinstance(error, KeyboardInterrupt):
            return [f"{type(error).__name__} left the loop: {error!s:.200}"]
        raise
    return wrong


def held(result: RunResult, world: World, tools: list[FunctionTool]) -> list[str]:
    """What does not hold at the end of a run."""
    wrong = faults(result.history, tools)
    if result.outcome not in OUTCOMES:
        wrong.append(f"outcome {result.outcome!r}")
    if world.sentinel.exists():
        wrong.append(world.sentinel.read_text())
    if "PEOPLE" in repr(result.history):
        wrong.append("what is for people is in the history")
    if any(".." in path for path in world.ran):
        wrong.append("a path outside was looked at")
    return wrong


def resumed(state: RunState, policy: Policy, rng: Random, world: World, tools: list[FunctionTool]) -> list[str]:
    """What does not hold after a saved state was taken up again."""
    again = msgspec.json.decode(msgspec.json.encode(state), type=RunState)
    agent = Agent(Model(rng, limit=2), tools, policy=policy)
    machine = agent.resume(again)
    if rng.random() < 0.5:
        machine.cancel("interrupted")
        return faults(machine.history, tools)
    return held(agent.drive(machine), world, tools)


def storm(seed: int, runs: int, folder: Path) -> list[str]:
    """Many runs; what did not hold, each with the seed that shows it again."""
    return [f"seed {at}: {fault}" for at in range(seed, seed + runs) for fault in one_run(at, folder)]
