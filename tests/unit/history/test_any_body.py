"""Guards check_body against whatever JSON comes: findings with a place in the body, never an error of Python's (L6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.history import check_body
from dragoman.history.raw import CALLS, ITEMS, PARTS, ROLES
from dragoman.wire import WIRES

KEYS = (
    *("messages", "input", "role", "content", "type", "tool_calls", "function", "custom", "id", "call_id", "name"),
    *("arguments", "input", "tool_call_id", "tool_use_id", "function_call", "tools", "tool_choice", "text", "system"),
)
VALUES = (*ROLES["chat"], *PARTS["chat"], *PARTS["responses"], *ITEMS, *CALLS, "text", "function", "", " ", "a")
plain: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(VALUES))
values: st.SearchStrategy[Any] = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=25,
)
items = st.lists(st.dictionaries(st.sampled_from(KEYS), values, max_size=5), max_size=4)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=5), items)
@pytest.mark.parametrize("wire", WIRES)
def test_any_object_is_read_and_each_finding_has_a_place_in_it(wire: str, body: dict[str, Any], said: Any) -> None:
    body = {**body, ("input" if wire == "responses" else "messages"): said}
    findings = check_body(wire, body)
    assert check_body(wire, json.dumps(body).encode()) == findings
    for finding in findings:
        assert at_least_the_holder(body, finding.path)


def at_least_the_holder(value: Any, path: tuple[str | int, ...]) -> bool:
    """Whether all of a place but its last step is there: what is missing has no place of its own."""
    for step in path[:-1]:
        value = value[step]
    return value is not None
