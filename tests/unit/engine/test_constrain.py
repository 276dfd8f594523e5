"""Guards that a tool call made under constraint is valid whatever the tool's schema: bounded, simple, of offered tools."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.constrain import bounded, calls_schema, must_call, offered, read_call
from dragoman.types import HostedTool, Request, Tool, ToolCall, ToolChoice

TEXT = {"type": "string", "maxLength": 120}
WHOLE = {"type": "integer", "minimum": -(2**53 - 1), "maximum": 2**53 - 1}
READ = Tool(
    name="read",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The path"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
NOTE = Tool(name="note", kind="custom")


def closed(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def test_a_call_of_one_tool_and_of_several() -> None:
    read = closed({"name": {"const": "read"}, "arguments": closed({"path": TEXT})})
    note = closed({"name": {"const": "note"}, "arguments": closed({"input": TEXT})})
    compact = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    assert calls_schema((READ,)) == {**read, "x-guidance": compact}
    assert calls_schema((READ, NOTE)) == {"anyOf": [read, note], "x-guidance": compact}


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string", "format": "uri", "pattern": "^h"}, TEXT),
        ({"type": "string", "minLength": 200}, {"type": "string", "minLength": 200, "maxLength": 200}),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 5}),
        ({"enum": ["a", None]}, {"enum": ["a", None]}),
        ({"const": 3}, {"const": 3}),
        ({"type": "integer"}, WHOLE),
        ({"type": "number", "minimum": 0, "multipleOf": 2}, {"type": "number", "minimum": 0, "maximum": 2**53 - 1}),
        ({"type": "boolean", "default": True}, {"type": "boolean"}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [TEXT, WHOLE]}),
        ({"type": "array"}, {"type": "array", "items": TEXT, "minItems": 0, "maxItems": 8}),
        (
            {"items": {"type": "boolean"}, "minItems": 9},
            {"type": "array", "items": {"type": "boolean"}, "minItems": 9, "maxItems": 9},
        ),
        ({"type": "object"}, closed({})),
        ({"properties": {"a": {}, "b": True}}, closed({"a": TEXT, "b": TEXT}, [])),
        ({"type": "object", "properties": {"a": {}}, "required": ["a", "ghost"]}, closed({"a": TEXT})),
        ({"not": {"type": "string"}, "if": {}}, TEXT),
        (True, TEXT),
        (None, TEXT),
    ],
)
def test_only_bounded_and_known_parts_of_a_schema_are_kept(schema: Any, kept: dict[str, Any]) -> None:
    assert bounded(schema) == kept


def test_references_and_allof_are_put_in_place() -> None:
    schema = {
        "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
        "type": "object",
        "properties": {"at": {"allOf": [{"$ref": "#/$defs/place"}, {"properties": {"zip": {"const": "1"}}}]}},
        "required": ["at"],
    }
    inner = bounded(schema)["properties"]["at"]
    assert inner["properties"] == {"city": TEXT} and inner["required"] == ["city"]


@pytest.mark.parametrize("reference", ["#", "#/$defs/node", "#/nowhere", "other.json"])
def test_references_in_circles_and_into_nothing_end(reference: str) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": reference}}, "required": ["next"]}
    assert bounded({"$defs": {"node": node}, **node})["type"] == "object"


def test_what_is_offered() -> None:
    tools = (READ, NOTE, HostedTool(wire="responses", kind="web_search", payload={}))
    assert offered(Request(tools=tools)) == (READ, NOTE)
    assert offered(Request(tools=tools, tool_choice=ToolChoice(mode="required", names=("note",)))) == (NOTE,)
    assert offered(Request(tools=tools, tool_choice=ToolChoice(mode="none"))) == ()
    assert must_call(Request(tool_choice=ToolChoice(mode="required")))
    assert not must_call(Request()) and not must_call(Request(tool_choice=ToolChoice(mode="auto")))


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "read", "arguments": {"path": "说明.md"}}', ToolCall.of("c1", "read", {"path": "说明.md"})),
        (
            '{"name": "note", "arguments": {"input": "free text"}}',
            ToolCall(id="c1", name="note", arguments="free text", kind="custom"),
        ),
        ('{"name": "read", "arguments": {"path": "a"}}\n</tool_call>', ToolCall.of("c1", "read", {"path": "a"})),
        ('{"name": "read", "arguments": {"path": "REA', None),
        ('{"name": {"a": 1}, "arguments": {}}', None),
        ('{"name": "write", "arguments": {}}', None),
        ('{"name": "read"}', None),
        ("[]", None),
        ("", None),
    ],
)
@pytest.mark.req("I-06")
def test_a_constrained_answer_is_read_or_is_no_call(text: str, call: ToolCall | None) -> None:
    assert read_call(text, {"read": READ, "note": NOTE}, "c1") == call
