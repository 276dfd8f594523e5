"""Guards against schemas that explode, never end or are none, and against values that lead the way back astray."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.schema import SUBSETS
from dragoman.errors import LocalError, RemoteError
from dragoman.wire.schema import compile

NAMES = [name for name in SUBSETS if name != "plain"]
each_subset = pytest.mark.parametrize("name", NAMES)


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def nested(key: str, levels: int) -> Any:
    inner: Any = {"type": "string"}
    for _ in range(levels):
        inner = {"properties": {"p": inner}} if key == "properties" else {key: inner if key == "not" else [inner]}
    return {"type": "object", "properties": {"p": inner}}


def doubling(make: Any, levels: int = 40) -> dict[str, Any]:
    """A schema that is twice as large at each level once its references are written out."""
    definitions = {f"d{level}": make(ref(f"d{level + 1}")) for level in range(levels)}
    return {
        "type": "object",
        "properties": {"x": ref("d0")},
        "$defs": {**definitions, f"d{levels}": {"type": "object"}},
    }


@each_subset
@pytest.mark.parametrize(
    "schema",
    [
        doubling(lambda inner: {"type": "object", "properties": {"a": inner, "b": inner}}),
        doubling(lambda inner: {"type": "object", "anyOf": [inner, {"description": "d", **inner}]}),
        doubling(lambda inner: {"allOf": [inner, inner]}),
    ],
    ids=["properties", "unions", "intersections"],
)
def test_references_that_double_end_in_a_schema_or_a_named_limit(name: str, schema: dict[str, Any]) -> None:
    try:
        compiled = compile(schema, SUBSETS[name])
    except LocalError as error:
        assert error.code in ("too_large", "too_deep")
        assert len(str(error)) < 200
        return
    assert len(compiled.changes) < 1000


@each_subset
@pytest.mark.parametrize("key", ["properties", "anyOf", "allOf", "not"])
def test_depth_is_a_named_limit(name: str, key: str) -> None:
    with pytest.raises(LocalError) as caught:
        compile(nested(key, 500), SUBSETS[name])
    assert caught.value.code == "too_deep"
    assert len(caught.value.path) <= 8


@each_subset
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"type": "object"}]},
        {"anyOf": [{"$ref": "#"}, {"type": "object", "properties": {"a": {"$ref": "#"}}}]},
        {"type": "object", "properties": {"x": ref("a")}, "$defs": {"a": ref("b"), "b": ref("a")}},
        {"type": "object", "properties": {"x": ref("a")}, "$defs": {"a": {"allOf": [ref("a"), {"required": ["y"]}]}}},
        {"type": "object", "properties": {"x": ref("a")}, "$defs": {"a": {"properties": {"y": {"allOf": [ref("a")]}}}}},
        {"type": "object", "properties": {"x": ref("absent"), "y": {"$ref": "https://example.com/s.json"}}},
    ],
)
def test_circles_and_references_to_nowhere_end(name: str, schema: dict[str, Any]) -> None:
    compiled = compile(schema, SUBSETS[name])
    assert compiled.schema is None or compile(compiled.schema, SUBSETS[name]).changes == ()


@each_subset
def test_a_chain_of_references_is_followed_once(name: str) -> None:
    chain = {f"d{at}": ref(f"d{at + 1}") for at in range(3000)}
    schema = {"type": "object", "properties": {"x": ref("d0")}, "$defs": {**chain, "d3000": {"type": "string"}}}
    assert compile(schema, SUBSETS[name]).schema is not None


MALFORMED: list[Any] = [
    {"type": {"a": 1}},
    {"required": True},
    {"enum": "ab"},
    {"properties": [1]},
    {"properties": {"a": "string"}},
    {"anyOf": [1]},
    {"anyOf": {}},
    {"items": 3, "prefixItems": [[]]},
    {"$ref": 5},
    {"minLength": "3", "maxItems": [], "pattern": {}},
    {"additionalProperties": "no", "patternProperties": {"a": 5}, "propertyNames": []},
]


@each_subset
@pytest.mark.parametrize("inner", MALFORMED, ids=str)
def test_what_is_no_schema_is_taken_away_and_told(name: str, inner: dict[str, Any]) -> None:
    compiled = compile({"type": "object", "properties": {"p": inner}}, SUBSETS[name])
    told = [change.path[:2] for change in compiled.changes if change.effect == "wider"]
    assert ("properties", "p") in told
    assert compile({"type": "object", **inner}, SUBSETS[name]).changes


@each_subset
def test_nothing_goes_without_a_note(name: str) -> None:
    schema = {"type": "object", "properties": {"p": {"type": "string", "x-unit": "metre", "minLength": 2}}}
    compiled = compile(schema, SUBSETS[name])
    assert compiled.schema is not None
    kept = str(compiled.schema)
    for key in ("x-unit", "minLength"):
        noted = any(change.path == ("properties", "p", key) for change in compiled.changes)
        assert noted or f"'{key}'" in kept


def test_a_deep_value_on_the_way_back_is_a_named_limit() -> None:
    node = {"type": "object", "properties": {"me": {"$ref": "#"}}}
    reverse = compile(node, SUBSETS["openai-strict"]).reverse
    deep: Any = {"me": None}
    for _ in range(200):
        deep = {"me": deep}
    with pytest.raises(RemoteError) as caught:
        reverse(deep)
    assert caught.value.code == "too_deep"
    assert reverse({"me": {"me": None}}) == {"me": {}}


def test_nested_unions_are_read_in_linear_work() -> None:
    tree = {"anyOf": [{"type": "object", "properties": {key: {"$ref": "#/$defs/T"}}} for key in ("a", "b", "c")]}
    schema = {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}, "required": ["t"], "$defs": {"T": tree}}
    reverse = compile(schema, SUBSETS["openai-strict"]).reverse
    value: Any = {"c": None}
    for _ in range(30):
        value = {"c": value}
    back = reverse({"t": value})
    for _ in range(30):
        back = back["c"] if "c" in back else back["t"]
    assert back == {"c": {}}
