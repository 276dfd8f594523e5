"""Guards the way back: null that means "left out", maps said as lists, wrapped roots, and nothing guessed."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.schema import SUBSETS
from dragoman.wire.schema import Reverse, compile

STRICT = SUBSETS["openai-strict"]


def back(schema: dict[str, Any], value: Any) -> Any:
    return compile(schema, STRICT).reverse(value)


def shaped(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "came", "means"),
    [
        (shaped(a={"type": "string"}), {"a": None}, {}),
        (shaped(a={"type": ["string", "null"]}), {"a": None}, {"a": None}),
        (shaped(a={"anyOf": [{"type": "string"}, {"type": "null"}]}), {"a": None}, {"a": None}),
        (shaped(a={"enum": ["x", None]}), {"a": None}, {"a": None}),
        (shaped(a={"$ref": "#/$defs/N"}) | {"$defs": {"N": {"type": ["string", "null"]}}}, {"a": None}, {"a": None}),
        (shaped(a={"type": "string"}) | {"required": ["a"]}, {"a": None}, {"a": None}),
        (shaped(a=shaped(b={"type": "integer"})), {"a": {"b": None}}, {"a": {}}),
        (shaped(a={"type": "array", "items": shaped(b={"type": "integer"})}), {"a": [{"b": None}]}, {"a": [{}]}),
        (shaped(**{"名/~": {"type": "integer"}}), {"名/~": None}, {}),
    ],
)
def test_null_means_left_out_where_the_original_knew_no_null(schema: dict[str, Any], came: Any, means: Any) -> None:
    assert back(schema, came) == means


def test_the_branch_that_fits_decides() -> None:
    one, two = (
        shaped(kind={"const": "a"}, n={"type": "integer"}),
        shaped(kind={"const": "b"}, n={"type": ["integer", "null"]}),
    )
    for branch in (one, two):
        branch["required"] = ["kind"]
    schema = shaped(v={"anyOf": [one, two]}) | {"required": ["v"]}
    assert back(schema, {"v": {"kind": "a", "n": None}}) == {"v": {"kind": "a"}}
    assert back(schema, {"v": {"kind": "b", "n": None}}) == {"v": {"kind": "b", "n": None}}
    assert back(schema, {"v": {"kind": "c", "n": None}}) == {"v": {"kind": "c", "n": None}}


def test_a_map_comes_back_as_one() -> None:
    schema = shaped(env={"type": "object", "additionalProperties": {"type": "string"}})
    assert back(schema, {"env": [{"key": "A", "value": "1"}, {"key": "名", "value": "2"}]}) == {
        "env": {"A": "1", "名": "2"}
    }
    assert back(schema, {"env": []}) == {"env": {}}
    assert back(schema, {"env": None}) == {}


@pytest.mark.parametrize(
    "came",
    [
        {"env": [{"key": "A", "value": "1"}, {"key": "A", "value": "2"}]},
        {"env": [{"key": "A"}]},
        {"env": [{"key": 1, "value": "1"}]},
        {"env": {"A": "1"}},
        {"env": "A=1"},
        {"other": None},
        [],
        None,
    ],
)
def test_what_was_not_asked_for_stays_as_it_came(came: Any) -> None:
    assert back(shaped(env={"type": "object", "additionalProperties": {"type": "string"}}), came) == came


def test_a_map_whose_keys_follow_a_pattern_keeps_it() -> None:
    schema = shaped(
        m={"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    )
    compiled = compile(schema | {"required": ["m"]}, STRICT)
    assert compiled.schema is not None
    entry = compiled.schema["properties"]["m"]["items"]
    assert entry["properties"] == {"key": {"type": "string", "pattern": "^x-"}, "value": {"type": "integer"}}
    assert all(change.effect == "same" for change in compiled.changes)


def test_a_root_that_was_no_object_is_unwrapped() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    assert back(schema, {"value": [1, 2]}) == [1, 2]
    assert back(schema, {"value": [1], "more": 2}) == {"value": [1], "more": 2}
    assert back(schema, [1]) == [1]


def test_what_changed_nothing_gives_the_value_itself() -> None:
    value = {"a": [None]}
    assert Reverse()(value) is value
    assert compile(shaped(a={"type": "string"}), SUBSETS["object-root"]).reverse(value) is value
