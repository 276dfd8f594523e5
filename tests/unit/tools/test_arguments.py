"""Guards S4-24, S1-23 and S1-28: words around an object are passed over, a broken object is never mended, a misfit told."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.tools.arguments import Misfit, Read, load_arguments, read_arguments
from dragoman.types import Invalid, ToolCall, Valid


@pytest.mark.req("S4-24")
@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ('```json\n{"path": "a"}\n```', {"path": "a"}),
        ('```\n{"path": "}"}\n```', {"path": "}"}),
        ('Here you are: {"path": "说明.md"} - done.', {"path": "说明.md"}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ('{"path": "a,}",\n}', {"path": "a,}"}),
        ('{"paths": ["a\\",]", ], "n": {"x": 1 , } }', {"paths": ['a",]'], "n": {"x": 1}}),
        ("", {}),
        ("null", {}),
    ],
)
def test_what_can_be_read(written: str, arguments: dict[str, object]) -> None:
    assert load_arguments(ToolCall(id="t", name="f", arguments=written)) == Valid(arguments)


@pytest.mark.req("S1-23")
@pytest.mark.req("S4-24")
@pytest.mark.parametrize(
    "written",
    [
        '{"path": "a',
        '```json\n{"path": "a\n```',
        '{"path": "a"} {"path": "b"}',
        'either {"path": "a"} or ["b"]',
        "[1, 2]",
        "7",
        '"{}"',
        "{'path': 'a'}",
        '{"path": NaN}',
        "{" * 100_000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        "no object at all",
    ],
)
def test_what_cannot_stays_as_it_was_written(written: str) -> None:
    found = load_arguments(ToolCall(id="t", name="f", arguments=written))
    assert isinstance(found, Invalid)
    assert found.raw == written


def test_text_for_a_custom_tool_is_no_object() -> None:
    assert isinstance(load_arguments(ToolCall(id="t", name="f", arguments='x {"a":1}', kind="custom")), Invalid)


QUERIES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "queries": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "n": {"type": "integer"},
        "u": {"anyOf": [{"type": "object"}, {"type": "string"}]},
        "deep": {
            "type": "object",
            "properties": {"on": {"type": "boolean"}, "size": {"type": "number", "default": 2.5}},
        },
        "level": {"enum": [1, 2], "default": 1},
    },
    "required": ["queries"],
}


def read(written: str, parameters: dict[str, Any] | None = None) -> Any:
    return read_arguments(ToolCall(id="t", name="s", arguments=written), parameters or QUERIES)


@pytest.mark.case("AGT-005")
@pytest.mark.req("S1-29")
def test_a_string_is_read_as_what_it_spells_only_where_no_string_may_stand() -> None:
    written = r'{"queries":"[\"a\"]","note":"[1]","n":"4","u":"{}","deep":{"on":"true"},"level":"2"}'
    found = read(written)
    assert found == Read(
        {"queries": ["a"], "note": "[1]", "n": 4, "u": "{}", "deep": {"on": True, "size": 2.5}, "level": 2},
        (
            "`queries` was a string and is read as the list it spells",
            "`n` was a string and is read as the int it spells",
            "`deep.on` was a string and is read as the bool it spells",
            "`level` was a string and is read as the int it spells",
        ),
    )


@pytest.mark.req("S1-24", "S1-25", "S1-26", "S1-28")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{}", "missing `queries`"),
        ('{"queries":"a"}', '`queries`: expected array, got string "a"'),
        ('{"queries":"[1]"}', '`queries`: expected array, got string "[1]"'),
        ('{"queries":[1]}', "`queries[0]`: expected string, got number 1"),
        ('{"queries":[],"n":"four"}', '`n`: expected integer, got string "four"'),
        ('{"queries":[],"n":"4.5"}', '`n`: expected integer, got string "4.5"'),
        ('{"queries":[],"n":null}', "`n`: expected integer, got null"),
        ('{"queries":[],"n":true}', "`n`: expected integer, got boolean true"),
        ('{"queries":[],"note":{}}', "`note`: expected string, got object {}"),
        ('{"queries":[],"u":7}', "`u`: expected object or string, got number 7"),
        ('{"queries":[],"level":3}', "`level`: expected one of 1, 2, got number 3"),
        (
            '{"query":["a"]}',
            "missing `queries`; unknown `query` (did you mean `queries`? known: `queries`, `note`, "
            "`n`, `u`, `deep`, `level`)",
        ),
    ],
)
def test_each_fault_has_its_place_what_was_expected_and_what_came(written: str, told: str) -> None:
    found = read(written)
    assert isinstance(found, Misfit)
    assert found.faults == told


def test_what_was_done_to_read_them_is_told() -> None:
    around = 'Sure:\n```json\n{"queries": ["a"],}\n```'
    did = ("a comma before a closing bracket was left out", "what stood around the object was passed over")
    assert read(around) == Read({"queries": ["a"], "level": 1}, did, mended=True)


def test_a_tool_without_a_schema_takes_any_object() -> None:
    for parameters in (None, {}, {"type": "object"}):
        found = read_arguments(ToolCall(id="t", name="f", arguments='{"a":"1"}'), parameters)
        assert found == Read({"a": "1"})


@pytest.mark.case("AGT-008")
@pytest.mark.parametrize(("written", "fits"), [("null", True), ("[]", False), ('"x"', False), ("7", False)])
def test_arguments_are_an_object_or_nothing(written: str, fits: bool) -> None:
    assert isinstance(read(written, {"type": "object", "properties": {}}), Read) is fits
