"""Guards a change of vendor in mid-conversation: chat, messages, responses, local, with reasoning, images and calls between."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.agent import Agent, Follow, Manner, Session
from dragoman.agent.entries import Switched
from dragoman.client import Model
from dragoman.engine.capable import capabilities
from dragoman.engine.prompt import prompt
from dragoman.engine.template import of_file
from dragoman.history import Cut, check, composed
from dragoman.testing import FakeProvider
from dragoman.tools import tool
from dragoman.types import Media, Note, Reasoning, Request, Text, assistant, explode, system, user
from dragoman.types.collect import Collector
from dragoman.types.events import StreamEvent
from dragoman.wire import WIRES
from matrix import valid
from unit.agent.scripted import says

ROAD = ("chat", "messages", "responses", "chat", "responses", "messages")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEMPLATES = Path(__file__).resolve().parents[1] / "data" / "templates"
WRITTEN = ("sampling", "output_format", "bare answer")  # of valid.ACCEPTED: recorded with a 200, and not in the types


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"a {what}, 一个"


class Local:
    """A model of this machine up to its prompt: what the template makes of the conversation, and what it could not."""

    def __init__(self) -> None:
        self.text, self.notes = "", tuple[Note, ...]()

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        template = of_file(TEMPLATES / "kimi-k2.jinja")
        made = prompt(template, capabilities(template), request, datetime(2026, 1, 1))
        self.text, self.notes = made.text, made.notes
        return iter(list(explode(says("Local says so."))))  # type: ignore[arg-type]


def asked(at: int) -> tuple[Any, ...]:
    return (f"Question {at}: what is this?", Media(kind="image", media_type="image/png", data=PIXEL))


def script(at: int) -> list[dict[str, Any]]:
    """A turn that thinks and calls, and one that thinks and answers; call ids that other vendors would not make."""
    call = {"id": f"functions.look:{at}", "name": "look", "arguments": {"what": f"cat {at}"}}
    return [
        {"thinking": f"Thought {at}a.", "text": f"Word {at}.", "calls": [call]},
        {"thinking": f"Thought {at}b.", "text": f"Answer {at}."},
    ]


def say(session: Session, model: Any, at: int) -> tuple[Note, ...]:
    """One round with a model; what was noted."""
    machine = Agent(model, [look], system="Be exact.").start(user(*asked(at)), history=session.tale.history)
    follow = Follow(session, machine)
    result = Agent(model, [look], manner=Manner(checkpoint=follow)).drive(machine)
    assert result.outcome == "done"
    return result.notes


def faults(wire: str, body: dict[str, Any]) -> list[str]:
    """What the vendor's types say, save the key under which servers of the chat wire want their own thoughts back."""
    for message in body["messages"] if wire == "chat" else ():
        message.pop("reasoning_content", None)
    for row in valid.ACCEPTED:
        if row.wire == wire and row.name in WRITTEN:
            row.mend(body)
    return valid.errors(wire, body)


def texts(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(texts(item) for item in value.values())
    return "\n".join(map(texts, value)) if isinstance(value, list) else str(value)


def test_each_next_request_is_valid_and_what_was_lost_is_told(tmp_path: Path) -> None:
    """Words, calls and results all arrive; the reasoning of another model stays behind with a note, one's own goes back."""
    with Session.create(tmp_path / "s.jsonl") as session:
        said = ""
        for at, wire in enumerate(ROAD):
            with FakeProvider(wire, script=script(at)) as fake, Model(fake.spec, env={}, vision=True) as model:
                session.append(Switched(model=fake.spec))
                notes = say(session, model, at)
            for seen in fake.seen:
                said = texts(seen.body)
                assert "Thought" not in said or {line[:9] for line in said.splitlines() if "Thought" in line} == {
                    f"Thought {at}"
                }
                assert faults(wire, seen.body) == []
                for before in range(at):
                    assert f"Answer {before}." in said
                    assert f"a cat {before}, 一个" in said
                    assert f"Question {before}" in said
            assert said.count(PIXEL) == at + 1
            lost = [note for note in notes if note.loss and "reason" in note.reason.lower()]
            assert bool(lost) == (at > 0)
        session.append(Switched(model="local"))
        local = Local()
        say(session, local, len(ROAD))
        assert sum("image" in note.reason.lower() for note in local.notes) == len(ROAD) + 1
        for at in range(len(ROAD)):
            assert f"Answer {at}." in local.text
            assert f"a cat {at}, 一个" in local.text
    again = Session.open(tmp_path / "s.jsonl").tale
    thoughts = [block.text for message in again.history for block in message.content if isinstance(block, Reasoning)]
    assert thoughts == [f"Thought {at}{part}." for at in range(len(ROAD)) for part in "ab"]
    assert sum(isinstance(block, Media) for message in again.history for block in message.content) == len(ROAD) + 1
    request = Request(messages=(*again.history, user("And?")), tools=(look.definition,))
    assert [found for wire in WIRES for found in check(request, wire) if found.severity == "error"] == []


def test_the_one_who_does_not_see_gets_words_and_the_file_keeps_the_image(tmp_path: Path) -> None:
    with Session.create(tmp_path / "s.jsonl") as session, FakeProvider("chat", script=script(0)) as fake:
        with Model(fake.spec, env={}, vision=False) as model:
            notes = say(session, model, 0)
        assert PIXEL not in texts(fake.seen[0].body)
        assert [note.action for note in notes if "see images" in note.reason] == ["substituted"]
    kept = Session.open(tmp_path / "s.jsonl").tale.history[0]
    assert kept == user(*asked(0))


@pytest.mark.parametrize("wire", list(WIRES))
def test_a_summary_is_valid_on_every_wire_and_the_prompt_before_it_unchanged(wire: str) -> None:
    """C-06: the summary follows the system prompt, and what the vendor caches of that stays the same."""
    messages = (system("Be exact."), user("a"), assistant("b"), user("c"))
    sent, _ = composed(Request(messages=messages), Cut(upto=2, summary="They said a and b."))
    with FakeProvider(wire) as fake, Model(fake.spec, env={}, cache="off") as model:
        model.chat(Request(messages=messages))
        model.chat(sent)
    whole, short = (seen.body for seen in fake.seen)
    assert faults(wire, short) == []
    assert "They said a and b." in texts(short)
    key = {"chat": "messages", "messages": "system", "responses": "instructions"}[wire]
    first, second = (texts(body[key][0] if isinstance(body[key], list) else body[key]) for body in (whole, short))
    assert first.endswith("Be exact.")
    assert second.endswith("Be exact.")


def test_a_script_is_what_it_says() -> None:
    """The judge of this page: the fake provider's turn holds reasoning, words and a call."""
    with FakeProvider("messages", script=script(0)) as fake, Model(fake.spec, env={}) as model:
        collector = Collector()
        for event in model.stream("x"):
            collector.feed(event)
    kinds = [type(block) for block in collector.reply.message.content]
    assert kinds[:2] == [Reasoning, Text]
    assert [call.id for call in collector.reply.calls]
