"""Guards what a strict schema says: required with null, closed, constraints in words, and sizes that are refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.dialect.model import BASE, override
from dragoman.dialect.schema import SUBSETS, SubsetName
from dragoman.tools.function import tool
from dragoman.wire.schema import Change, compile, explain

STRICT, MESSAGES = SUBSETS["openai-strict"], SUBSETS["messages"]


@pytest.mark.req("I-06")
def test_a_whole_schema() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Order",
        "properties": {
            "id": {"type": "string", "minLength": 3, "description": "which one"},
            "when": {"type": "string", "format": "iri", "default": "now"},
            "who": {"$ref": "#/definitions/Who", "description": "客户"},
            "count": {"type": "integer", "minimum": 1},
        },
        "required": ["id"],
        "definitions": {"Who": {"allOf": [{"properties": {"name": {"type": "string"}}}, {"required": ["name"]}]}},
    }
    compiled = compile(schema, STRICT)
    assert compiled.schema == {
        "type": "object",
        "properties": {
            "id": {"description": "which one\n(minLength: 3)", "type": "string"},
            "when": {"description": "(default: now; format: iri)", "type": ["string", "null"]},
            "who": {"description": "客户", "anyOf": [{"$ref": "#/$defs/Who"}, {"type": "null"}]},
            "count": {"type": ["integer", "null"], "minimum": 1},
        },
        "required": ["id", "when", "who", "count"],
        "additionalProperties": False,
        "$defs": {
            "Who": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }
    assert {change.path for change in compiled.changes if change.effect != "same"} == {
        ("properties", "id", "minLength"),
        ("properties", "when", "format"),
    }
    assert [note.path for note in compiled.notes if note.loss] == [
        ("properties", "id", "minLength"),
        ("properties", "when", "format"),
    ]


def test_the_messages_form_keeps_optional_properties() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 2}}}
    assert compile(schema, MESSAGES).schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}, "description": "(minItems: 2)"}},
        "additionalProperties": False,
    }


def test_what_cannot_be_merged_is_told_in_words() -> None:
    schema = {"type": "object", "properties": {"a": {"allOf": [{"pattern": "a", "type": "string"}, {"pattern": "b"}]}}}
    out = compile(schema, STRICT).schema
    assert out is not None
    assert out["properties"]["a"] == {
        "type": ["string", "null"],
        "description": '(must also fit: {"pattern":"b"})',
        "pattern": "a",
    }


def test_sizes_that_the_server_refuses_are_named() -> None:
    deep: Any = {"type": "string"}
    for _ in range(12):
        deep = {"type": "object", "properties": {"p": deep}}
    wide = {"type": "object", "properties": {"e": {"enum": [f"e{at}" for at in range(1001)]}}}
    assert compile(deep, STRICT).beyond == ("12 depth, the limit is 10",)
    assert compile(wide, STRICT).beyond == ("1002 enum values, the limit is 1000",)
    tree = {"type": "object", "properties": {"me": {"$ref": "#"}}, "required": ["me"]}
    assert compile(tree, MESSAGES).beyond == ("it is recursive: # refers to itself",)
    assert compile(tree, STRICT).beyond == ()


def test_explain_says_each_thing_with_its_place() -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "string", "pattern": "(?=x)"}}, "required": ["a/b"]}
    assert explain(schema, STRICT) == [
        "/additionalProperties: synthesised: false must be said: no other properties are described",
        "/properties/a~1b/pattern: moved: this subset has no lookaround: told in the description (no longer enforced)",
    ]
    assert compile(schema, STRICT).changes[0] == Change(
        path=("additionalProperties",),
        action="synthesised",
        reason="false must be said: no other properties are described",
    )


@pytest.mark.req("S0-55", "S1-04")
def test_the_schema_of_a_typed_function_loses_nothing_but_its_limits() -> None:
    def search(query: str, limit: int = 10, tags: list[str] | None = None, env: dict[str, str] | None = None) -> str:
        """Search."""
        return query

    compiled = compile(tool(search).definition.parameters, STRICT)
    assert [change for change in compiled.changes if change.effect != "same"] == []
    came = {"query": "x", "limit": None, "tags": None, "env": [{"key": "A", "value": "1"}]}
    assert compiled.reverse(came) == {"query": "x", "env": {"A": "1"}}


@pytest.mark.corpus
def test_strict_schemas_that_a_service_took_are_left_alone(shared: Path) -> None:
    seen = _strict_schemas(shared)
    changed = [name for name, schema in seen.items() if _more_than_words(compile(schema, STRICT).changes)]
    assert seen
    assert changed == []


def _more_than_words(changes: tuple[Change, ...]) -> bool:
    return any(change.effect != "same" for change in changes)


def _strict_schemas(shared: Path) -> dict[str, dict[str, Any]]:
    """Every schema sent with strict true among the recorded requests, by its JSON text."""
    found: dict[str, dict[str, Any]] = {}

    def look(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                look(item)
        elif isinstance(node, dict):
            held = next((node[key] for key in ("parameters", "schema") if isinstance(node.get(key), dict)), None)
            if node.get("strict") is True and held is not None:
                found[json.dumps(held, sort_keys=True)] = held
            for item in node.values():
                look(item)

    for path in sorted((shared / "corpus" / "dev").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if '"strict"' in line and (entry := json.loads(line))["status"] == 200:
                    look(entry["request"])
    return found


def test_every_subset_can_be_a_fact_of_a_dialect_and_names_its_source() -> None:
    assert tuple(SUBSETS) == get_args(SubsetName)
    for name, subset in SUBSETS.items():
        assert subset.name == name
        assert len(subset.source) > 20
        assert override(BASE, {"schema_subset": name}).schema_subset == name
