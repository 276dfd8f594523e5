"""Guards the table of failures: a mark is told beside its case, a wrong one and a hopeless one are faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import script

tool = script("cases")
AREA = tool.Area("stream", "2", {"STR-1": "`<think>` or <b> | c", "STR-2": "Two", "STR-3": "Three"}, {"STR-3": "rain"})


def test_the_page_says_of_each_case_its_tests_or_what_it_waits_for() -> None:
    text = tool.page([AREA], {"STR-1": ["a.py::b", "a.py::c"]})
    assert text.removeprefix(tool.HEAD) == (
        "| area | part of five | cases | with a test | waiting |\n|---|---|---|---|---|\n"
        "| [stream](#stream) | 2 | 3 | 1 | 1 |\n"
        "\n## stream\n\n| id | what went wrong | test | passes |\n|---|---|---|---|\n"
        "| STR-1 | `<think>` or &lt;b> \\| c | `a.py::b`<br>`a.py::c` | yes |\n"
        "| STR-2 | Two | – | – |\n| STR-3 | Three | – | waits for rain |\n"
    )


def test_a_mark_that_names_no_case_and_a_case_without_a_row_are_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "cases.jsonl"
    source.write_text('{"id": "STR-1"}\n{"id": "STR-9"}\n', encoding="utf-8")
    monkeypatch.setattr(tool, "SOURCE", source)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("pass", encoding="utf-8")
    assert tool.faults([AREA], {"STR-8": ["a.py::b"]}) == [
        "a.py::b: 'STR-8' is no case",
        "STR-9 has no row in tools/cases.toml",
    ]


def test_a_guard_that_is_expected_to_fail_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "SOURCE", tmp_path / "absent.jsonl")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("@pytest.mark.xfail\ndef test_b(): ...", encoding="utf-8")
    assert tool.faults([AREA], {"STR-1": ["a.py::test_b"]}) == ["a.py: a guard of a case may not be expected to fail"]
