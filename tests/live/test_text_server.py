"""Guards models behind a server of text (issue 5 of 5, point 4): template and parsers ours, the text theirs, over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman import AsyncModel, Model
from dragoman.cli.main import group as cli
from dragoman.config import Taught
from dragoman.dialect.model import BASE
from dragoman.engine.resolve import text_wire
from dragoman.errors import ApiError, LossyError, UsageError
from dragoman.testing import FakeClock, FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.types import (
    Collector,
    Failure,
    HostedTool,
    Media,
    Note,
    Reasoning,
    Reply,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from dragoman.types.message import assistant, tool, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
from gate import PATHS, Gate
from origin import HOLD, Answer, Origin
from unit.engine.templates import FOLDER

QWEN = FOLDER / "qwen2.5.jinja"
WEATHER = Tool(
    name="weather",
    description="查天气",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CALL = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "北京"}}\n</tool_call>'
OFFERED: dict[str, Any] = {
    "chat": {"type": "function", "function": {"name": "weather", "parameters": WEATHER.parameters}},
    "messages": {"name": "weather", "input_schema": WEATHER.parameters},
    "responses": {"type": "function", "name": "weather", "parameters": WEATHER.parameters, "strict": False},
}
SAID = {"text": CALL, "usage": {"input": 40, "output": 20, "cache_read": 30}}
LIMIT = Note(path=("max_output",), action="synthesised", reason="this wire wants a limit: 1024 tokens", loss=False)
HOSTED = HostedTool(wire="responses", kind="web_search", payload={})
UNHOSTED = Note(path=("tools", 1), action="dropped", reason="nobody here runs the hosted tool 'web_search'")
BARE: dict[str, Any] = {"env": {}, "template": QWEN}
OPENED = "<|im_end|>\n<|im_start|>assistant\n"
SSE = {"content-type": "text/event-stream"}


def text_of(spec: str) -> str:
    return spec.replace("#completions", "#text")


@contextmanager
def behind(*script: Any, **said: Any) -> Generator[tuple[FakeProvider, Model]]:
    """A server of text that says this, and the model behind it."""
    with FakeProvider("completions", script=script) as fake, Model(text_of(fake.spec), **{**BARE, **said}) as model:
        yield fake, model


def chunk(text: str, stop: str | None = None, **more: Any) -> bytes:
    said = {"id": "c1", "object": "text_completion", "created": 1, "model": "m", **more}
    said["choices"] = [{"text": text, "index": 0, "logprobs": None, "finish_reason": stop}]
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def content(reply: Reply) -> tuple[Any, ...]:
    (call,) = reply.calls
    assert call.id.startswith("call_")
    return reply.message.content


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_its_result_and_the_answer(stream: bool) -> None:
    with behind(SAID, "晴天 ☀") as (fake, model):

        def ask(*messages: Any) -> tuple[Reply, tuple[Note, ...]]:
            if not stream:
                outcome = model.outcome(messages, tools=(WEATHER, HOSTED), stop="END", top_p=0.5)
                return outcome.reply, outcome.notes
            with model.stream(messages, tools=(WEATHER, HOSTED), stop="END", top_p=0.5) as events:
                for _ in events:
                    pass
                return events.reply, events.notes

        reply, notes = ask(user("天气?"))
        call = reply.calls[0]
        assert content(reply) == (
            Text(text="I look."),
            ToolCall(id=call.id, name="weather", arguments='{"city": "北京"}'),
        )
        assert (reply.stop.reason, reply.stop.raw, notes) == ("tool_calls", "stop", (UNHOSTED, LIMIT))
        assert reply.usage is not None
        assert (reply.usage.input, reply.usage.output, reply.usage.cache_read) == (40, 20, 30)
        answer, _ = ask(user("天气?"), reply.message, tool(ToolResult(call_id=call.id, content=(Text(text="晴"),))))
        assert (answer.text, answer.stop.reason) == ("晴天 ☀", "end")
    first, second = (seen.body for seen in fake.seen)
    prompt = first.pop("prompt")
    asked: dict[str, Any] = {"model": "fake", "max_tokens": 1024, "stop": ["END"], "top_p": 0.5}
    assert first == asked | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})
    assert "查天气" in prompt and prompt.endswith(f"<|im_start|>user\n天气?{OPENED}")
    assert second["prompt"].startswith(prompt + CALL)  # what the server's prompt cache holds of the turn before
    assert "<tool_response>\n晴\n</tool_response>" in second["prompt"]


def test_async_callers_have_the_same() -> None:
    async def run(spec: str) -> tuple[Reply, tuple[Note, ...]]:
        async with AsyncModel(spec, env={}, template=QWEN) as model:
            stream = model.stream("天气?", tools=(WEATHER, HOSTED))
            async for _ in stream:
                pass
            return stream.reply, stream.notes

    with FakeProvider("completions", script=[SAID]) as fake:
        reply, notes = asyncio.run(run(text_of(fake.spec)))
    assert content(reply)[0] == Text(text="I look.") and notes == (UNHOSTED, LIMIT)


def test_a_stream_is_read_the_same_however_it_is_cut() -> None:
    texts = ("<think>\nhm", "</think>\n\n", "Well: ", CALL)
    stream = b"".join((*map(chunk, texts), chunk("", "stop"), b"data: [DONE]\n\n"))
    wire = text_wire("m", Taught(file=str(QWEN)))
    asked = Request(messages=(user("x"),), tools=(WEATHER,), stream=True)
    exchange = wire.encode_request(asked, BASE, Exchange(stream=True)).exchange

    def read(size: int) -> Reply:
        decoder, collector = wire.stream_decoder(BASE, exchange), Collector()
        for at in range(0, len(stream), size):
            for event in decoder.feed(stream[at : at + size]):
                collector.feed(event)
        for event in decoder.close():
            collector.feed(event)
        return collector.reply

    whole = read(len(stream))
    assert whole.message.content[:2] == (Reasoning(text="hm"), Text(text="Well: I look."))
    assert [call.name for call in whole.calls] == ["weather"]
    for size in (1, 2, 3, 7, 50, 211):
        assert read(size) == whole


@pytest.mark.parametrize(
    ("said", "stop", "detail"),
    [
        ('{"name": "weather", "arguments": {"city": "Oslo"}}', "tool_calls", None),
        ('{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>', "tool_calls", None),
        ("I would rather not.", "malformed", "the model did not keep to the form of a call"),
    ],
)
def test_a_call_that_must_be_is_asked_by_schema_in_the_words_of_each_server(
    said: str, stop: str, detail: str | None
) -> None:
    with behind(said) as (fake, model):
        reply = model.chat("天气?", tools=(WEATHER,), tool_choice=ToolChoice(mode="required", names=("weather",)))
    body = fake.seen[0].body
    form = body["json_schema"]
    assert form["properties"]["name"] == {"const": "weather"}
    assert form["properties"]["arguments"]["properties"] == {"city": {"type": "string", "maxLength": 1000}}
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": form}}
    assert body["prompt"].endswith(f"{OPENED}<tool_call>\n")
    assert (reply.stop.reason, reply.stop.detail) == (stop, detail)
    assert [call.arguments for call in reply.calls] == (['{"city":"Oslo"}'] if stop == "tool_calls" else [])
    if detail is not None:  # nothing that was said is forgotten
        assert reply.opaque is not None
        (kept,) = reply.opaque["local"]["incomplete_calls"]
        assert kept == {"name": "", "arguments": said, "why": kept["why"]} and kept["why"].startswith("invalid JSON")


def test_a_key_that_a_server_refuses_is_left_out_and_told(tmp_path: Path) -> None:
    with FakeProvider("completions", script=['{"name": "weather", "arguments": {"city": "Oslo"}}']) as fake:
        file = tmp_path / "dragoman.toml"
        row = f'base_url = "{fake.url}/v1"\nwires = ["completions"]\ndialect.completions.unsupported = ["json_schema"]'
        file.write_text(f"[providers.mine]\n{row}\n", "utf-8")
        env = {"DRAGOMAN_CONFIG": str(file)}
        with Model("mine/fake#text", env=env, template=QWEN, dialect={"usage_in_stream": "never"}) as model:
            outcome = model.outcome("天气?", tools=(WEATHER,), tool_choice="required")
    assert "json_schema" not in fake.seen[0].body and "response_format" in fake.seen[0].body
    assert [note.reason for note in outcome.notes if note.loss] == ["this server refuses `json_schema`"]
    assert len(outcome.reply.calls) == 1


def test_a_value_is_asked_by_schema_and_read() -> None:
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with behind('{"n": 7}') as (fake, model):
        assert model.chat("How many?", output=form).parsed == {"n": 7}
    assert fake.seen[0].body["json_schema"]["properties"] == {"n": {"type": "integer"}}


def test_special_tokens_that_a_parser_waits_for_are_asked_for_and_the_servers_own_beginning_is_left_to_it(
    tmp_path: Path,
) -> None:
    config = {"chat_template": (FOLDER / "kimi-k2.jinja").read_text("utf-8"), "bos_token": "<BOS>"}
    config["chat_template"] = "{{ bos_token }}" + config["chat_template"]
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(config), "utf-8")
    with behind("ok", template=file) as (fake, model):
        model.chat("hi")
    body = fake.seen[0].body
    assert "<|tool_call_begin|>" in body["preserved_tokens"] and body["skip_special_tokens"] is False
    assert "<BOS>" not in body["prompt"] and body["prompt"].startswith("<|im_")


def test_strict_refuses_and_a_plan_tells_before_anything_is_sent() -> None:
    with behind("ok", strict=True) as (fake, model):
        with pytest.raises(LossyError, match="web_search"):
            model.chat("hi", tools=(WEATHER, HOSTED))
        with Model(text_of(fake.spec), **BARE) as other:
            plan = other.plan("hi", tools=(WEATHER, HOSTED))
    assert (plan.url, plan.notes) == (f"{fake.url}/v1/completions", (UNHOSTED, LIMIT))
    assert plan.json["prompt"].endswith(f"hi{OPENED}")
    assert fake.seen == []


def test_images_are_words_and_a_broken_history_is_mended() -> None:
    image = Media(kind="image", media_type="image/png", data="AAAA")
    said = (user("Look:", image), assistant(ToolCall.of("c1", "weather", {})), user("And?"))
    with behind("ok", repair=True) as (fake, model):
        notes = model.outcome(said).notes
    prompt = fake.seen[0].body["prompt"]
    assert "(image omitted: model does not support images)" in prompt and "<tool_response>" in prompt
    assert {note.action for note in notes} >= {"substituted", "synthesised"}


def test_an_error_is_the_servers_own_with_a_hint_and_is_tried_again_as_any_other() -> None:
    over = {"error": {"code": 400, "message": "request (9 tokens) exceeds", "type": "exceed_context_size_error"}}
    down = Answer(503, {"retry-after": "0"}, b'{"error": {"message": "Loading model", "type": "unavailable_error"}}')
    script = (down, Answer(body=_whole("ok")), Answer(400, {}, json.dumps(over).encode()))
    with Origin(*script) as origin, Model(f"{origin.url}/v1#text:m", clock=FakeClock(), **BARE) as model:
        outcome = model.outcome("hi")
        assert outcome.reply.text == "ok"
        assert [(attempt.status, attempt.code) for attempt in outcome.attempts] == [(503, "overloaded"), (200, None)]
        with pytest.raises(ApiError, match="cut or summarise it") as caught:
            model.chat("hi")
    assert caught.value.code == "context_overflow"


def test_a_stream_that_breaks_off_is_no_end_and_half_a_call_no_call() -> None:
    broken = Answer(headers=SSE, body=[chunk("I look. "), chunk('<tool_call>\n{"name": "wea')], cut=True)
    with Origin(broken) as origin, Model(f"{origin.url}/v1#text:m", env={}, template=QWEN, retry=0) as model:
        stream = model.stream("hi", tools=(WEATHER,))
        *_, last = stream
    assert isinstance(last, Failure) and last.code in ("incomplete", "network")
    assert (stream.reply.text, stream.reply.calls, stream.reply.stop.reason) == ("I look. ", (), "error")
    (kept,) = (stream.reply.opaque or {})["local"]["incomplete_calls"]
    assert kept["arguments"].endswith('{"name": "wea')


def bare(text: str) -> str:
    return re.sub(r"\s|</?tool_call>", "", text)


@pytest.mark.parametrize(("choice", "text"), [(None, CALL), (ToolChoice(mode="required"), CALL.split("\n")[2])])
@pytest.mark.parametrize("fails", [True, False])
def test_wherever_a_stream_breaks_off_all_of_its_text_is_told_or_kept_and_no_half_call_is_one(
    choice: ToolChoice | None, text: str, fails: bool
) -> None:
    codec = text_wire("m", Taught(file=str(QWEN)))
    request = Request(model="m", messages=(user("hi"),), tools=(WEATHER,), tool_choice=choice)
    asked = codec.encode_request(request, BASE, Exchange(stream=True))
    failed = b'data: {"error": {"message": "no more", "type": "server_error"}}\n\n' if fails else b""
    for at in range(1, len(text)):
        decoder, collector = codec.stream_decoder(BASE, asked.exchange), Collector()
        for event in (*decoder.feed(chunk(text[:at]) + failed), *decoder.close()):
            collector.feed(event)
        reply = collector.reply
        kept = [each["arguments"] for each in (reply.opaque or {}).get("local", {}).get("incomplete_calls", [])]
        assert (collector.failure is not None, reply.stop.reason) == (True, "error")
        whole = [call.arguments for call in reply.calls]
        assert whole in ([], ['{"city":"北京"}'], ['{"city": "北京"}'])
        assert whole or bare(reply.text + "".join(kept)) == bare(text[:at])


def test_what_goes_with_the_prompt_is_not_told_as_lost() -> None:
    request = Request(messages=(user("hi"),), opaque={"completions": {"min_p": 0.5}})
    with behind("ok", strict=True) as (fake, model):
        assert model.outcome(request).notes == (LIMIT,)
    assert fake.seen[0].body["min_p"] == 0.5


@pytest.mark.parametrize("words", [[], [chunk("One ")]], ids=["before the first word", "in the middle"])
def test_leaving_lets_the_server_go(words: list[bytes]) -> None:
    with Origin(Answer(headers=SSE, body=[*words, HOLD])) as origin:
        with Model(f"{origin.url}/v1#text:m", env={}, template=QWEN) as model:
            token = CancelToken()
            stream = model.stream("count", cancel=token)
            if words:
                assert next(stream) and next(stream) and next(stream)
                token.cancel()
            else:
                Timer(0.05, token.cancel).start()
            assert list(stream) == []
            assert stream.reply.stop.reason == "cancelled"
        assert origin.left.wait(5)


def test_without_a_template_the_ways_to_say_it_are_told() -> None:
    with pytest.raises(UsageError, match=r"--template FILE .* under \[templates\] in dragoman\.toml"):
        Model("http://127.0.0.1:9/v1#text:m", env={})
    with pytest.raises(UsageError, match=r"gone\.jinja"):
        Model("http://127.0.0.1:9/v1#text:m", env={}, template="gone.jinja")


def settings(tmp_path: Path, **templates: str) -> dict[str, str]:
    """The environment of a dragoman.toml with these templates by model."""
    file = tmp_path / "dragoman.toml"
    lines = [f'"{model}" = "{template}"' for model, template in templates.items()]
    file.write_text("\n".join(("[templates]", *lines)), "utf-8")
    return {"DRAGOMAN_CONFIG": str(file)}


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_it_is_served_on_each_wire_as_any_model(wire: str, tmp_path: Path) -> None:
    env = settings(tmp_path, fake=str(QWEN))
    with FakeProvider("completions", script=[SAID]) as fake, Gate(text_of(fake.spec), env=env) as gate:
        answer = gate.say(wire, "天气?", tools=[OFFERED[wire]])
    assert answer.status == 200
    reply = find(wire).decode_reply(answer.body, BASE, Exchange()).value
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [("weather", {"city": "北京"})]
    assert (reply.text, reply.stop.reason) == ("I look.", "tool_calls")
    assert fake.seen[0].body["prompt"].endswith(f"天气?{OPENED}")


def test_the_commands_take_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("Start it with npm run dev.\n", "utf-8")
    read = '<tool_call>\n{"name": "read", "arguments": {"path": "README.md"}}\n</tool_call>'
    with FakeProvider("completions", script=[read, "With npm run dev."]) as fake:
        spec, env = text_of(fake.spec), {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        run = CliRunner().invoke(
            cli, ["run", "How?", "--model", spec, "--template", str(QWEN), "--json", "--no-ledger"], env=env
        )
        assert run.exit_code == 0, run.output
        said = json.loads(run.stdout)
        assert (said["text"], said["calls"][0]["result"]) == ("With npm run dev.", "Start it with npm run dev.\n")
        body = tmp_path / "body.json"
        body.write_text(json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}), "utf-8")
        asked = ["show", str(body), "--prompt", "--model", spec]
        shown = CliRunner().invoke(cli, [*asked, "--json"], env=env | settings(tmp_path, fake=str(QWEN)))
        assert (
            json.loads(shown.stdout)["shown"]["prompt"]
            == f"<|im_start|>system\n<|im_end|>\n<|im_start|>user\nhi{OPENED}"
        )
        refused = CliRunner().invoke(cli, ["show", str(body), "--prompt", "--model", fake.spec], env=env)
        assert "its service makes the prompt" in str(refused.exception or refused.output)


def _whole(text: str) -> bytes:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": "stop"}
    return json.dumps(
        {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
    ).encode()


def again(wire: str, answer: dict[str, Any]) -> tuple[Any, ...]:
    """What a client of a wire sends in the next turn, that keeps of an answer what clients of that wire keep for certain."""
    if wire == "chat":
        (call,) = answer["choices"][0]["message"]["tool_calls"]
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        return said, {"role": "tool", "tool_call_id": call["id"], "content": "晴"}
    if wire == "messages":
        result = {"type": "tool_result", "tool_use_id": answer["content"][-1]["id"], "content": "晴"}
        return {"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}
    call_id = answer["output"][-1]["call_id"]
    return *answer["output"], {"type": "function_call_output", "call_id": call_id, "output": "晴"}


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_what_it_thought_before_a_call_stands_in_its_next_prompt_whatever_the_client_speaks(
    wire: str, tmp_path: Path
) -> None:
    """Templates of models that think show their thoughts up to the answer; a client of chat keeps none of them."""
    thought = "<think>\nThoughtword\n</think>\n\n" + CALL.removeprefix("I look.\n")
    env, listed = settings(tmp_path, fake=str(FOLDER / "qwen3.jinja")), "input" if wire == "responses" else "messages"
    with FakeProvider("completions", script=[thought, "晴天"]) as fake, Gate(text_of(fake.spec), env=env) as gate:
        said: list[Any] = [{"role": "user", "content": "天气?"}]
        more: dict[str, Any] = {"max_tokens": 90} if wire == "messages" else {}
        first = gate.ask(PATHS[wire], {"model": "m", listed: said, "tools": [OFFERED[wire]], **more})
        assert first.status == 200, first.body
        said += again(wire, first.json)
        assert gate.ask(PATHS[wire], {"model": "m", listed: said, "tools": [OFFERED[wire]], **more}).status == 200
    assert "<think>\nThoughtword\n</think>" in fake.seen[1].body["prompt"]
    assert "<tool_response>\n晴\n</tool_response>" in fake.seen[1].body["prompt"]
