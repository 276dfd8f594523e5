"""Guards the check of arguments against schemas of a tool server that means harm: 2⁴⁰ steps asked are a named outcome."""

from __future__ import annotations

import time
from functools import reduce
from typing import Any

import msgspec
import pytest

from dragoman.tools import work
from dragoman.tools.arguments import CUT_SHORT, Misfit, Read, read_arguments
from dragoman.tools.check import Checked, Fault, checked
from dragoman.types import ToolCall

pytest.importorskip("jsonschema_rs")
DEPTH = 40
FITS: dict[str, Any] = {"type": "object"}
DEEP = reduce(lambda inner, _: [inner], range(DEPTH), 5)


def doubling(word: str, last: Any = FITS, **beside: Any) -> dict[str, Any]:
    """A schema whose definitions each ask twice, by `word`, for the next one."""

    def asks(ref: dict[str, Any]) -> dict[str, Any]:
        match word:
            case "not":
                return {"not": {"not": {"allOf": [ref, ref]}}}
            case "if":
                return {"if": ref, "then": ref, "else": ref}
            case "dependentSchemas" | "dependencies":
                return {word: {"a": ref, "b": ref}}
            case _:
                return {"not": {word: [ref, ref]}}

    steps = {f"s{at}": {**asks({"$ref": f"#/$defs/s{at + 1}"}), **beside} for at in range(DEPTH)}
    return {"$defs": {**steps, f"s{DEPTH}": last}, "allOf": [{"$ref": "#/$defs/s0"}]}


def around(schema: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    return {"$defs": schema["$defs"], **inner}


def nested(word: str) -> dict[str, Any]:
    return reduce(
        lambda inner, _: {"anyOf": [inner], word: False}, range(DEPTH), {"properties": {"a": True}, "prefixItems": [{}]}
    )


START = {"$ref": "#/$defs/s0"}
HARMFUL: dict[str, tuple[Any, dict[str, Any]]] = {
    **{
        word: ({"a": 1, "b": 2}, doubling(word))
        for word in ("not", "if", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
    },
    "false": ({"a": 1}, doubling("not", False)),
    "names": ({"a": 1}, around(doubling("not", {}), {"propertyNames": START})),
    "patterns": ({"a": 1}, around(doubling("not"), {"patternProperties": {".": START}})),
    "contains": ([1], around(doubling("not", {}), {"contains": START})),
    "recursive": (DEEP, {"items": {"not": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
    "recursive if": (DEEP, {"items": {"if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"}}}),
    "itself": ({"a": 1}, {"not": {"$ref": "#"}}),
    "escaped": ({"a": 1}, {**doubling("not"), "allOf": [{"$ref": "#/%24defs/s0"}]}),
    "by place": ({"a": 1}, {**doubling("not"), "allOf": [{"$ref": "#/allOf/1"}, START]}),
    "anchors": ({"a": 1}, {"$anchor": "n", "not": {"anyOf": [{"$ref": "#n"}, {"$ref": "#n"}]}}),
    "moved": ({"a": 1}, {"$id": "http://x/y", "not": {"$id": "http://x/z", "$ref": "http://x/y"}}),
    "dynamic": ({"a": 1}, {"$dynamicAnchor": "n", "not": {"$dynamicRef": "#n"}}),
    "unevaluated": ({"a": 1}, nested("unevaluatedProperties")),
    "unevaluated items": ([1], nested("unevaluatedItems")),
    "unevaluated references": ({"a": 1}, doubling("not", {"properties": {"b": True}}, unevaluatedProperties=False)),
    "chain": ({"a": 1}, {"$defs": {f"s{at}": {"$ref": f"#/$defs/s{at + 1}"} for at in range(50_000)}, "not": START}),
    "long": ([1] * 40_000, {"contains": {"not": {"anyOf": [{"type": "string"}] * 20}}}),
    "pattern": (["a" * 40_000], {"items": {"pattern": "a?" * 1000}, "not": {"type": "string"}}),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_a_schema_that_asks_for_endless_work_is_given_up_and_told(name: str) -> None:
    value, schema = HARMFUL[name]
    before = time.process_time()
    assert checked(value, schema) == Checked([], cut_short=True)
    assert time.process_time() - before < 0.5


@pytest.mark.parametrize(
    ("item", "schema"), [("x", {"enum": [str(at) for at in range(20_000)]}), ({}, {"required": ["x"] * 20_000})]
)
def test_a_long_list_that_is_looked_through_for_each_item_is_given_up(item: Any, schema: dict[str, Any]) -> None:
    before = time.process_time()
    found = checked([item] * 20_000, {"items": schema})
    assert found.cut_short and 0 < len(found.faults) < 50
    assert time.process_time() - before < 0.5


def test_a_fault_that_is_there_a_thousand_times_is_told_once() -> None:
    doubled = {f"s{at}": {"if": True, "then": {"allOf": [{"$ref": f"#/$defs/s{at + 1}"}] * 2}} for at in range(16)}
    schema = {"$defs": {**doubled, "s16": {"minProperties": 2}}, "allOf": [START]}
    before = time.process_time()
    assert checked({"a": 1}, schema) == Checked([Fault((), '{"a":1} has less than 2 properties')])
    assert time.process_time() - before < 0.5


def test_the_call_runs_and_its_run_is_told() -> None:
    schema = {**doubling("not"), "type": "object"}
    call = ToolCall.of("c", "f", {"a": 1})
    assert read_arguments(call, schema) == Read({"a": 1}, (CUT_SHORT,))
    assert isinstance(read_arguments(call, {**schema, "required": ["b"]}), Misfit)


VALUE = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/v"}}, {"$ref": "#/$defs/o"}]}
RECURSIVE: dict[str, Any] = {
    "$id": "https://example.org/tree",
    "$defs": {
        "v": VALUE,
        "o": {"type": "object", "patternProperties": {"^[a-z]$": {"$ref": "#/$defs/v"}}, "additionalProperties": False},
    },
    "allOf": [{"$ref": "#/$defs/o"}],
    "if": {"required": ["a"]},
    "then": {"required": ["b"]},
    "unevaluatedProperties": False,
}


@pytest.mark.parametrize("depth", [1, 8, 20])
def test_a_schema_of_good_faith_is_asked_in_full(depth: int) -> None:
    tree: Any = reduce(lambda inner, _: {"c": ["x", inner]}, range(depth), "x")
    assert checked({"a": tree, "b": "x"}, RECURSIVE) == Checked([])
    assert checked({"a": tree}, RECURSIVE) == Checked([Fault((), '"b" is a required property')])


def test_what_the_core_has_walked_already_is_not_counted_again() -> None:
    plain = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
    assert not work.is_hidden(msgspec.json.encode(plain))
    assert all(work.is_hidden(msgspec.json.encode({word: {}})) for word in work.HIDDEN)
