"""Guards against notes that say more than was lost: a whole object where one key of it had no place, or a loss where the target does unasked what was asked for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman import LossyError, Model, translate, wire
from dragoman.dialect.model import BASE
from dragoman.testing import FakeProvider
from dragoman.types import Note
from dragoman.types.note import show_path
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Http
from gate import Gate

HELLO: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": "hi"},
}


def told(source: str, target: str, **said: Any) -> tuple[tuple[Note, ...], dict[str, Any]]:
    """The notes of a body with something said beside, and what is sent."""
    http = Http(path="", body=jsonio.encode({**HELLO[source], **said}))
    sent = translate.request(http, wire.find(source), wire.find(target))
    notes = tuple(note for note in sent.notes if note.path != ("max_output",))
    return notes, jsonio.decode(sent.http.body)[0]


def losses(source: str, target: str, **said: Any) -> list[str]:
    return [f"{show_path(note.path)} {note.action}" for note in told(source, target, **said)[0] if note.loss]


# --- one key of an object

PARTS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"reasoning": {"effort": "low", "summary": "auto"}}, ["reasoning.summary dropped"]),
    ({"reasoning": {"summary": "auto"}}, ["reasoning.summary dropped"]),
    ({"reasoning": {"effort": None, "summary": "auto"}}, ["reasoning.summary dropped"]),
    ({"reasoning": {"effort": "low", "context": "all_turns"}}, ["reasoning.context dropped"]),
    ({"reasoning": {"effort": "low", "summary": None}}, []),
    ({"text": {"format": {"type": "text"}, "further": 1}}, ["text.further dropped"]),
    ({"text": {"further": 1}}, ["text.further dropped"]),
)


@pytest.mark.parametrize("target", ["chat", "messages"])
@pytest.mark.parametrize(("said", "lost"), PARTS)
def test_only_the_key_without_a_place_is_told_and_the_rest_is_sent(
    said: dict[str, Any], lost: list[str], target: str
) -> None:
    assert losses("responses", target, **said) == lost


def test_the_effort_beside_it_is_sent() -> None:
    said = {"reasoning": {"effort": "low", "summary": "auto"}}
    assert told("responses", "chat", **said)[1]["reasoning_effort"] == "low"
    assert told("responses", "messages", **said)[1]["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("said", [said for said, _ in PARTS] + [{"reasoning": {}}, {"text": {}}, {"reasoning": 1}])
def test_on_its_own_wire_the_object_comes_back_whole(said: dict[str, Any]) -> None:
    responses = wire.find("responses")
    http = Http(path="", body=jsonio.encode({**HELLO["responses"], **said}))
    incoming = responses.decode_request(http, BASE, Exchange())
    out = responses.encode_request(incoming.request, BASE, incoming.exchange)
    assert jsonio.decode(out.http.body)[0] == {**HELLO["responses"], **said}


# --- asked for what happens unasked

TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
UNASKED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("responses", "messages", {"store": False}),
    ("chat", "messages", {"store": False}),
    ("chat", "messages", {"n": 1, "logprobs": False, "top_logprobs": 0, "frequency_penalty": 0, "presence_penalty": 0}),
    ("chat", "responses", {"n": 1, "logprobs": False, "modalities": ["text"]}),
    ("chat", "messages", {"verbosity": "medium", "metadata": {}}),
    ("responses", "messages", {"text": {"verbosity": "medium"}}),
    ("responses", "chat", {"truncation": "disabled", "background": False}),
    ("responses", "chat", {"reasoning": {"effort": "low", "context": "auto", "mode": "standard"}}),
    ("responses", "messages", {"tools": [{**FUNCTION, "defer_loading": False}]}),
    ("messages", "chat", {"tools": [{**TOOL, "eager_input_streaming": False, "allowed_callers": ["direct"]}]}),
    ("messages", "responses", {"stop_sequences": [], "context_management": {"edits": []}}),
)


@pytest.mark.parametrize(("source", "target", "said"), UNASKED)
def test_what_the_target_does_unasked_is_no_loss(source: str, target: str, said: dict[str, Any]) -> None:
    assert losses(source, target, **said) == []


ASKED: tuple[tuple[str, str, dict[str, Any], list[str]], ...] = (
    ("responses", "messages", {"store": True}, ["store dropped"]),
    ("chat", "messages", {"n": 2}, ["n dropped"]),
    ("chat", "messages", {"verbosity": "low"}, ["verbosity dropped"]),
    ("responses", "chat", {"truncation": "auto", "background": True}, ["truncation dropped", "background dropped"]),
    ("responses", "messages", {"tools": [{**FUNCTION, "defer_loading": True}]}, ["tools[0].defer_loading dropped"]),
    ("messages", "responses", {"stop_sequences": ["x"]}, ["stop dropped"]),
)


@pytest.mark.parametrize(("source", "target", "said", "lost"), ASKED)
def test_what_it_would_not_do_is_one(source: str, target: str, said: dict[str, Any], lost: list[str]) -> None:
    assert losses(source, target, **said) == lost


def test_the_reason_says_why_nothing_is_lost() -> None:
    (note,) = told("responses", "messages", store=False)[0]
    reason = "the messages wire has no such parameter, and does what this says without it"
    assert note == Note(path=("store",), action="dropped", reason=reason, loss=False)


# --- told once


def test_of_what_was_dropped_whole_nothing_within_is_told_besides() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "S"}
    turn = {"role": "assistant", "content": [thought, {"type": "text", "text": "ok"}]}
    said = [{"role": "user", "content": "hi"}, turn, {"role": "user", "content": "and?"}]
    assert losses("messages", "chat", messages=said) == ["messages[1].content[0] dropped"]
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    history = [{"role": "user", "content": "hi"}, item, answer, {"role": "user", "content": "and?"}]
    assert losses("responses", "messages", input=history) == ["messages[1].content[0] dropped"]


def test_a_block_that_has_no_place_is_told_by_the_word_that_its_user_knows() -> None:
    found = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "tool_reference", "tool_name": "f"}]}
    call = {"type": "tool_use", "id": "c", "name": "search", "input": {}}
    ran = {"type": "server_tool_use", "id": "s", "name": "bash_code_execution", "input": {"command": "ls"}}
    turn = {"role": "assistant", "content": [ran, call]}
    said = [{"role": "user", "content": "hi"}, turn, {"role": "user", "content": [found]}]
    reasons = [note.reason for note in told("messages", "chat", messages=said)[0] if note.loss]
    assert reasons == [
        "a chat message has no part for a block of type hosted_call (bash_code_execution)",
        "a chat message has no part for a block of type 'tool_reference'",
    ]


# --- what is told reaches who asked


@pytest.mark.parametrize("backend", ["messages", "responses", "ollama"])
def test_several_answers_that_nobody_can_give_are_told_to_the_client_and_to_the_caller(backend: str) -> None:
    told_of = Note(path=("n",), action="dropped", reason=f"the {backend} wire has no such parameter")
    with FakeProvider(backend) as fake:
        with Gate(fake.spec) as gate:
            two, one = gate.say("chat", n=2), gate.say("chat", n=1)
        with Model(fake.spec, env={}) as model:
            outcome = model.outcome("hi", n=2)
        with Model(fake.spec, env={}, strict=True) as strict, pytest.raises(LossyError):
            strict.chat("hi", n=2)
    assert (two.status, one.status) == (200, 200)
    assert two.headers["dragoman-lost"] == "n dropped"
    assert "dragoman-lost" not in one.headers
    assert len(two.json["choices"]) == 1
    assert told_of in outcome.notes


# --- a switch that is off

OFF: tuple[dict[str, Any], ...] = ({"thinking": {"type": "disabled"}}, {"enable_thinking": False})


@pytest.mark.parametrize("said", OFF)
def test_thinking_that_a_chat_client_switched_off_is_off_on_every_wire(said: dict[str, Any]) -> None:
    assert told("chat", "messages", **said)[1]["thinking"] == {"type": "disabled"}
    assert told("chat", "responses", **said)[1]["reasoning"] == {"effort": "none"}
    assert told("chat", "ollama", **said)[1]["think"] is False
    assert [losses("chat", to, **said) for to in ("messages", "responses", "ollama")] == [[], [], []]


@pytest.mark.parametrize(
    "said",
    [
        *OFF,
        {"thinking": {"type": "enabled"}},
        {"thinking": {"type": "disabled", "further": 1}},
        {"thinking": {"type": "disabled"}, "enable_thinking": False},
        {"thinking": {"type": "disabled"}, "reasoning_effort": "low"},
        {"thinking": {"type": "disabled"}, "reasoning": {"effort": "low"}},
        {"enable_thinking": 0},
        {"enable_thinking": True},
    ],
)
def test_on_the_chat_wire_every_switch_comes_back_as_it_was_said(said: dict[str, Any]) -> None:
    chat = wire.find("chat")
    incoming = chat.decode_request(Http(path="", body=jsonio.encode({**HELLO["chat"], **said})), BASE, Exchange())
    out = chat.encode_request(incoming.request, BASE, incoming.exchange)
    assert jsonio.decode(out.http.body)[0] == {**HELLO["chat"], **said}


@pytest.mark.parametrize("said", OFF)
def test_an_effort_that_is_set_later_is_the_one_that_is_said(said: dict[str, Any]) -> None:
    chat = wire.find("chat")
    incoming = chat.decode_request(Http(path="", body=jsonio.encode({**HELLO["chat"], **said})), BASE, Exchange())
    louder = msgspec.structs.replace(incoming.request, effort="high")
    body = jsonio.decode(chat.encode_request(louder, BASE, incoming.exchange).http.body)[0]
    assert body == {**HELLO["chat"], "reasoning_effort": "high"}
