"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Each row as one line, its cells under each other; those of the columns `right` end together."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    pairs = ([*zip(row, widths, strict=True)] for row in rows)
    return [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width) for at, (cell, width) in enumerate(row)
        ).rstrip()
        for row in pairs
    ]
