"""Guards what goes over the socket: path, headers, body, and that a settled model stays as it was made."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from textwrap import dedent

import pytest

from chat_script import chat_reply, chat_stream
from dragoman.catalog.find import find
from dragoman.catalog.provider import load
from dragoman.client import AsyncModel, Model, Outcome
from dragoman.errors import ApiError, DragomanError, LossyError, UsageError
from dragoman.transport.flow import Send
from dragoman.types import (
    Finish,
    Note,
    Reply,
    Request,
    Start,
    Stop,
    StreamEvent,
    Tool,
    ToolChoice,
    assistant,
    explode,
    user,
)
from origin import Answer, Origin

SENT = ("content-type", "authorization", "accept")


def openai(origin: Origin, end: str = "") -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{origin.url}/v1{end}"}


@pytest.mark.req("S0-14", "S1-07")
@pytest.mark.parametrize("end", ["", "/", "//"])
def test_a_chat_request(end: str) -> None:
    with Origin(chat_reply()) as origin, Model("openai/gpt-5", env=openai(origin, end)) as model:
        assert model.chat("你好").text == "Hello"
    (seen,) = origin.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert {name: seen.headers[name] for name in SENT} == {
        "content-type": "application/json",
        "authorization": "Bearer sk-1",
        "accept": "application/json",
    }
    assert seen.body == '{"model":"gpt-5","messages":[{"role":"user","content":"你好"}]}'.encode()


@pytest.mark.req("S0-12")
def test_a_stream_is_asked_for_with_its_usage() -> None:
    with Origin(chat_stream("Hi")) as origin, Model("openai/gpt-4.1", env=openai(origin)) as model:
        list(model.stream("hi", system="Be brief.", max_output=600, temperature=0, stop="END"))
    assert origin.seen[0].headers["accept"] == "text/event-stream"
    assert origin.seen[0].json == {
        "model": "gpt-4.1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "temperature": 0,
        "max_completion_tokens": 600,
        "stop": ["END"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.req("S0-17")
def test_tools_go_with_every_request() -> None:
    tool = Tool(name="read", parameters={"type": "object"})
    with Origin(chat_reply()) as origin, Model("openai/gpt-5", env=openai(origin)) as model:
        first = model.chat("a", tools=[tool], tool_choice="read")
        model.chat([user("a"), first.message, user("b")], tools=[tool], tool_choice="auto")
        model.chat("c", tools=[])
    bodies = [seen.json for seen in origin.seen]
    assert bodies[0]["tools"] == bodies[1]["tools"]
    assert bodies[0]["tool_choice"] == {"type": "function", "function": {"name": "read"}}
    assert bodies[1]["tool_choice"] == "auto"
    assert set(bodies[2]) == {"model", "messages"}


@pytest.mark.req("S0-16")
def test_equal_requests_are_equal_bytes() -> None:
    with Origin(chat_reply()) as origin, Model("openai/gpt-5", env=openai(origin)) as model:
        for _ in range(2):
            model.chat([user("a"), assistant("b"), user("c")])
    assert origin.seen[0].body == origin.seen[1].body


@pytest.mark.req("S0-70")
def test_without_a_key_nothing_is_sent() -> None:
    with Origin(chat_reply()) as origin:
        env = {"OPENAI_BASE_URL": origin.url.replace("127.0.0.1", "127.0.0.1.nip.example")}
        with pytest.raises(UsageError, match="no key for OpenAI: set OPENAI_API_KEY") as caught:
            Model("openai/gpt-5", env=env).chat("hi")
    assert caught.value.code == "missing_key"
    assert origin.seen == []


def test_a_key_is_in_no_repr_on_the_way() -> None:
    model = Model("openai/gpt-5", env={"OPENAI_API_KEY": "sk-secret"})
    assert repr(model) == "Model(openai/gpt-5, chat at https://api.openai.com/v1)"
    stream = model.stream("hi")
    call = stream._call
    signed = next(call.steps())
    assert "sk-secret" not in f"{model!r} {vars(model)} {stream!r} {vars(call)} {signed!r}"
    assert isinstance(signed, Send)
    assert signed.http.header("Authorization") == "Bearer sk-secret"


@pytest.mark.req("S0-13")
def test_a_changed_environment_changes_nothing() -> None:
    with Origin(chat_reply()) as origin, Origin(chat_reply()) as other:
        env = openai(origin)
        with Model("openai/gpt-5", env=env) as model:
            env |= {"OPENAI_API_KEY": "sk-2", **openai(other)}
            model.chat("hi")
    assert origin.seen[0].headers["authorization"] == "Bearer sk-1"
    assert other.seen == []


@pytest.mark.req("S0-03")
@pytest.mark.req("S0-07")
@pytest.mark.req("S1-08")
@pytest.mark.parametrize(
    ("spec", "env", "path", "key"),
    [
        ("openai/m", {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "{}/v1"}, "/v1/chat/completions", "Bearer k1"),
        ("openai/m#responses", {"OPENAI_API_KEY": "k2", "OPENAI_API_BASE": "{}/v1"}, "/v1/responses", "Bearer k2"),
        ("anthropic/m", {"ANTHROPIC_API_KEY": "k3", "ANTHROPIC_BASE_URL": "{}"}, "/v1/messages", "k3"),
        (
            "z.ai/m",
            {"ZAI_API_KEY": "k4", "ZAI_BASE_URL": "{}/api/paas/v4"},
            "/api/paas/v4/chat/completions",
            "Bearer k4",
        ),
    ],
)
def test_configuration_alone_decides_where_a_request_goes(spec: str, env: dict[str, str], path: str, key: str) -> None:
    with Origin(chat_reply()) as origin:
        env = {name: value.format(origin.url) for name, value in env.items()}
        wire = find(spec, env).wire
        pytest.importorskip(f"dragoman.wire.{wire}", reason=f"the {wire} wire is not here yet", exc_type=ImportError)
        with Model(spec, env=env) as model, suppress(DragomanError):  # the answer is a chat reply whatever the wire
            model.chat("hi")
    (seen,) = origin.seen
    assert (seen.path, seen.json["model"]) == (path, "m")
    assert seen.headers.get("authorization", seen.headers.get("x-api-key")) == key
    assert ("anthropic-version" in seen.headers) == (wire == "messages")


@pytest.mark.req("S0-08")
def test_a_vendor_added_in_data_is_spoken_to() -> None:
    row = """
        [acme]
        label = "Acme"
        wires = ["chat"]
        base_url = "{}/v2?api-version=7"
        headers = {{ "X-Team" = "blue" }}
        key_env = ["ACME_KEY"]
        source = "a test"
        [acme.dialect.chat]
        max_tokens_key = "max_completion_tokens"
        usage_in_stream = "always"
    """
    with Origin(chat_reply()) as origin:
        rows = load(dedent(row).format(origin.url))
        with Model(find("acme/m1", {"ACME_KEY": "k"}, rows=rows)) as model:
            model.chat("hi", max_output=7)
            model.chat(Request(messages=(user("hi"),), stream=True))
    assert origin.seen[0].path == "/v2/chat/completions?api-version=7"
    assert origin.seen[0].headers["x-team"] == "blue"
    assert origin.seen[0].json["max_completion_tokens"] == 7
    assert "stream_options" not in origin.seen[1].json


class Echo:
    """A service that is no service: it answers with what it was asked."""

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        reply = Reply(message=assistant(request.messages[-1].text), stop=Stop(reason="end"), model="echo")
        yield from (event for event in explode(reply) if not isinstance(event, Start))


@pytest.mark.req("S0-02")
def test_anything_that_streams_a_request_is_a_model() -> None:
    with Model(Echo()) as model:
        assert model.chat("ho").text == "ho"
        *_, last = model.request_stream(Request(messages=(user("ho"),)))
        assert isinstance(last, Finish)
        assert last.reply == Reply(message=assistant("ho"), stop=Stop(reason="end"))
    assert asyncio.run(AsyncModel(Echo()).chat("ho")).text == "ho"


class Silent:
    """It begins and says no more."""

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        yield Start(model="silent")


def test_a_producer_without_a_last_event_has_failed() -> None:
    with pytest.raises(ApiError, match="local model error: the model stopped without a last event") as caught:
        Model(Silent()).chat("hi")
    assert caught.value.code == "incomplete"


def test_the_model_of_the_name_is_asked_and_a_difference_noted() -> None:
    with Origin(chat_reply()) as origin, Model("openai/gpt-5", env=openai(origin)) as model:
        outcome = model.outcome(Request(model="claude", messages=(user("hi"),)))
    assert origin.seen[0].json["model"] == "gpt-5"
    note = Note(
        path=("model",),
        action="substituted",
        reason="this model is gpt-5, the request was made for claude",
        loss=False,
    )
    assert outcome == Outcome(reply=outcome.reply, notes=(note,), attempts=outcome.attempts)
    assert outcome.requests == 1


def test_what_a_wire_cannot_say_is_noted_and_refused_when_strict() -> None:
    with Origin(chat_stream("x")) as origin:
        with Model("openai/gpt-5", env=openai(origin)) as model, model.stream("hi", top_k=10) as stream:
            assert [note.path for note in stream.notes] == [("sampling", "top_k")]
        strict = Model("openai/gpt-5", env=openai(origin), strict=True)
        with pytest.raises(LossyError, match="top_k would be dropped"):
            strict.chat("hi", top_k=10)
    assert origin.seen == []


def test_a_tool_that_was_not_offered_cannot_be_chosen() -> None:
    choice = ToolChoice(mode="required", names=("write",))
    with Origin(chat_reply()) as origin, pytest.raises(UsageError, match="tool_choice names 'write'"):
        Model("openai/gpt-5", env=openai(origin)).chat("hi", tools=[Tool(name="read")], tool_choice=choice)
    assert origin.seen == []


def test_no_cookie_comes_back() -> None:
    answer = replace(chat_reply(), headers={"set-cookie": "track=1"})
    with Origin(answer) as origin, Model("openai/gpt-5", env=openai(origin)) as model:
        model.chat("a")
        model.chat("b")
    assert "cookie" not in origin.seen[1].headers


def test_a_proxy_is_not_asked_for_this_machine() -> None:
    code = """
        import os, sys
        from dragoman.client import Model
        print(Model(sys.argv[1], env={}).chat("hi").text)
    """
    with Origin(chat_reply()) as origin:
        proxied = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
        run = [sys.executable, "-W", "error", "-c", dedent(code), f"{origin.url}/v1#chat:m"]
        done = subprocess.run(run, capture_output=True, text=True, env=proxied, check=False)
    assert (done.stdout, done.stderr) == ("Hello\n", "")


def test_connections_are_used_again_after_streams_and_refusals() -> None:
    script = (chat_stream("a"), chat_reply(), Answer(status=500, body=b"oh"), chat_stream("b"))
    with Origin(*script) as origin, Model("openai/gpt-5", env=openai(origin), retry=0) as model:
        list(model.stream("hi"))
        model.chat("hi")
        with pytest.raises(ApiError):
            model.chat("hi")
        model.chat(Request(messages=(user("hi"),), stream=True))
        next(model.stream("hi"))
        model.chat("hi", n=1)
    assert (len(origin.seen), origin.connections) == (
        6,
        2,
    )  # only the stream that was dropped took its connection along
