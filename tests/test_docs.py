"""Guards the documentation against growing old: its links lead somewhere and its code runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    assert [link for link in LINK.findall(prose) if not (page.parent / link).exists()] == []


@each_page
def test_code_is_code(page: Path) -> None:
    for block in PYTHON.findall(page.read_text(encoding="utf-8")):
        compile(block, str(page), "exec")


def test_the_first_page_runs_as_printed() -> None:
    for block in PYTHON.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8")):
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
