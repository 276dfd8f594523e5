"""Dates as people write them: 2026-11-30, 2026/11/30 or 2026年11月30日."""

import re
from datetime import date

FORM = re.compile(r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?")


def parse(text: str) -> date:
    """The date that `text` says. Raises ValueError where it says none."""
    found = FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"no date: {text!r}")
    year, month, day = (int(part) for part in found.groups())
    return date(year, month - 1, day)
