"""Guards S4-24 and S1-23: words around an object are passed over, an object that is broken is never mended."""

from __future__ import annotations

import pytest

from dragoman.tools.arguments import load_arguments
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
        '{"path": "a",}',
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
