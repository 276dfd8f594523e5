"""Guards requests against being refused for a schema (SCH-005, SCH-006): what is sent has the form that its server takes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from dragoman.convert import Job, convert
from dragoman.dialect.model import BASE, override
from dragoman.types import Message, Output, Request, Tool, ToolCall, ToolsChange, user
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from hazards.schemas import (
    FLAT,
    LOOSE,
    NOTHING,
    PAIRS,
    PLAIN,
    SAID,
    UNION,
    answered,
    ask,
    body_of,
    each_wire,
    outline,
    schemas_in,
    sent,
)

# --- SCH-005: tools that take nothing


@pytest.mark.case("SCH-005")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_tool_that_takes_nothing_is_an_object_without_properties(source: str, target: str) -> None:
    said = json.dumps(body_of(source, ..., {}, None)).encode()
    done = convert(Job(op="request", source=source, target=target, body=said))
    assert schemas_in(done.body) == [NOTHING, NOTHING, NOTHING]
    assert [note for note in done.notes if note.loss] == []


@pytest.mark.case("SCH-005")
@each_wire
def test_a_tool_made_here_without_parameters_says_so(wire: str) -> None:
    assert schemas_in(sent(wire, ask(Tool(name="now"))).http.body) == [NOTHING]
    strict = schemas_in(sent(wire, ask(Tool(name="now", strict=True))).http.body)
    assert strict == [{**NOTHING, "additionalProperties": False}]


# --- SCH-006: roots that are no object


@pytest.mark.case("SCH-006")
@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_union_at_the_root_is_one_object_with_its_constraint_in_words(source: str, target: str, union: str) -> None:
    said = json.dumps(body_of(source, {union: UNION["anyOf"]})).encode()
    done = convert(Job(op="request", source=source, target=target, body=said))
    words = {"anyOf": "at least", "oneOf": "exactly"}[union]
    assert schemas_in(done.body) == [{**FLAT, "description": FLAT["description"].replace("at least", words)}]
    assert [(note.path, note.loss) for note in done.notes if note.path[:1] == ("tools",)] == [
        (("tools", 0, "parameters", union), True)
    ]


@pytest.mark.case("SCH-006")
@each_wire
def test_arguments_are_held_to_the_schema_that_was_given(wire: str) -> None:
    """What the flat form lets through the original still refuses."""
    tool = Tool(name="u", parameters=UNION)
    out = sent(wire, ask(tool))
    assert schemas_in(out.http.body) == [FLAT]
    call = answered(wire, ToolCall(id="c1", name="u", arguments='{ "b": 1 }'), out).calls[0]
    assert call.arguments == '{ "b": 1 }'
    assert jsonschema_rs.is_valid(UNION, json.loads(call.arguments))
    assert not jsonschema_rs.is_valid(UNION, {})


@pytest.mark.case("SCH-006")
@each_wire
@pytest.mark.parametrize(
    ("root", "said", "meant"),
    [
        ({"type": "array", "items": {"type": "string"}}, {"value": ["a"]}, ["a"]),
        ({"type": "string"}, {"value": "a"}, "a"),
        ({"enum": ["a", 1]}, {"value": 1}, 1),
        ({"type": ["object", "array"]}, {"value": {}}, {}),
    ],
)
def test_any_other_root_is_wrapped_and_the_caller_gets_what_was_in_it(
    wire: str, root: dict[str, Any], said: Any, meant: Any
) -> None:
    out = sent(wire, ask(Tool(name="u", parameters=root)))
    (written,) = schemas_in(out.http.body)
    assert (written["type"], list(written["properties"])) == ("object", ["value"])
    call = answered(wire, ToolCall.of("c1", "u", said), out).calls[0]
    assert json.loads(call.arguments) == meant


@pytest.mark.case("SCH-006")
@each_wire
def test_a_root_that_allows_several_at_once_is_one_object(wire: str) -> None:
    out = sent(wire, ask(Tool(name="u", parameters={"allOf": UNION["anyOf"]})))
    assert schemas_in(out.http.body) == [
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }
    ]


# --- what is left alone


@each_wire
def test_a_schema_that_the_server_takes_is_sent_byte_for_byte(wire: str) -> None:
    out = sent(wire, ask(Tool(name="f", parameters=PLAIN)))
    assert json.dumps(PLAIN, separators=(",", ":")).encode() in out.http.body
    assert (out.exchange.reverse, out.notes if wire != "messages" else ()) == ({}, ())


@each_wire
@pytest.mark.parametrize("schema", [UNION, LOOSE, {}, {"type": "array"}])
@pytest.mark.parametrize("strict", [True, False])
def test_what_a_client_said_on_this_wire_is_his_own_affair(wire: str, schema: dict[str, Any], strict: bool) -> None:
    said = body_of(wire, schema, strict=strict)
    incoming = find(wire).decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange())
    out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
    assert json.loads(out.http.body) == said
    assert (out.notes, out.exchange.as_said) == ((), True)


@each_wire
def test_but_a_server_with_rules_of_its_own_gets_them(wire: str) -> None:
    said = body_of(wire, {"type": "object", "properties": {}, "$schema": "x", "additionalProperties": False})
    incoming = find(wire).decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange())
    rules = override(BASE, {"schema_subset": "mistral"})
    out = find(wire).encode_request(incoming.request, rules, incoming.exchange)
    assert schemas_in(out.http.body) == [NOTHING]
    assert [note.path for note in out.notes] == [
        ("tools", 0, "parameters", "$schema"),
        ("tools", 0, "parameters", "additionalProperties"),
    ]


# --- what a dialect says of strictness


@each_wire
def test_a_server_that_takes_strict_tools_only_gets_them(wire: str) -> None:
    forced = override(BASE, {"strict_tools": "force"})
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE)), forced)
    (tool,) = json.loads(out.http.body)["tools"]
    assert tool.get("function", tool)["strict"] is True
    assert schemas_in(out.http.body) == schemas_in(
        sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True))).http.body
    )
    assert (("tools", 0, "strict"), "synthesised", False) in outline(out.notes)
    assert json.loads(answered(wire, ToolCall.of("c1", "find", SAID), out).calls[0].arguments)["env"] == {"A": "1"}


@each_wire
def test_a_server_without_strict_tools_gets_the_schema_as_it_is_and_that_is_told(wire: str) -> None:
    omitting = override(BASE, {"strict_tools": "omit"})
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)), omitting)
    assert schemas_in(out.http.body) == [LOOSE]
    assert b'"strict"' not in out.http.body
    assert [note for note in outline(out.notes) if note[0][:1] == ("tools",)] == [
        (("tools", 0, "strict"), "dropped", True)
    ]
    quiet = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=False)), omitting)
    assert [note for note in quiet.notes if note.loss] == []


def test_a_strict_schema_that_no_rewriting_mends_is_sent_without_strict() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    out = sent("messages", ask(Tool(name="walk", parameters=tree, strict=True)))
    (tool,) = json.loads(out.http.body)["tools"]
    assert (tool["input_schema"], "strict" in tool) == (tree, False)
    assert (("tools", 0, "strict"), "dropped", True) in outline(out.notes)


@each_wire
def test_tools_that_appear_in_mid_conversation_have_the_same_form(wire: str) -> None:
    late = Message(role="system", content=(ToolsChange(add=(Tool(name="u", parameters=UNION),)),))
    out = sent(wire, Request(model="m", messages=(user("x"), late)))
    assert json.dumps(FLAT, separators=(",", ":")).encode() in out.http.body
    place = ("messages", 1, "content", 0, "add", 0, "parameters", "anyOf")
    assert place in [note.path for note in out.notes]


@each_wire
def test_a_subset_about_tools_leaves_the_answer_s_schema_alone(wire: str) -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    output = Output(kind="schema", name="n", schema=closed)
    out = sent(wire, ask(output=output), override(BASE, {"schema_subset": "mistral"}))
    assert json.dumps(closed, separators=(",", ":")).encode() in out.http.body


def test_servers_get_the_form_that_their_rows_name() -> None:
    from dragoman.dialect.find import named

    tool = Tool(
        name="f",
        parameters={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"p": {"$ref": "#/$defs/P", "description": "where"}},
            "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
    )
    written = {
        name: schemas_in(sent("chat", ask(tool), named(name, "chat")).http.body)[0]
        for name in ("moonshot", "mistral", "dashscope")
    }
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert "$schema" not in written["mistral"]
    assert written["dashscope"]["properties"] == {"p": {**point, "description": "where"}}
    assert written["moonshot"]["properties"]["p"] in (
        {"$ref": "#/$defs/P"},
        {"anyOf": [{"$ref": "#/$defs/P"}], "description": "where"},
    )
