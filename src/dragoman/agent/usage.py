"""What several replies used together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.types.reply import Usage

COUNTS = (
    "input",
    "output",
    "cache_read",
    "cache_write",
    "cache_write_1h",
    "reasoning",
    "input_audio",
    "output_audio",
    "output_image",
    "cost",
)


def total(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum, figure by figure; a figure nobody reported stays None, and so does the whole."""
    sums: dict[str, Any] = {}
    hosted: dict[str, int] = {}
    seen = False
    for usage in usages:
        if usage is None:
            continue
        seen = True
        for name in COUNTS:
            if (value := getattr(usage, name)) is not None:
                sums[name] = sums.get(name, 0) + value
        for name, count in (usage.hosted_calls or {}).items():
            hosted[name] = hosted.get(name, 0) + count
    return Usage(**sums, hosted_calls=hosted or None) if seen else None
