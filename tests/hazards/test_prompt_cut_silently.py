"""Guards CTX-010: a server that cuts a conversation to its window without a word is found out by its own figures."""

from __future__ import annotations

import pytest

from dragoman.client import Model
from dragoman.testing import FakeProvider
from dragoman.types import Request, Usage, system, user
from dragoman.wire import WIRES

LONG = Request(messages=(system("You are careful. " * 1800), user("Which tools are there?")))  # some 7,000 tokens


@pytest.mark.case("CTX-010")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("usage", "suspected"),
    [
        (Usage(input=4090, output=6), True),
        (Usage(input=4095, output=200), True),
        (Usage(input=2048, output=31), True),
        (Usage(input=4090, output=7), False),
        (Usage(input=7168, output=5), False),
        (Usage(output=6), False),
    ],
)
def test_figures_that_end_at_a_window_give_it_away(wire: str, stream: bool, usage: Usage, suspected: bool) -> None:
    script = [{"text": "I", "stop": "length", "usage": {"input": usage.input or 0, "output": usage.output}}]
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, env={}) as model:
        if stream:
            reading = model.stream(LONG)
            list(reading)
            notes = reading.notes
        else:
            notes = model.outcome(LONG).notes
    told = [note for note in notes if "seems to have cut the conversation" in note.reason]
    assert [(note.path, note.loss) for note in told] == ([(("messages",), True)] if suspected else [])
    if told:
        assert f"counted {usage.input} tokens of some 7" in told[0].reason


def test_a_short_conversation_is_never_suspected() -> None:
    script = [{"text": "I", "usage": {"input": 1023, "output": 1}}]
    with FakeProvider("chat", script=script) as fake, Model(fake.spec, env={}) as model:
        assert not [note for note in model.outcome("hi").notes if note.loss]
