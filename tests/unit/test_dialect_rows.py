"""Guards the rows of dialects: each rests on a source, says something, and every fact of the struct has a use."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.find import families, find, named, rows
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import UsageError
from dragoman.wire import WIRES

ROWS = rows()
# Facts that no server of rows.toml needs: they are for those who configure a server or a client of their own.
FOR_USERS = {
    "system_as_item",
    "image_note",
    "default_max_output",
    "tool_name_pattern",
    "reasoning_in",
    "reasoning_shown",
    "usage_cached",
    "inline_system",
    "reasoning_as_summary",
    "max_cache",
}


@pytest.mark.parametrize(("name", "wire"), ROWS, ids=lambda part: str(part))
@pytest.mark.req("S3-12")
def test_a_row_names_its_source_and_differs_or_says_that_it_does_not(name: str, wire: str) -> None:
    facts, dialect = ROWS[name, wire], find(name, wire)
    assert wire in WIRES
    assert len(facts["source"]) > 10
    differing = [fact for fact in Dialect.__struct_fields__ if _differs(dialect, fact)]
    assert bool(differing) is not bool(facts.get("equal")), f"{name}.{wire} differs in {differing}"
    assert sorted(differing) == sorted(set(facts) - {"source", "equal"}), "a fact that repeats the base says nothing"


def test_there_are_at_least_forty_five_rows() -> None:
    assert len(ROWS) >= 45


def test_every_fact_is_used_by_a_row_or_is_named_as_one_for_users() -> None:
    used = {fact for facts in (*ROWS.values(), *(family.facts for family in families())) for fact in facts}
    unused = set(Dialect.__struct_fields__) - used - {"name"}
    assert unused - FOR_USERS == set()


def test_an_unknown_server_is_the_base_and_a_typed_unknown_name_is_an_error_that_lists_the_known() -> None:
    assert find("nobody", "chat") is BASE
    assert find(None, "chat") is BASE
    with pytest.raises(UsageError, match=r"one of .*deepseek"):
        named("nobody", "chat")


@pytest.mark.parametrize(
    ("facts", "says"), [({"max_stops": 4}, "unknown dialect fact 'max_stops'"), ({"max_stop": "four"}, "max_stop")]
)
def test_a_wrong_fact_is_refused_with_its_name(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        override(BASE, facts)


def _differs(dialect: Dialect, fact: str) -> bool:
    return fact not in ("name", "source") and getattr(dialect, fact) != getattr(BASE, fact)
