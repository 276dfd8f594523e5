"""Guards the place that an explanation names: it is the one in the middle format, whatever the wire made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import Explanation
from dragoman.explain import Asked, explain
from dragoman.types import Media, Request, Text, Tool, ToolCall, ToolResult, assistant, system, user
from dragoman.types.message import Message
from dragoman.types.note import show_path
from dragoman.types.request import Sampling
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange

ids = {"call": "call_lost_1", "other": "call_kept_2"}
CALL = ToolCall(id=ids["call"], name="ls", arguments="{}")
KEPT = ToolCall(id=ids["other"], name="ls", arguments="{}")
RESULT = Message(role="tool", content=(ToolResult(call_id=ids["other"], content=(Text(text="ok"),)),))
TALK = Request(
    messages=(
        system("Be brief."),
        user("hi"),
        assistant(Text(text="Let me see."), KEPT),
        RESULT,
        assistant(Text(text="One more."), CALL),
        user(Text(text="and"), Text(text="this")),
    ),
    tools=(Tool(name="ls", description="List."), Tool(name="rm", description="Remove.")),
    sampling=Sampling(temperature=3.0),
    max_output=7,
)


def placed(said: Any, request: Request = TALK, wire: str = "chat", status: int = 400) -> str:
    error = {"message": said} if isinstance(said, str) else said
    read = find(wire).decode_error(status, {}, json.dumps({"error": error}).encode(), BASE)
    found = explain(read, Asked(request=request, wire=wire))
    assert isinstance(found, Explanation)
    return show_path(found.path) if found.path else ""


@pytest.mark.parametrize("wire", WIRES)
def test_the_place_is_the_call_whose_id_is_named(wire: str) -> None:
    assert placed("No tool output found for function call call_lost_1.", wire=wire) == "messages[4].content[1]"


@pytest.mark.parametrize("wire", WIRES)
def test_the_place_is_where_the_rule_is_broken_when_no_id_is_named(wire: str) -> None:
    said = "An assistant message with 'tool_calls' must be followed by tool messages"
    assert placed(said, wire=wire) == "messages[4].content[1]"


def test_a_result_without_its_call() -> None:
    request = Request(messages=(user("hi"), RESULT))
    assert (
        placed("unexpected `tool_use_id` found in `tool_result` blocks", request, "messages")
        == "messages[1].content[0]"
    )


def test_an_image_is_found_wherever_it_stands() -> None:
    image = Media(kind="image", media_type="image/png", data="AAAA")
    inner = ToolResult(call_id=ids["other"], content=(image,))
    request = Request(messages=(user("hi"), assistant(KEPT), Message(role="tool", content=(inner,))))
    assert placed("No endpoints found that support image input", request) == "messages[2].content[0]"
    assert placed("image input is not supported", Request(messages=(user("a", image),))) == "messages[0].content[1]"


def test_a_call_without_reasoning_is_where_reasoning_is_missed() -> None:
    assert placed("reasoning_content is missing in assistant tool call message at index 2") == "messages[2]"


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("Invalid 'temperature': decimal above maximum value.", "sampling.temperature"),
        ({"message": "Unsupported parameter: 'max_tokens' is not supported", "param": "max_tokens"}, "max_output"),
        ("max_tokens is too large: 9", "max_output"),
        ("Invalid schema for function 'rm': no", "tools"),
        ("Invalid 'tools[1].function.name': string does not match pattern.", "tools[1].name"),
        ("tools.1.custom.input_schema.type: Field required", "tools[1].parameters"),
        ("tools.7.custom.input_schema.type: Field required", "tools"),
        ("The requested model 'x' does not exist.", "model"),
        ("prompt is too long", ""),
        ("Invalid API key", ""),
    ],
)
def test_keys_and_tools(said: Any, path: str) -> None:
    assert placed(said) == path


def elements(wire: str) -> list[Any]:
    body = json.loads(find(wire).encode_request(TALK, BASE, Exchange()).http.body)
    return body["input" if wire == "responses" else "messages"]


@pytest.mark.parametrize("wire", WIRES)
def test_an_element_of_a_body_is_the_message_that_wrote_it(wire: str) -> None:
    """The bodies differ in how many elements they have; the last one is the user's on all of them."""
    root = "input" if wire == "responses" else "messages"
    last = len(elements(wire)) - 1
    said = f"{root}[{last}].role does not support 'developer'"
    assert placed({"message": f"Unsupported value: '{said}"}, wire=wire) == "messages[5]"
    deep = f"{root}.{last}.content.1: text content blocks must be non-empty"
    assert placed(deep, wire=wire) == "messages[5].content[1]"
    assert placed(f"{root}.99.content.1: text content blocks must be non-empty", wire=wire) == ""


def test_system_prompts_have_their_place_too() -> None:
    assert placed("system.0: text content blocks must be non-empty", wire="messages") == "messages[0]"
