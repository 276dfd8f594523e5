"""Guards all that is public against values of a wrong kind: each is a UsageError on one line, and never an error from within."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman import Agent, AsyncModel, Model, Structured, tool
from dragoman.agent import Limits as RunLimits
from dragoman.agent import Manner, Policy
from dragoman.agent.agent import AgentOptions
from dragoman.client.options import Options
from dragoman.errors import DragomanError, UsageError
from dragoman.testing import FakeClock, FakeProvider
from dragoman.transport.base import Limits
from dragoman.transport.retry import RetryPolicy

SPEC = "http://127.0.0.1:1/v1#chat:m"  # nobody is there: nothing is to be sent
ODD: tuple[Any, ...] = (5, -1.5, "x y", b"x", None, True, object(), [1], {"a": 1}, {1}, lambda: 1, float("nan"))
STRUCTURED: Any = Structured
MODEL: Any = Model
QUICK = RetryPolicy(retries=0)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class Nobody:
    """A model that says nothing."""

    def stream(self, request: Any) -> Iterator[Any]:
        return iter(())


def parameters(of: Any) -> list[str]:
    """The names of what can be passed; `self` is none."""
    found = inspect.signature(of).parameters.values()
    return [each.name for each in found if each.name != "self" and each.kind is not each.VAR_KEYWORD]


async def awaited(does: Callable[[AsyncModel], Any]) -> Any:
    async with AsyncModel(SPEC, env={}, retry=QUICK) as model:
        made = does(model)
        return await made if inspect.isawaitable(made) else [event async for event in made]


def fake(**said: Any) -> None:
    provider: Any = FakeProvider(**said)
    provider._server.server_close()


CALLS = ("chat", "outcome", "complete", "count", "stream")
PLACES: dict[str, Callable[[Any], Any]] = {
    **{f"Limits({name})": lambda odd, name=name: Limits(**{name: odd}) for name in parameters(Limits)},
    **{f"RetryPolicy({name})": lambda odd, name=name: RetryPolicy(**{name: odd}) for name in parameters(RetryPolicy)},
    **{f"agent.Limits({name})": lambda odd, name=name: RunLimits(**{name: odd}) for name in parameters(RunLimits)},
    **{f"Manner({name})": lambda odd, name=name: Manner(**{name: odd}) for name in parameters(Manner)},
    **{f"Policy({name})": lambda odd, name=name: Policy(**{name: odd}) for name in parameters(Policy)},
    **{f"Policy.of({name})": lambda odd, name=name: Policy.of(**{name: odd}) for name in parameters(Policy.of)},
    **{f"FakeClock({name})": lambda odd, name=name: FakeClock(**{name: odd}) for name in parameters(FakeClock)},
    **{f"FakeProvider({name})": lambda odd, name=name: fake(**{name: odd}) for name in parameters(FakeProvider)},
    **{
        f"Model({name})": lambda odd, name=name: MODEL(SPEC, **{"env": {}, name: odd})
        for name in parameters(Model)
        if name not in ("spec", "record")
    },
    **{
        f"Agent({name})": lambda odd, name=name: Agent(Nobody(), [add], **{name: odd})
        for name in sorted(AgentOptions.__optional_keys__)
    },
    **{f"plan({name})": lambda odd, name=name: Model(SPEC, env={}).plan("hi", **{name: odd}) for name in sorted(Options.__optional_keys__)},
    **{f"Structured({name})": lambda odd, name=name: Model(SPEC, env={}).plan("x", output=STRUCTURED(**{"of": int, name: odd})) for name in parameters(Structured)},
    "Model": lambda odd: Model(odd, env={}),
    "plan": lambda odd: Model(SPEC, env={}).plan(odd),
    "forward": lambda odd: Model(SPEC, env={}).forward(odd),
    "forward_count": lambda odd: Model(SPEC, env={}).forward_count(odd),
    "complete(purpose)": lambda odd: Model(SPEC, env={}, retry=QUICK).complete("x", purpose=odd),
    "Agent": lambda odd: Agent(odd),
    "Agent(tools)": lambda odd: Agent(Nobody(), odd),
    "Agent(tools[])": lambda odd: Agent(Nobody(), [odd]),
    "Agent.start": lambda odd: Agent(Nobody()).start(odd),
    "Agent.start(history)": lambda odd: Agent(Nobody()).start("hi", history=odd),
    "Agent.start(history[])": lambda odd: Agent(Nobody()).start("hi", history=[odd]),
    "Agent.resume": lambda odd: Agent(Nobody()).resume(odd),
    "Agent.drive": lambda odd: Agent(Nobody()).drive(odd),
    "FakeClock.advance": lambda odd: FakeClock().advance(odd),
    "FakeProvider(quirks[])": lambda odd: fake(quirks=[odd]),
    "FakeProvider(script[])": lambda odd: fake(script=[odd]),
    **{
        f"FakeProvider(script[].{key})": lambda odd, key=key: fake(script=[{key: odd}])
        for key in ("text", "thinking", "calls", "stop", "usage", "quirks")
    },
    "FakeProvider(script[].calls[])": lambda odd: fake(script=[{"calls": [odd]}]),
    "tool": lambda odd: tool(odd),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_value_of_a_wrong_kind_is_told_or_taken(place: str) -> None:
    for odd in ODD:
        try:
            PLACES[place](odd)
        except DragomanError as error:
            assert "\n" not in error.message, (place, odd)


FUNCTION: Any = ODD[-2]
NEVER = [odd for odd in ODD if odd is not None]


@pytest.mark.parametrize("odd", NEVER, ids=lambda odd: type(odd).__name__)
def test_what_cancels_nothing_is_told_before_anything_is_sent(odd: Any) -> None:
    told = r"cancel is .*: pass a CancelToken, or None"
    with Model(SPEC, env={}) as model:
        for name in CALLS:
            with pytest.raises(UsageError, match=told):
                getattr(model, name)("hi", cancel=odd)
    for name in CALLS:
        with pytest.raises(UsageError, match=told):
            asyncio.run(awaited(lambda model, name=name: getattr(model, name)("hi", cancel=odd)))
    agent = Agent(Nobody())
    with pytest.raises(UsageError, match=told):
        agent.run("hi", cancel=odd)
    with pytest.raises(UsageError, match=told):
        asyncio.run(agent.arun("hi", cancel=odd))


def test_a_listener_that_cannot_be_told_is_told_of_first() -> None:
    agent, odd = Agent(Nobody()), ODD[0]
    with pytest.raises(UsageError, match="on_event is 5: pass a function, or None"):
        agent.run("hi", on_event=odd)
    with pytest.raises(UsageError, match="on_event is 5: pass a function, or None"):
        asyncio.run(agent.arun("hi", on_event=odd))


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (lambda: FakeProvider(quirks=ODD[0]), 'quirks is 5: pass a list of names, as ["rate-limit:2"]'),
        (lambda: FakeProvider(script="hello"), "script is 'hello': pass a list of lines, or a function of a Request"),
        (lambda: FakeProvider(port=70_000), "port is 70000: pass a number up to 65535, 0 for any that is free"),
        (lambda: RetryPolicy(retries=ODD[2]), "RetryPolicy(retries='x y'): expected `int`, got `str`"),
        (lambda: RunLimits(seconds=ODD[2]), "Limits(seconds='x y'): expected `float | null`, got `str`"),
        (lambda: Manner(clock=ODD[0]), "Manner.clock is 5: pass a Clock"),
        (lambda: Policy.of(allow="shell"), "allow is 'shell': pass a list of rules, as [\"shell:git *\"]"),
        (lambda: Agent(Nobody(), policy=ODD[0]), "an agent's policy is 5: pass a Policy, as Policy.of(allow=[…])"),
        (lambda: Agent(Nobody()).resume(ODD[4]), "state is None: pass a run's `state`"),
        (lambda: Agent(Nobody()).start("x", history=ODD[0]), "history is 5: pass a list of Messages, as an earlier result's `history`"),
    ],
)  # fmt: skip
def test_the_line_says_what_to_pass(does: Callable[[], Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        does()
    assert caught.value.message == told
