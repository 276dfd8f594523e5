"""Guards the table of requirements: every way to mark a test is seen, and a wrong id is told."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts import script

tool = script("requirements")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("@pytest.mark.req('S0-01')\ndef test_a(): ...", [("test_a", "S0-01")]),
        ("@pytest.mark.req('S0-01', 'S0-02')\nasync def test_a(): ...", [("test_a", "S0-01"), ("test_a", "S0-02")]),
        ("@mark.req('S0-01')\nclass TestA:\n    def test_b(self): ...", [("TestA", "S0-01")]),
        ("class TestA:\n    @mark.req('S0-01')\n    def test_b(self): ...", [("TestA::test_b", "S0-01")]),
        ("pytestmark = pytest.mark.req('S0-01')", [("pytestmark", "S0-01")]),
        ("ROWS = [pytest.param(1, marks=pytest.mark.req('S0-01'))]", [("ROWS", "S0-01")]),
        ("@pytest.mark.corpus\ndef test_a(): ...", []),
    ],
)
def test_every_kind_of_mark_is_seen(code: str, found: list[tuple[str, str]]) -> None:
    assert list(tool._marked(ast.parse(code))) == found


def test_a_mark_that_names_no_requirement_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "SOURCE", tmp_path / "absent.md")
    assert tool.faults({"S0-01"}, {"S0-01": ["a::b"], "S0-99": ["c::d"]}) == ["c::d: 'S0-99' is no requirement"]


def test_an_item_of_the_documents_without_a_sentence_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "requirements.md"
    source.write_text("- **S0-01** [R] One.\n- **C-26 five roles.**\n- **I-01** Three (S0-77).\n", encoding="utf-8")
    monkeypatch.setattr(tool, "SOURCE", source)
    assert tool.faults({"S0-01"}, {}) == [
        "C-26 has no sentence in tools/requirements.toml",
        "I-01 has no sentence in tools/requirements.toml",
    ]


def test_the_page_names_each_test_beside_its_sentence() -> None:
    text = tool.page([tool.Part("T", {"S0-01": "One.", "S0-02": "Two."})], {"S0-01": ["a.py::b", "a.py::c"]})
    assert text.removeprefix(tool.HEAD) == (
        "## T\n\n| id | requirement | asserted by |\n|---|---|---|\n"
        "| S0-01 | One. | `a.py::b`<br>`a.py::c` |\n| S0-02 | Two. | – |\n"
    )
