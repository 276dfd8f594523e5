"""Guards the check of a value against a JSON Schema (S1-28): what fits, what does not, and schemas that mean harm."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.tools.check import faults

NODE: dict[str, Any] = {
    "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}}},
    "type": "object",
    "properties": {"first": {"$ref": "#/$defs/Node"}, "any": {"$ref": "#"}, "a~b": {"$ref": "#/$defs/None"}},
}


def told(value: Any, schema: Any) -> list[str]:
    return [str(fault) for fault in faults(value, schema)]


@pytest.mark.req("S1-28")
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, {"type": "object"}),
        ({"a": 4.0}, {"properties": {"a": {"type": "integer"}}}),
        ({"a": None}, {"properties": {"a": {"type": ["string", "null"]}}}),
        ({"a": 1, "b": 2}, {"properties": {"a": {}}, "additionalProperties": True}),
        ({"b": 2}, {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
        ({"x1": 2}, {"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
        ({"a": {"b": 1}}, {"properties": {"a": {"properties": {"c": {}}}}}),
        (
            {"a": [1, "x", "y"]},
            {"properties": {"a": {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}}},
        ),
        ({"first": {"next": {"next": {"n": 1}}}}, NODE),
        ({"any": {"any": {"first": {}}}, "a~b": 7}, NODE),
        ({"a": 1}, {"properties": {"a": {"type": "nonsense"}}}),
        ({"a": 1}, {"properties": {"a": {"type": 7, "enum": 3, "required": "x", "minimum": "y"}}}),
        ({"a": 1}, True),
    ],
)
def test_what_fits(value: Any, schema: Any) -> None:
    assert told(value, schema) == []


@pytest.mark.req("S1-26")
@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (
            {"a": "x"},
            {"properties": {"a": {"type": ["integer", "null"]}}},
            '`a`: expected integer or null, got string "x"',
        ),
        ({"a": True}, {"properties": {"a": {"enum": [1]}}}, "`a`: expected one of 1, got boolean true"),
        ({"a": 1}, {"properties": {"a": {"const": 2}}}, "`a`: expected 2, got number 1"),
        ({"a": 0}, {"properties": {"a": {"minimum": 1}}}, "`a`: expected at least 1, got 0"),
        ({"a": 1}, {"properties": {"a": {"exclusiveMinimum": 1}}}, "`a`: expected more than 1, got 1"),
        ({"a": [1, 2]}, {"properties": {"a": {"maxItems": 1}}}, "`a`: expected at most 1 items, got 2"),
        ({"a": "好"}, {"properties": {"a": {"minLength": 2}}}, "`a`: expected at least 2 characters, got 1"),
        ({"b": 1}, {"properties": {"a": {}}}, "unknown `b` (known: `a`)"),
        ({"b": 1}, {"properties": {}, "additionalProperties": False}, "unknown `b` (known: none)"),
        (
            {"a": {"b": 1}},
            {"properties": {"a": {"properties": {"c": {}}, "additionalProperties": False}}},
            "`a`: unknown `b` (known: `c`)",
        ),
        ({"a": [{}]}, {"properties": {"a": {"items": {"required": ["x"]}}}}, "`a[0]`: missing `x`"),
        ({"first": {"next": {"n": "1"}}}, NODE, '`first.next.n`: expected integer, got string "1"'),
        ({"a": 1}, {"properties": {"a": False}}, "`a`: nothing may be here, got 1"),
        ({"a": 1}, {"allOf": [{"required": ["b"]}]}, "missing `b`"),
        (
            {"a": {"kind": "x"}},
            {"properties": {"a": {"anyOf": [{"type": "null"}, {"properties": {"kind": {"enum": ["y"]}}}]}}},
            '`a.kind`: expected one of "y", got string "x"',
        ),
    ],
)
def test_what_does_not(value: Any, schema: Any, said: str) -> None:
    assert told(value, schema) == [said]


def test_references_in_circles_and_choices_without_end_are_given_up() -> None:
    assert told({"a": 1}, {"properties": {"a": {"$ref": "#/properties/a"}}}) == []
    choices: Any = {"type": "object", "properties": {}}
    for _ in range(6):
        choices = {"anyOf": [choices] * 4, "properties": {"a": choices}}
    assert isinstance(told({"a": {"a": {"a": 1}}}, choices), list)


def test_a_whole_validator_knows_the_other_keywords_and_fetches_nothing() -> None:
    pytest.importorskip("jsonschema_rs")
    assert told({"a": "y"}, {"properties": {"a": {"pattern": "^x"}}}) == ['`a`: "y" does not match "^x"']
    assert told({"a": "y"}, {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}) == []
    assert told({"a": "y"}, {"properties": {"a": {"pattern": "("}}}) == []
