"""Guards tools against being refused for their schema: references, unions, odd roots and keywords a server lacks."""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs
import pytest

from dragoman.dialect.schema import SUBSETS
from dragoman.wire.schema import Compiled, compile
from dragoman.wire.schema.vocabulary import children

POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "next": {"$ref": "#/$defs/Pt"}}}
REFERENCES: dict[str, Any] = {
    "type": "object",
    "$defs": {"Pt": POINT},
    "properties": {
        "p": {"$ref": "#/$defs/Pt", "description": "a point", "default": {}},
        "l": {"type": "array", "items": {"$ref": "#/properties/p"}},
    },
}
CHOICE = {
    "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
}
FLATTENING = [name for name, row in SUBSETS.items() if row.root_union == "flatten" and not row.whole]
WRAPPING = [name for name, row in SUBSETS.items() if row.root_union == "wrap"]
TAKING_OBJECTS = [name for name, row in SUBSETS.items() if row.no_arguments == "object" and not row.whole]


def made(schema: dict[str, Any] | None, name: str) -> Compiled:
    return compile(schema, SUBSETS[name])


def nodes(schema: Any) -> list[dict[str, Any]]:
    found, waiting = [], [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.append(node)
            waiting += [child for _, child in children(node)]
    return found


@pytest.mark.parametrize("name", ["gemini", "inline-defs"])
def test_references_are_inlined_and_recursion_is_cut(name: str) -> None:
    """SCH-001: refs inlined, also those not under $defs; recursion cut with {type: object}; siblings preserved."""
    cut = {"type": "object"}
    point = {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "next": cut},
        "description": "a point",
        "default": {},
    }
    compiled = made(REFERENCES, name)
    assert compiled.schema == {
        "type": "object",
        "properties": {"p": point, "l": {"type": "array", "items": point}},
    }
    assert {change.path[-1] for change in compiled.changes if change.effect == "wider"} == {"$ref"}


def test_one_unsupported_keyword_does_not_cost_all_the_tools() -> None:
    """SCH-002: const, oneOf, additionalProperties, exclusiveMinimum, lists of types and enums of numbers."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "fmt": {"anyOf": [{"const": "md"}, {"const": "json"}]},
            "n": {"type": ["integer", "null"], "exclusiveMinimum": 0},
            "lvl": {"type": "integer", "enum": [1, 2]},
            "u": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        },
    }
    assert made(schema, "gemini").schema == {
        "type": "object",
        "properties": {
            "fmt": {"anyOf": [{"type": "string", "enum": ["md"]}, {"type": "string", "enum": ["json"]}]},
            "n": {"type": "integer", "nullable": True, "description": "(exclusiveMinimum: 0)"},
            "lvl": {"type": "integer", "description": "(enum: [1,2])"},
            "u": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        },
        "description": "(additionalProperties: false)",
    }


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_that_takes_nothing_says_so_as_each_server_wants(schema: dict[str, Any] | None) -> None:
    """SCH-005: an object without properties, or no schema at all."""
    for name in TAKING_OBJECTS:
        out = made(schema, name).schema
        assert out is not None
        assert out["type"] == "object"
        assert out.get("properties", {}) == {}
        assert out.get("additionalProperties", False) is False
    assert made(schema, "gemini").schema is None
    assert made(schema, "plain").schema is schema


@pytest.mark.parametrize("name", FLATTENING)
@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_union_at_the_root_becomes_one_object(name: str, union: str) -> None:
    """SCH-006: one object with a and b optional, the constraint in words, `type: object` at the root."""
    compiled = made({union: CHOICE["anyOf"]}, name)
    words = {"anyOf": "at least", "oneOf": "exactly"}[union]
    assert compiled.schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "description": f'(give the properties of {words} one of: ["a"] | ["b"])',
    }
    assert [change.effect for change in compiled.changes] == ["wider"]
    assert compiled.reverse({"a": "x"}) == {"a": "x"}


@pytest.mark.parametrize("name", WRAPPING)
def test_a_union_at_the_root_of_a_strict_schema_is_wrapped_and_nothing_is_lost(name: str) -> None:
    compiled = made(CHOICE, name)
    assert compiled.schema is not None
    assert compiled.schema["properties"].keys() == {"value"}
    assert all(change.effect == "same" for change in compiled.changes)
    assert compiled.reverse({"value": {"b": 1}}) == {"b": 1}


@pytest.mark.parametrize("name", [name for name in SUBSETS if name != "plain"])
@pytest.mark.parametrize(
    "root",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string"},
        {"enum": ["a", "b"]},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"me": {"$ref": "#/$defs/A"}}}}},
        {"type": "object", "properties": {"me": {"$ref": "#"}}},
        {"type": ["array", "object"], "items": {"$ref": "#"}},
    ],
    ids=["array", "text", "enum", "allOf", "ref", "recursive", "recursive and wrapped"],
)
def test_whatever_the_root_was_it_is_an_object_without_a_union(name: str, root: dict[str, Any]) -> None:
    out = made(root, name).schema
    assert out is not None
    assert out["type"] == "object"
    assert not out.keys() & {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"}
    jsonschema_rs.meta.validate(out)


@pytest.mark.parametrize("name", WRAPPING)
def test_in_a_strict_schema_every_object_is_closed_and_no_reference_has_company(name: str) -> None:
    for node in nodes(made(REFERENCES, name).schema):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
        assert "$ref" not in node or node.keys() == {"$ref"}


def test_property_names_that_the_server_refuses_are_renamed_and_come_back() -> None:
    schema = {
        "type": "object",
        "properties": {"filter[id]": {"type": "string"}, "filter_id_": {"type": "string"}, "名": {"type": "string"}},
        "required": ["filter[id]", "名"],
    }
    compiled = made(schema, "messages-tools")
    assert compiled.schema is not None
    assert list(compiled.schema["properties"]) == ["filter_id__2", "filter_id_", "_"]
    assert compiled.schema["required"] == ["filter_id__2", "_"]
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in compiled.schema["properties"])
    assert compiled.reverse({"filter_id__2": "1", "filter_id_": "2", "_": "3"}) == {
        "filter[id]": "1",
        "filter_id_": "2",
        "名": "3",
    }


def test_what_is_stripped_is_a_keyword_and_never_a_property_of_that_name() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"strict": {"type": "boolean"}, "$id": {"type": "string", "$id": "x"}},
        "additionalProperties": False,
    }
    assert made(schema, "mistral").schema == {
        "type": "object",
        "properties": {"strict": {"type": "boolean"}, "$id": {"type": "string"}},
    }


def test_where_references_stand_alone_a_type_beside_a_union_moves_into_its_branches() -> None:
    schema = {
        "type": "object",
        "properties": {
            "v": {"type": "string", "anyOf": [{"minLength": 2}, {"enum": ["a"]}]},
            "t": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        },
    }
    out = made(schema, "mfjs").schema
    assert out is not None
    assert out["properties"] == {
        "v": {"anyOf": [{"minLength": 2, "type": "string"}, {"enum": ["a"], "type": "string"}]},
        "t": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    }
