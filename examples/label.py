"""Label each line of the standard input: `python examples/label.py openai/gpt-5.2 < tickets.txt`.

The first of the three modes: each line is by itself, so no conversation is kept and nothing of one reaches the next.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from dragoman import Model

LABELS = ("bug", "wish", "question")


def label(model: Model, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line with its label; `?` where the model gave none of them."""
    instruction = f"Label the ticket with one word of: {', '.join(LABELS)}. Answer with that word alone."
    for line in lines:
        said = model.complete(instruction, line, purpose="deterministic").strip().strip(".").lower()
        yield said if said in LABELS else "?", line


if __name__ == "__main__":
    with Model(sys.argv[1]) as chosen:
        for word, ticket in label(chosen, map(str.strip, sys.stdin)):
            print(f"{word}\t{ticket}")
