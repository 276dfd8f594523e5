"""Guards images on their way to a model: results keep their place, types tell the truth, and the blind get words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.history.vision import OMITTED, TOOL_OMITTED, without_images
from dragoman.types import Media, Message, Note, Request, Text, ToolCall, ToolResult, assistant, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http

PNG, JPEG = "iVBORw0KGgo=", "/9j/4AAQSkZJRg=="
BYTES = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": "R0lGODlhAQABAAAAACw=", "image/webp": "UklGRiQAAABXRUJQ"}


def image(said: str | None, data: str) -> Media:
    return Media(kind="image", media_type=said, data=data)


def written(wire: str, *messages: Message) -> tuple[dict[str, Any], tuple[Note, ...]]:
    out = find(wire).encode_request(Request(messages=messages, max_output=9), BASE, Exchange())
    return json.loads(out.http.body), out.notes


def type_in(wire: str, body: dict[str, Any]) -> str:
    """The media type of the one image in a body."""
    (turn,) = body["input" if wire == "responses" else "messages"]
    part = turn["content"][-1]
    if wire == "messages":
        return part["source"]["media_type"]
    url = part["image_url"] if wire == "responses" else part["image_url"]["url"]
    return url.removeprefix("data:").partition(";")[0]


@pytest.mark.case("REQ-011")
@pytest.mark.parametrize("source", ["messages", "responses"])
def test_a_result_of_an_image_alone_is_answered_and_its_image_follows(source: str) -> None:
    url = f"data:image/png;base64,{PNG}"
    shot: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    use = {"type": "tool_use", "id": "t1", "name": "shot", "input": {}}
    call = {"type": "function_call", "call_id": "t1", "name": "shot", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "t1", "output": [{"type": "input_image", "image_url": url}]}
    bodies = {
        "messages": {
            "messages": [
                {"role": "user", "content": "s"},
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [shot]}]},
            ]
        },
        "responses": {"input": [{"role": "user", "content": "s"}, call, output]},
    }
    body = json.dumps(bodies[source]).encode()
    out = json.loads(translate.request(Http(body=body), find(source), find("chat")).http.body)
    calls = [{"id": "t1", "type": "function", "function": {"name": "shot", "arguments": "{}"}}]
    assert out == {
        "messages": [
            {"role": "user", "content": "s"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "t1", "content": "(see attached image)"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Attached image(s) from tool result:"},
                    {"type": "image_url", "image_url": {"url": url}},
                ],
            },
        ]
    }


@pytest.mark.case("REQ-011")
def test_every_result_of_a_batch_is_answered_before_any_image_follows() -> None:
    calls = assistant(*(ToolCall.of(f"t{at}", "shot", {}) for at in range(3)))
    contents = ((image("image/png", PNG),), (), (Text(text="two"), image("image/png", PNG)))
    results = (tool(ToolResult(call_id=f"t{at}", content=content)) for at, content in enumerate(contents))
    body, _ = written("chat", user("s"), calls, *results)
    said = [(one["role"], one["content"]) for one in body["messages"][2:5]]
    assert said == [("tool", "(see attached image)"), ("tool", "(no tool output)"), ("tool", "two")]
    assert [part["type"] for part in body["messages"][5]["content"]] == ["text", "image_url", "image_url"]
    assert len(body["messages"]) == 6


@pytest.mark.case("REQ-012")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("actual", BYTES)
@pytest.mark.parametrize("said", ["image/png", "image/jpeg", "image/bmp", "application/octet-stream"])
def test_an_image_has_the_type_that_its_bytes_are_of(wire: str, actual: str, said: str) -> None:
    body, notes = written(wire, user(Text(text="what?"), image(said, BYTES[actual])))
    assert type_in(wire, body) == actual
    path = ("messages", 0, "content", 1, "media_type")
    told = Note(path=path, action="substituted", reason=f"the bytes are {actual}, not {said}", loss=False)
    assert list(notes) == ([] if said == actual else [told])


@pytest.mark.case("REQ-012")
@pytest.mark.parametrize("wire", WIRES)
def test_an_address_that_holds_the_image_is_read_as_well(wire: str) -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{JPEG}"}}
    body = json.dumps({"messages": [{"role": "user", "content": [part]}]}).encode()
    given = find("chat").decode_request(Http(body=body), BASE, Exchange()).request
    assert type_in(wire, written(wire, *given.messages)[0]) == "image/jpeg"


@pytest.mark.case("REQ-012")
@pytest.mark.parametrize("actual", BYTES)
def test_an_image_that_says_no_type_gets_it_where_one_is_wanted(actual: str) -> None:
    body, _ = written("messages", user(Text(text="what?"), image(None, BYTES[actual])))
    assert type_in("messages", body) == actual


@pytest.mark.case("REQ-012")
@pytest.mark.parametrize("wire", WIRES)
def test_bytes_that_nobody_knows_keep_the_type_that_was_said(wire: str) -> None:
    body, notes = written(wire, user(Text(text="what?"), image("image/png", "AAAA")))
    assert (type_in(wire, body), notes) == ("image/png", ())


@pytest.mark.case("REQ-012")
@pytest.mark.req("S0-18", "S0-19")
def test_a_model_that_sees_nothing_gets_words_once_for_each_run_of_images() -> None:
    shot = image("image/png", PNG)
    call = assistant(ToolCall.of("t1", "shot", {}))
    answer = ToolResult(call_id="t1", content=(shot, shot, Text(text="done")))
    request = Request(messages=(user(Text(text="what?"), shot, shot, Text(text="and"), shot), call, tool(answer)))
    seen, notes = without_images(request)
    words, tool_words = Text(text=OMITTED), Text(text=TOOL_OMITTED)
    answered = ToolResult(call_id="t1", content=(tool_words, Text(text="done")))
    asked = user(Text(text="what?"), words, Text(text="and"), words)
    assert seen == Request(messages=(asked, call, tool(answered)))
    assert [(note.path, note.action, note.loss) for note in notes] == [
        (("messages", 0, "content", 1), "substituted", True),
        (("messages", 0, "content", 4), "substituted", True),
        (("messages", 2, "content", 0, "content", 0), "substituted", True),
    ]
    assert "vision=True" in notes[0].reason
    for wire in WIRES:
        assert b"base64" not in find(wire).encode_request(seen, BASE, Exchange()).http.body


def test_a_request_without_images_is_the_request() -> None:
    request = Request(messages=(user("x"), assistant("y")))
    assert without_images(request) == (request, ())
    assert without_images(request)[0] is request
