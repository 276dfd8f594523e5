"""Guards docs/history.md: its table is the table of rules. DRAGOMAN_WRITE=1 writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.history.rules import BODY, CONTENT, PAIRING, SHAPE, Rule

PAGE = Path(__file__).resolve().parents[3] / "docs" / "history.md"
START, END = "<!-- rules -->\n", "<!-- /rules -->\n"
CHAPTERS: dict[str, dict[str, Rule]] = {
    "Calls and results": PAIRING,
    "What blocks hold": CONTENT,
    "Who speaks when, and what is offered": SHAPE,
    "Raw bodies only": BODY,
}


def table() -> str:
    text = ""
    for title, rules in CHAPTERS.items():
        text += f"\n### {title}\n\n| rule | asks | concerns | severity | repair | source |\n|---|---|---|---|---|---|\n"
        for name, rule in rules.items():
            text += (
                f"| `{name}` | {rule.asks} | {rule.concerns} | {rule.severity} | {rule.fix or '–'} | {rule.source} |\n"
            )
    return text + "\n"


def test_the_page_shows_the_rules_as_they_are() -> None:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    tail = rest.partition(END)[2]
    page = head + START + table() + END + tail
    if os.environ.get("DRAGOMAN_WRITE"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
