"""Guards the laws of the schema compiler: what fits the compiled schema means something that fits the original."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dragoman.dialect.schema import SUBSETS, Subset
from dragoman.errors import LocalError
from dragoman.wire.schema import compile
from schemas import documents, fitting, values

ROWS = [subset for subset in SUBSETS.values() if not subset.whole]
each_subset = pytest.mark.parametrize("subset", ROWS, ids=[row.name for row in ROWS])


def validator(schema: Any) -> Any:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=False)


def openapi(node: Any) -> Any:
    """`nullable` as JSON Schema says it, so that a validator of JSON Schema can judge it."""
    if isinstance(node, list):
        return [openapi(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: openapi(value) for key, value in node.items() if key != "nullable"}
    return {"anyOf": [out, {"type": "null"}]} if node.get("nullable") is True else out


def doubled(value: Any) -> bool:
    """Whether a list of key and value holds a key twice: it then means no object, and stays a list."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    keys = [item["key"] for item in inner if isinstance(item, dict) and set(item) == {"key", "value"}]
    texts = [key for key in keys if isinstance(key, str)]
    return len(texts) != len(set(texts)) or any(map(doubled, inner))


@each_subset
@settings(max_examples=30)
@given(document=documents(), data=st.data())
def test_what_fits_the_compiled_schema_means_what_fits_the_original(
    subset: Subset, document: dict[str, Any], data: st.DataObject
) -> None:
    try:
        compiled = compile(document, subset)
    except LocalError as error:
        assert error.code in ("too_large", "too_deep")
        return
    if compiled.schema is None or any(change.effect == "wider" for change in compiled.changes):
        return
    judged = openapi(compiled.schema) if subset.null == "nullable" else compiled.schema
    value = data.draw(st.composite(lambda draw: fitting(draw, compiled.schema, compiled.schema))() | values)
    if doubled(value) or not validator(judged).is_valid(value):
        return
    if isinstance(value, dict) and value.keys() & compiled.reverse.names.values():
        return  # it says a property by the name that was not sent: it stays as it came
    before = copy.deepcopy(value)
    back = compiled.reverse(value)
    event("judged" if back == value else "judged, and changed on the way back")
    assert value == before
    assert validator(document).is_valid(back), (compiled.schema, back)


@each_subset
@settings(max_examples=30)
@given(document=documents())
def test_compiling_twice_changes_nothing_more(subset: Subset, document: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    try:
        once = compile(document, subset)
    except LocalError:
        return
    assert document == before
    assert compile(document, subset) == once
    if once.schema is not None:
        jsonschema_rs.meta.validate(once.schema)
        again = compile(once.schema, subset)
        assert (again.schema, again.changes) == (once.schema, ())
        assert again.schema is once.schema
    assert (once.schema == document) == (not once.changes)


@each_subset
@settings(max_examples=30)
@given(document=documents(), value=values)
def test_any_value_may_come_back(subset: Subset, document: dict[str, Any], value: Any) -> None:
    try:
        compiled = compile(document, subset)
    except LocalError:
        return
    compiled.reverse(value)
