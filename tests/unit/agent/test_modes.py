"""Guards S4-30, S4-31, S4-37: three ways to use a model that stack, and the least of them that does for a task."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from dragoman.agent.modes import DIMENSIONS, MODES, Mode, Task, choose

PAGE = Path(__file__).resolve().parents[3] / "docs" / "context.md"


@pytest.mark.req("S4-28")
@pytest.mark.req("S4-31")
def test_the_least_mode_that_does_is_chosen() -> None:
    assert choose(Task()) == "completion"
    assert choose(Task(dialogue=True)) == "chat"
    assert choose(Task(outside=True)) == "agent"
    assert choose(Task(dialogue=True, outside=True)) == "agent"


@pytest.mark.req("S4-18")
@pytest.mark.req("S4-30")
def test_seven_dimensions_of_three_modes_are_told_in_the_docs_as_well() -> None:
    assert tuple(MODES) == get_args(Mode)
    assert [len(cells) for cells in MODES.values()] == [len(DIMENSIONS)] * 3 == [7] * 3
    page = PAGE.read_text(encoding="utf-8")
    assert "What is said in its middle is heeded least" in page
    for at, dimension in enumerate(DIMENSIONS):
        assert f"| {dimension} | {' | '.join(cells[at] for cells in MODES.values())} |" in page
