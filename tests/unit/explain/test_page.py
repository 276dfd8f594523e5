"""Guards docs/errors.md against growing old: it is what the tables say."""

from __future__ import annotations

import pytest

from scripts import script


def test_the_page_is_what_the_tables_say(capsys: pytest.CaptureFixture[str]) -> None:
    tool = script("errors")
    assert (tool.main(["--check"]), tool.main(["--nonsense"])) == (0, 1)
    assert capsys.readouterr().err == "unknown argument '--nonsense': there is --check\n"
