"""Guards the values of the middle format: frozen, "not said" is None, arguments are text, and only an object is valid."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given

from dragoman import types
from dragoman.types import (
    Content,
    Invalid,
    Message,
    Request,
    Sampling,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    Valid,
    assistant,
    system,
    tool,
    user,
)
from dragoman.types.note import Note, show_path
from dragoman.types.opaque import marks, pack, restore
from ingredients import objects
from laws.edits import STRUCTS

REQUIRED_ANYWAY = {("Reasoning", "redacted"), ("ToolCall", "kind"), ("ToolResult", "kind"), ("Tool", "kind")}


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_a_value_is_frozen_and_says_nothing_by_itself(struct: type[msgspec.Struct]) -> None:
    assert struct.__struct_config__.frozen
    for name, default in zip(reversed(struct.__struct_fields__), reversed(struct.__struct_defaults__), strict=False):
        said = default is not None and default is not msgspec.NODEFAULT and default != () and default != Sampling()
        assert not said or (struct.__name__, name) in REQUIRED_ANYWAY


def test_every_block_has_a_tag_of_its_own() -> None:
    tags = [block.__struct_config__.tag for block in get_args(Content)]
    assert len(set(tags)) == len(tags) == 11


def test_the_list_of_the_laws_is_complete() -> None:
    """A struct that is added to the format must be added to the edit law."""
    own = {
        value
        for value in vars(types).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__module__.startswith("dragoman.types")
    }
    apart = {"Origin", "Note", "Valid", "Invalid", "Timing"}  # not said over a wire
    events = {value for value in own if value.__module__ == "dragoman.types.events"}
    assert {value.__name__ for value in own - events} - apart == {struct.__name__ for struct in STRUCTS}


@pytest.mark.req("S0-25")  # as C-26 reads it: kept as text, given as an object
@pytest.mark.req("S0-33", "C-26")
@given(objects)
def test_a_call_of_an_object_gives_the_object_back(value: dict[str, Any]) -> None:
    call = ToolCall.of("t", "f", value)
    assert call.parsed() == Valid(value)
    assert json.loads(call.arguments) == value


@pytest.mark.parametrize("text", ["", " ", "null", "{}", " {} "])
def test_nothing_is_the_empty_object(text: str) -> None:
    assert ToolCall(id="t", name="f", arguments=text).parsed() == Valid({})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a"', "invalid JSON"),
        ("[1]", "expected a JSON object, got an array"),
        ('"a"', "got a string"),
        ("true", "got a boolean"),
        ("1e5", "got a number"),
        ('{"a": 1e400}', "invalid JSON"),
        ("[" * 5000, "invalid JSON"),
    ],
)
def test_anything_else_is_invalid_and_kept(text: str, why: str) -> None:
    parsed = ToolCall(id="t", name="f", arguments=text).parsed()
    assert isinstance(parsed, Invalid)
    assert parsed.raw == text
    assert why in parsed.why


def test_a_custom_call_is_text() -> None:
    assert isinstance(ToolCall(id="t", name="f", arguments="{}", kind="custom").parsed(), Invalid)


def test_the_system_prompt_is_the_leading_system_message() -> None:
    request = Request(messages=(system("a"), user("b")))
    assert request.system == "a"
    assert request.with_system("c").messages == (system("c"), user("b"))
    assert request.with_system(None).messages == (user("b"),)
    assert Request(messages=(user("b"), system("late"))).system is None
    assert Request().with_system("x").messages == (system("x"),)


def test_the_helpers_build_what_they_say() -> None:
    result = ToolResult(call_id="t", content=())
    assert user("a", Text(text="b")).content == (Text(text="a"), Text(text="b"))
    assert [message.role for message in (system("s"), user("u"), assistant("a"), tool(result))] == [
        *("system", "user", "assistant", "tool")
    ]
    assert Message(role="user", content=(Text(text="a"), Text(text="b"))).text == "a\nb"


@pytest.mark.req("S3-33")
@pytest.mark.parametrize(
    ("usage", "uncached"),
    [
        (Usage(), None),
        (Usage(input=929, cache_read=890), 39),
        (Usage(input=10, cache_read=3, cache_write=4), 3),
        (Usage(input=7, cache_read=163), 0),
    ],
)
def test_what_was_paid_in_full(usage: Usage, uncached: int | None) -> None:
    assert usage.uncached == uncached


def test_a_path_as_people_write_it() -> None:
    assert show_path(("messages", 3, "content", 0)) == "messages[3].content[0]"
    assert show_path(()) == "body"
    assert Note(path=(), action="dropped", reason="x").loss


def test_leftovers_never_overrule_a_field() -> None:
    assert restore({"a": 1}, {"a": 2, "b": 3, "~": {"x": 1}}) == {"a": 1, "b": 3}
    assert pack("w", {}) is None
    assert marks(pack("w", {}, {"str": True}), "w") == {"str": True}
    assert marks({"w": {"~": "not ours"}}, "w") == {}
