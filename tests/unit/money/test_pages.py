"""Guards docs/money.md and docs/caching.md: what they show is computed anew from the scenes (S3-48), and their code runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.testing import FakeProvider
from scripts import script

ROOT = Path(__file__).resolve().parents[3]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


tool = script("money")


@pytest.mark.req("S3-48", "S3-52")
@pytest.mark.parametrize("page", tool.PAGES, ids=lambda page: page.name)
def test_what_is_shown_is_what_comes_out(page: Path) -> None:
    text = page.read_text("utf-8")
    assert tool.written(text) == text


def test_every_output_is_shown_once() -> None:
    shown = [
        found[1] for page in tool.PAGES for found in re.finditer(r"<!-- shown: (\w+) -->", page.read_text("utf-8"))
    ]
    assert sorted(shown) == sorted(tool.SHOWN)


def test_a_stale_page_would_be_seen() -> None:
    old = "<!-- shown: causes -->\n```\nof yesterday\n```\n"
    assert "of yesterday" not in tool.written(old)


def test_the_code_runs(tmp_path: Path) -> None:
    code = "\n".join(block for page in tool.PAGES for block in PYTHON.findall(page.read_text("utf-8")))
    with FakeProvider("messages", script=[{"text": "Hi.", "usage": {"input": 100, "output": 10}}]) as fake:
        env = {**os.environ, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": fake.url}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
        )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "300000 derived\n")
    assert len(fake.seen) == 2
