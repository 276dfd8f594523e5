"""Guards docs/errors.md against growing old: it is what the tables say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_the_page_is_what_the_tables_say(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("errors_tool", ROOT / "tools" / "errors.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (tool.main(["--check"]), tool.main(["--nonsense"])) == (0, 1)
    assert capsys.readouterr().err == "unknown argument '--nonsense': there is --check\n"
