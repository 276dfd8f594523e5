"""Guards what is settled before anything is sent: the plan, a history no vendor takes, images that nobody could see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.client import AsyncModel, Model, Plan
from dragoman.errors import LocalError, LossyError, UsageError
from dragoman.history.vision import OMITTED
from dragoman.testing.fake import FakeProvider
from dragoman.types import Media, Message, Note, Request, Text, ToolCall, ToolResult, assistant, system, tool, user

KEY = "sk-planned-1234567"
ENV = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
WIRES = ("chat", "responses", "messages")
CALL = ToolCall(id="call_1", name="read", arguments="{}")
ORPHAN = [user("go"), assistant(CALL), user("and then?")]
IMAGE = Media(kind="image", media_type="image/png", data="iVBORw0KGgo=")


@pytest.mark.req("S1-07")
def test_a_plan_is_the_request_without_its_key() -> None:
    with Model("openai/gpt-5.2#chat", env=ENV) as model:
        plan = model.plan("你好", max_output=600, top_k=10)
    assert plan == Plan(
        method="POST",
        url="https://api.openai.com/v1/chat/completions",
        headers=(("content-type", "application/json"), ("accept", "application/json"), ("authorization", "***")),
        body='{"model":"gpt-5.2","messages":[{"role":"user","content":"你好"}],"max_completion_tokens":600}'.encode(),
        notes=plan.notes,
    )
    assert [note.path for note in plan.lost] == [("sampling", "top_k")]
    assert KEY not in repr(plan)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_plan_is_what_is_sent_and_sends_nothing(wire: str, *, stream: bool) -> None:
    options: dict[str, Any] = {"system": "Be brief.", "max_output": 600, "temperature": 0.2}
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        plan = model.plan("hi", stream=stream, **options)
        assert fake.seen == []
        assert AsyncModel(fake.spec, env={}).plan("hi", stream=stream, **options) == plan
        if stream:
            list(model.stream("hi", **options))
        else:
            model.chat("hi", **options)
    assert (plan.json, plan.url) == (fake.seen[0].body, fake.url + fake.seen[0].path)


def test_a_key_in_the_address_is_not_shown() -> None:
    with Model(f"http://127.0.0.1:1/v1?api_key={KEY}#chat:m", env={}) as model:
        assert KEY not in repr(model.plan(f"my key is {KEY}"))


def test_a_model_in_this_process_has_no_plan() -> None:
    class Silent:
        def stream(self, request: Request) -> Any:
            return iter(())

    with pytest.raises(UsageError, match="sends nothing"):
        Model(Silent()).plan("hi")


async def awaited(spec: str) -> None:
    async with AsyncModel(spec, env={}) as model:
        await model.chat(ORPHAN)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.req("S0-48")
def test_a_history_that_no_vendor_takes_is_refused_with_the_rule_and_the_fix(wire: str) -> None:
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        with pytest.raises(
            LocalError, match=r"messages\[1\]\.content\[0\].*\(rule orphan-call\).*repair=True"
        ) as caught:
            model.chat(ORPHAN)
        with pytest.raises(LocalError):
            model.stream(ORPHAN)
        with pytest.raises(LocalError):
            asyncio.run(awaited(fake.spec))
    assert caught.value.code == "invalid_request"
    assert fake.seen == []


@pytest.mark.parametrize("wire", WIRES)
def test_repair_sends_a_mended_copy_and_says_so(wire: str) -> None:
    said = list(ORPHAN)
    with FakeProvider(wire) as fake, Model(fake.spec, env={}, repair=True) as model:
        outcome = model.outcome(said)
        sound = model.outcome(
            [user("go"), assistant(CALL), tool(ToolResult(call_id="call_1", content=(Text(text="x"),)))]
        )
    assert said == ORPHAN
    assert "call_1" in str(fake.seen[0].body).partition("call_1")[2]
    assert any(note.path[:2] == ("messages", 1) for note in outcome.notes)
    assert not any(note.path[:1] == ("messages",) for note in sound.notes)


def pictured(*content: Any) -> list[Message]:
    return [system("Look."), user("What is this?", *content)]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.req("S0-21")
def test_a_model_that_is_not_known_to_see_is_told_so_in_words(wire: str) -> None:
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        blind = model.outcome(pictured(IMAGE, IMAGE))
        seeing = Model(fake.spec, env={}, vision=True).outcome(pictured(IMAGE))
    first, second = (str(seen.body) for seen in fake.seen)
    assert (first.count(OMITTED), "iVBOR" in first) == (1, False)
    assert (second.count(OMITTED), "iVBOR" in second) == (0, True)
    reason = "this model is not known to see images: say vision=True if it does"
    assert Note(path=("messages", 1, "content", 1), action="substituted", reason=reason) in blind.notes
    assert not any("vision" in note.reason for note in seeing.notes)


def test_what_is_known_of_a_model_says_whether_it_sees() -> None:
    def images(spec: str, **more: Any) -> int:
        with Model(spec, env={**ENV, "DEEPSEEK_API_KEY": KEY}, **more) as model:
            return model.plan(pictured(IMAGE)).body.count(b"iVBOR")

    assert images("anthropic/claude-sonnet-5") == images("openai/gpt-5.2") == 1
    assert images("deepseek/deepseek-chat") == images("openai/no-such-model") == 0
    assert (images("deepseek/deepseek-chat", vision=True), images("openai/gpt-5.2", vision=False)) == (1, 0)


def test_strict_refuses_what_would_be_lost_before_the_wire_is_reached() -> None:
    with FakeProvider("chat") as fake, Model(fake.spec, env={}, strict=True) as model:
        with pytest.raises(LossyError, match="vision=True"):
            model.chat(pictured(IMAGE))
        assert fake.seen == []
