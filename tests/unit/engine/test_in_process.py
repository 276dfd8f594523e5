"""Guards local models behind Model: prepared, noted, planned and closed as remote ones are (C-28, C-32), whole and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.client import AsyncModel, Exchanged, Model
from dragoman.engine import runtime
from dragoman.engine.backend import Asked, Piece
from dragoman.engine.model import LocalModel
from dragoman.engine.speaker import spoken
from dragoman.errors import ApiError, LocalError, LossyError, UsageError
from dragoman.types import (
    Collector,
    Finish,
    HostedTool,
    Media,
    Note,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from dragoman.types.message import assistant, tool, user
from unit.engine.in_process import Loaded, model_file
from unit.engine.templates import FOLDER

CALL = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "北京"}}\n</tool_call>'
WEATHER = Tool(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
HOSTED = HostedTool(wire="responses", kind="web_search", payload={})
PIXEL = Media(kind="image", media_type="image/png", data="AAAA")
NOTES = (
    Note(path=("tools", 1), action="dropped", reason="nobody here runs the hosted tool 'web_search'"),
    Note(path=("effort",), action="dropped", reason="the template has no switch for reasoning"),
)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Loaded]:
    """A llama.cpp that says these texts."""

    def load(*texts: str) -> Loaded:
        made = Loaded(*texts)
        monkeypatch.setattr(runtime, "_server", made)
        monkeypatch.setattr(runtime, "_loaded", {})
        return made

    return load


@pytest.fixture
def spec(tmp_path: Path) -> str:
    source = (FOLDER / "qwen2.5.jinja").read_text("utf-8")
    return f"local:{model_file(tmp_path / 'm.gguf', source)}"


def asked(**said: Any) -> dict[str, Any]:
    return {"tools": (WEATHER, HOSTED), "effort": "high", **said}


def test_a_whole_answer_has_the_notes_of_the_prompt(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded(CALL)
    with Model(spec, env={}) as model:
        outcome = model.outcome("天气?", **asked())
    (call,) = outcome.reply.calls
    assert outcome.reply.message.content == (
        Text(text="I look."),
        ToolCall(id=call.id, name="weather", arguments='{"city": "北京"}'),
    )
    assert outcome.reply.usage == Usage(input=10, output=len(CALL), cache_read=4)
    assert outcome.notes == NOTES
    assert there.llama.bodies[0]["prompt"].endswith("<|im_start|>user\n天气?<|im_end|>\n<|im_start|>assistant\n")


def test_a_stream_has_them_before_its_end(loaded: Callable[..., Loaded], spec: str) -> None:
    loaded("晴 ☀")
    with Model(spec, env={}) as model, model.stream("天气?", **asked()) as stream:
        next(stream)
        assert stream.notes == NOTES
        *_, last = stream
    assert isinstance(last, Finish) and last.reply is not None and last.reply.text == "晴 ☀"


def test_an_async_caller_and_an_observer_have_them_too(loaded: Callable[..., Loaded], spec: str) -> None:
    loaded("晴")
    seen: list[Exchanged] = []

    async def run() -> tuple[Note, ...]:
        async with AsyncModel(spec, env={}, observers=(seen.append,)) as model:
            stream = model.stream("天气?", **asked())
            async for _ in stream:
                pass
            return stream.notes

    assert asyncio.run(run()) == NOTES
    assert [each.notes for each in seen] == [NOTES]


def test_strict_refuses_before_the_model_is_asked(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("never")
    with Model(spec, env={}, strict=True) as model:
        with pytest.raises(LossyError, match="web_search"):
            model.chat("hi", **asked())
        assert model.chat("hi", tools=(WEATHER,)).text == "never"
    assert len(there.llama.bodies) == 1


@pytest.mark.req("C-28")
def test_a_history_that_nobody_takes_is_refused_or_mended_on_the_copy_sent(
    loaded: Callable[..., Loaded], spec: str
) -> None:
    there = loaded("ok")
    orphan = (user("天气?"), assistant(ToolCall.of("c1", "weather", {})), user("And?"))
    with Model(spec, env={}) as model, pytest.raises(LocalError, match=r"rule orphan-call"):
        model.chat(orphan)
    with Model(spec, env={}, repair=True) as model:
        outcome = model.outcome(orphan)
    assert any(note.action == "synthesised" for note in outcome.notes)
    assert "<tool_response>" in there.llama.bodies[0]["prompt"]


@pytest.mark.req("C-32", "S0-19")
def test_images_become_words_unless_somebody_says_that_they_are_seen(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("ok")
    message = user("Look:", PIXEL, PIXEL)
    with Model(spec, env={}) as model:
        told = model.outcome((message,)).notes
    assert "(image omitted: model does not support images)" in there.llama.bodies[0]["prompt"]
    assert [(note.path, note.action) for note in told] == [(("messages", 0, "content", 1), "substituted")]
    with Model(spec, env={}, vision=True) as model:  # it reads prompts all the same
        told = model.outcome((message,)).notes
    assert [(note.path, note.loss) for note in told] == [
        (("messages", 0, "content", 1), True),
        (("messages", 0, "content", 2), True),
    ]


def test_a_plan_is_what_would_be_asked_and_nothing_is_loaded(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded()
    with Model(spec, env={}) as model:
        plan = model.plan("天气?", max_output=5, stop="END", **asked())
    assert plan.json["prompt"].endswith("天气?<|im_end|>\n<|im_start|>assistant\n")
    assert (plan.json["max_output"], plan.json["stop"], plan.method) == (5, ["END"], "")
    assert plan.notes == NOTES
    assert there.runtimes == []


def test_a_refusal_is_seen_by_observers_and_tries(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("never")
    error = {"code": 400, "type": "exceed_context_size_error", "message": "too long"}
    there.llama.handle_completions = lambda body, hear: hear({"error": error}) and None  # type: ignore[method-assign]
    seen: list[Exchanged] = []
    with Model(spec, env={}, observers=(seen.append,)) as model, pytest.raises(ApiError, match="too long"):
        model.chat("hi")
    (exchanged,) = seen
    assert exchanged.error is not None and exchanged.error.code == "context_overflow"
    assert [(attempt.code, attempt.why) for attempt in exchanged.attempts] == [
        ("context_overflow", "local model: too long")
    ]


def test_closing_frees_the_engine_once_and_a_closed_model_says_so(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("ok")
    model, other = Model(spec, env={}), Model(spec, env={})
    assert (model.chat("a").text, other.chat("b").text) == ("ok", "ok")
    assert len(there.runtimes) == there.open == 1  # both share it
    model.close()
    model.close()
    assert (there.open, other.chat("c").text) == (1, "ok")
    other.close()
    assert there.open == 0
    for ask in (model.chat, model.plan, model.count, model.stream):
        with pytest.raises(UsageError, match="the model is closed"):
            for _ in ask("d"):  # type: ignore[attr-defined]
                pass


def test_opening_and_closing_leaves_nothing_behind(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("ok")
    for _ in range(20):
        with Model(spec, env={}) as model:
            model.chat("hi")
        assert there.open == 0
    assert len(there.runtimes) == 20


def test_what_was_passed_in_is_closed_by_its_owner(loaded: Callable[..., Loaded], spec: str) -> None:
    there = loaded("ok")
    with LocalModel(spec.partition(":")[2]) as own:
        with Model(own, env={}) as model:
            model.chat("hi")
        assert own.complete(Request(messages=(user("hi"),))).text == "ok"
        assert there.open == 1
    assert there.open == 0
    with pytest.raises(UsageError, match="the model is closed"):
        own.load()


def test_another_template_and_format_are_said_by_file_and_by_the_configuration(
    loaded: Callable[..., Loaded], spec: str, tmp_path: Path
) -> None:
    there = loaded("ok")
    with Model(spec, env={}, template=FOLDER / "phi-3.5.jinja") as model:
        model.chat("hi")
    (tmp_path / "t.jinja").write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}", "utf-8")
    config = tmp_path / "dragoman.toml"
    config.write_text(f'[templates]\n"{spec}" = {{file = "t.jinja", format = "mistral"}}\n', "utf-8")
    with Model(spec, env={"DRAGOMAN_CONFIG": str(config)}) as model:
        model.chat("hi")
    assert [body["prompt"] for body in there.llama.bodies] == ["<|user|>\nhi<|end|>\n<|assistant|>\n", "[][hi]"]
    with pytest.raises(UsageError, match="a service has its own chat template"):
        Model("openai/gpt-5", env={"OPENAI_API_KEY": "k"}, template="t.jinja")


def test_results_follow_their_calls_and_calls_of_the_past_are_read_back(
    loaded: Callable[..., Loaded], spec: str
) -> None:
    """The second prompt begins with the first and what the model said: all of it is in llama.cpp's prompt cache."""
    there = loaded(CALL, "晴")
    with Model(spec, env={}) as model:
        reply = model.chat("天气?", tools=(WEATHER,))
        result = tool(ToolResult(call_id=reply.calls[0].id, content=(Text(text="晴"),)))
        model.chat((user("天气?"), reply.message, result), tools=(WEATHER,))
    first, second = (body["prompt"] for body in there.llama.bodies)
    assert second.startswith(first + CALL)


@pytest.mark.parametrize(("parallel", "count"), [(None, 2), (True, 2), (False, 1)])
def test_where_one_call_is_the_most_the_model_is_stopped_behind_it(
    loaded: Callable[..., Loaded], spec: str, parallel: bool | None, count: int
) -> None:
    loaded(f"{CALL}\n{CALL} And more.")
    with Model(spec, env={}) as model:
        outcome = model.outcome("天气?", tools=(WEATHER,), parallel_tools=parallel)
    assert (len(outcome.reply.calls), outcome.reply.stop.reason, outcome.notes) == (count, "tool_calls", ())


class Breaks:
    """A back end that fails in the middle of its text."""

    def generate(self, asked: Asked) -> Generator[Piece, None, None]:
        yield Piece('I look.\n<tool_call>\n{"name": "wea')
        raise ApiError("server_error", "no more")


def test_what_breaks_in_the_middle_is_a_failure_that_keeps_what_came(loaded: Callable[..., Loaded], spec: str) -> None:
    speaker = LocalModel(spec.partition(":")[2]).speaker
    turn = speaker.turn(Request(messages=(user("hi"),), tools=(WEATHER,)), datetime(2026, 1, 2))
    collector = Collector()
    for event in spoken(speaker, Breaks(), turn):
        collector.feed(event)
    assert collector.failure is not None and collector.failure.message == "no more"
    assert (collector.reply.text.strip(), collector.reply.calls) == ("I look.", ())
    (kept,) = (collector.reply.opaque or {})["local"]["incomplete_calls"]
    assert kept["arguments"] == '{"name": "wea'


PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"


@pytest.mark.parametrize(
    ("template", "said", "found"),
    [
        ("qwen2.5", None, None),  # its maker's, or llama.cpp's
        ("qwen2.5", 0.3, 0.3),
        (PLAIN, None, 0.0),  # never taught tools, as the smallest are: the likeliest words
        (PLAIN, 0.3, 0.3),
    ],
)
def test_a_model_says_its_likeliest_words_only_where_chance_would_spoil_more(
    loaded: Callable[..., Loaded], tmp_path: Path, template: str, said: float | None, found: float | None
) -> None:
    source = PLAIN if template is PLAIN else (FOLDER / f"{template}.jinja").read_text("utf-8")
    there = loaded("Yes.")
    with Model(f"local:{model_file(tmp_path / 'm.gguf', source)}", env={}) as model:
        model.chat("Is it?", temperature=said)
    assert [body.get("temperature") for body in there.llama.bodies] == [found]
