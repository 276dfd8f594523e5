"""What the sources say of the protocol, and where they differ the choice that was made (C-27…C-33): each where it shows."""

from __future__ import annotations

import copy
import inspect
import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import translate
from dragoman.agent import Agent
from dragoman.client import Model
from dragoman.convert import Job, convert
from dragoman.dialect.model import BASE, override
from dragoman.errors import LossyError, RemoteError
from dragoman.history import check, repair
from dragoman.testing import FakeProvider
from dragoman.tools import tool
from dragoman.translate import Options
from dragoman.transport.choose import choose
from dragoman.types import (
    Finish,
    Media,
    Message,
    Origin,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    user,
)
from dragoman.types import tool as result
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from golden.t5 import FILES, FORMS, PROMPT, T5
from golden.written import READ, body
from laws.bodies import of

ROOT = Path(__file__).resolve().parents[2]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
each_wire = pytest.mark.parametrize("wire", WIRES)


# --- tools: what is declared, and that nothing of it runs


@pytest.mark.req("S1-01")
def test_the_type_of_a_tool_is_function_and_its_function_an_object() -> None:
    def read(entry: Any) -> Any:
        said = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [entry]}
        return find("chat").decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange()).request

    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    for entry, place in (
        ({"type": "functions", "function": function}, r"tools\[0\]\.type"),
        ({"type": None, "function": function}, r"tools\[0\]\.type"),
        ({"type": "function", "function": "f"}, r"tools\[0\]"),
        ({"type": "function"}, r"tools\[0\]"),
        ("f", r"tools\[0\]"),
    ):
        with pytest.raises(RemoteError, match=place):
            read(entry)
    assert read({"function": function}).tools[0].name == "f"  # unsaid, as many servers take it
    (written,) = body("chat", Request(messages=(user("x"),), tools=(READ,)))["tools"]
    assert (written["type"], type(written["function"])) == ("function", dict)


@tool
def add(x: int, y: int) -> int:
    """Add two numbers."""
    CALLED.append((x, y))
    return x + y


CALLED: list[tuple[int, int]] = []


@pytest.mark.req("S1-02", "S1-03")
def test_a_tool_has_the_name_and_the_words_of_its_function() -> None:
    def find_file(path: str) -> str:
        """Find a file by a part of its name."""
        return path

    made = tool(find_file)
    assert (made.definition.name, made.definition.description) == (find_file.__name__, inspect.getdoc(find_file))

    def bare(path: str) -> str:
        return path

    with pytest.warns(UserWarning, match="tool 'bare' has no docstring"):
        tool(bare)


@pytest.mark.req("S1-06", "S1-20")
@each_wire
def test_a_reply_of_calls_has_no_words_and_nothing_is_run_by_asking_for_it(wire: str) -> None:
    script = [{"calls": [{"name": "add", "arguments": {"x": 2, "y": 3}}]}]
    CALLED.clear()
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, env={}) as model:
        reply = model.chat("2 + 3?", tools=[add.definition])
        *_, last = model.stream("2 + 3?", tools=[add.definition])
    assert isinstance(last, Finish) and last.reply is not None
    for answer in (reply, last.reply):
        assert (answer.text, [call.name for call in answer.calls], answer.stop.reason) == ("", ["add"], "tool_calls")
    assert (CALLED, len(fake.seen)) == ([], 2)
    tools = fake.seen[0].body["tools"]
    assert "execute" not in json.dumps(tools)


@pytest.mark.req("S1-14")
@each_wire
def test_where_no_tool_may_be_called_the_text_is_the_answer(wire: str) -> None:
    CALLED.clear()
    with FakeProvider(wire, script=["Just words."]) as fake, Model(fake.spec, env={}) as model:
        done = Agent(model, [add], first_choice=ToolChoice(mode="none")).run("2 + 3?")
    assert (done.outcome, done.text, done.steps, CALLED) == ("done", "Just words.", 1, [])
    assert fake.seen[0].body["tool_choice"] == ({"type": "none"} if wire == "messages" else "none")


@pytest.mark.req("S1-21")
@pytest.mark.parametrize(("wire", "path"), [("chat", "/v1/chat/completions"), ("responses", "/v1/responses")])
def test_both_of_one_vendors_protocols_are_spoken(wire: str, path: str) -> None:
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        assert model.chat("Hello there").text == "Hello there"
        assert [type(event).__name__ for event in model.stream("Hello there")][-1] == "Finish"
    assert [seen.path for seen in fake.seen] == [path, path]


# --- the conversation in three formats


@pytest.mark.req("S3-02")
def test_the_conversation_of_two_files_has_the_form_of_the_source() -> None:
    prompt, task, calls, *results = T5.messages
    assert (prompt.role, len(prompt.text), prompt.text) == ("system", 895, PROMPT)
    assert task.text == (
        "Read dateparse.py and test_dateparse.py. Call read_file for BOTH files in the same reply "
        "(two tool calls at once), then stop."
    )
    assert [(call.name, call.parsed()) for call in calls.content if isinstance(call, ToolCall)] == [
        ("read_file", ToolCall.of("", "", {"path": path}).parsed()) for path in FILES
    ]
    assert [block.content[0].text for each in results for block in each.content] == list(FILES.values())  # type: ignore[union-attr]
    assert all(text.strip() for text in FILES.values())


@pytest.mark.req("S3-10")
@each_wire
def test_each_fixture_says_whether_it_was_recorded_or_derived(wire: str) -> None:
    """The words are ours, so none of the three is a recording; the forms follow from the first by the vendors' pages."""
    form = FORMS[wire]
    assert form.label in ("recorded", "derived", "synthetic")
    assert (form.label == "recorded") is (form.server is not None)
    assert find(wire).decode_request(Http(body=form.body), BASE, Exchange()).request.messages


def test_every_scene_is_labelled_too() -> None:
    scenes = sorted((ROOT / "tests").rglob("scenes/*.json"))
    assert scenes
    assert {json.loads(path.read_bytes())["label"] for path in scenes} <= {"recorded", "derived", "synthetic"}


# --- reasoning


@pytest.mark.req("I-14")
@each_wire
def test_thinking_is_kept_with_its_signature_and_replayed_as_the_profile_says(wire: str) -> None:
    state = {"messages": {"signature": "S1"}, "responses": {"id": "rs_1", "encrypted_content": "Y2lwaGVy"}}
    kept = {wire: state.get(wire, {"~": {"key": ["reasoning_content"]}})}
    thought = Reasoning(
        text="hm" if wire != "responses" else None, summary=("hm",) if wire == "responses" else None, opaque=kept
    )
    origin = Origin(wire=wire, provider="p", model="m")
    turn = Message(role="assistant", content=(thought, Text(text="4")), origin=origin)
    request = Request(model="m", messages=(user("2+2?"), turn, user("and?")), max_output=9, store=False)

    def sent(replay: str, model: str = "m") -> bytes:
        dialect = override(BASE, {"replay": replay, "reasoning_out": "reasoning_content"})
        asked = msgspec.structs.replace(request, model=model)
        return find(wire).encode_request(asked, dialect, Exchange(provider="p")).http.body

    sign = {"chat": b'"reasoning_content":"hm"', "messages": b'"signature":"S1"', "responses": b"Y2lwaGVy"}[wire]
    assert sign in sent("same_model")
    assert sign not in sent("never")
    assert sign not in sent("same_model", "another")
    assert sign in sent("always", "another")


# --- images: the history is never changed for a model that sees nothing


@pytest.mark.req("S0-20")
@each_wire
def test_a_history_with_images_is_not_changed_and_the_next_model_sees_them(wire: str) -> None:
    image = Media(kind="image", media_type="image/png", data=PIXEL)
    call = ToolCall.of("c1", "look", {})
    history = [
        user("What is this?", image),
        assistant(call),
        result(ToolResult(call_id="c1", content=(Text(text="see"), image))),
        user("And now?"),
    ]
    before = copy.deepcopy(history)
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as blind:
        blind.chat(history)
        assert history == before
        with Model(fake.spec, env={}, vision=True) as seeing:
            seeing.chat(history)
    assert history == before
    assert [json.dumps(seen.body).count(PIXEL) for seen in fake.seen] == [0, 2]


# --- the choices between sources


@pytest.mark.req("C-27")
def test_the_usual_transport_is_httpx2_and_one_of_the_standard_library_is_there_by_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert any(line.startswith("httpx2") for line in project["dependencies"])
    assert [type(choose(name)).__name__ for name in (None, "httpx2", "stdlib")] == [
        "Httpx2Transport",
        "Httpx2Transport",
        "StdlibTransport",
    ]


TALK: Any = (user("go"), result(ToolResult(call_id="call_1", content=(Text(text="x"),))), user("and?"))
ORPHAN = Request(model="m", messages=TALK, max_output=9)
CALL = assistant(ToolCall.of("call_1", "read", {"path": "a"}))
UNANSWERED = Request(model="m", messages=(user("go"), CALL, user("and?")), max_output=9)


@pytest.mark.req("C-28")
@each_wire
def test_checking_is_pure_the_copy_is_repaired_and_strict_refuses(wire: str) -> None:
    given = msgspec.msgpack.encode(ORPHAN)
    assert [found.rule for found in check(ORPHAN, wire)] == ["orphan-result"]
    mended = repair(ORPHAN, wire)
    assert mended.request != ORPHAN and mended.notes
    assert msgspec.msgpack.encode(ORPHAN) == given
    codec = find(wire)
    written = json.loads(codec.encode_request(UNANSWERED, BASE, Exchange()).http.body)
    assert len(written.get("messages", written.get("input"))) == 3  # a codec makes no message up
    source = next(name for name in WIRES if name != wire)
    said = find(source).encode_request(ORPHAN, BASE, Exchange()).http
    there = translate.request(said, find(source), codec)
    assert len(there.notes) > 0
    assert not check(codec.decode_request(there.http, BASE, Exchange()).request, wire)
    with pytest.raises(LossyError):
        translate.request(said, find(source), codec, Options(strict=True))


@pytest.mark.req("C-30")
@each_wire
def test_a_codecs_last_event_is_bare_and_a_clients_has_the_whole_reply(wire: str) -> None:
    decoder = find(wire).stream_decoder(BASE, Exchange(stream=True))
    events = [*decoder.feed(next(iter(of(wire).STREAMS.values()))), *decoder.close()]
    assert isinstance(events[-1], Finish) and events[-1].reply is None
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        stream = model.stream("Hello there")
        *_, last = stream
    assert isinstance(last, Finish) and last.reply is not None
    assert (last.reply, last.reply.text) == (stream.reply, "Hello there")


@pytest.mark.req("C-32")
@pytest.mark.parametrize("source", WIRES)
@each_wire
def test_an_image_is_never_taken_out_in_translation(source: str, wire: str) -> None:
    image = Media(kind="image", media_type="image/png", data=PIXEL)
    request = Request(model="nobody-knows", messages=(user("What is this?", image),), max_output=9)
    said = find(source).encode_request(request, BASE, Exchange()).http.body
    for provider in (None, "deepseek") if wire == "chat" else (None,):
        done = convert(Job(op="request", source=source, target=wire, body=said, provider=provider))
        assert PIXEL.encode() in done.body
        assert [note for note in done.notes if note.loss] == []


@pytest.mark.req("C-33")
@pytest.mark.parametrize("source", WIRES)
@each_wire
def test_a_limit_and_a_temperature_are_never_clamped_in_translation(source: str, wire: str) -> None:
    request = Request(model="m", messages=(user("x"),), tools=(READ,), max_output=16)
    said = find(source).encode_request(request, BASE, Exchange()).http.body
    done = convert(Job(op="request", source=source, target=wire, body=said))
    read = find(wire).decode_request(Http(body=done.body), BASE, Exchange()).request
    assert (read.max_output, read.sampling.temperature) == (16, None)
    with FakeProvider(wire) as fake, Model(fake.spec, env={}) as model:
        model.chat("x", tools=[READ], max_output=16)
    sent = fake.seen[0].body
    limits = [
        value for key, value in sent.items() if key in ("max_tokens", "max_completion_tokens", "max_output_tokens")
    ]
    assert (limits, "temperature" in sent) == ([16], False)
