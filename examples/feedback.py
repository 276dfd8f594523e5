"""What a piece of feedback is about, as a JSON array of labels and nothing else.

    python examples/feedback.py MODEL < feedback.txt

One prompt and no conversation: the instruction first, the feedback last and fenced off, so that whatever stands in it is
read and not obeyed. What comes back is checked: an array, of these labels alone, or it is an error.
"""

from __future__ import annotations

import sys
from typing import Literal

import msgspec

from dragoman import Model

Label = Literal["bug", "price", "speed", "wish", "praise"]
INSTRUCTION = (
    "Label the feedback with any of: bug, price, speed, wish, praise. "
    'Answer with a JSON array of labels alone, as ["bug", "speed"]; [] where none fits.'
)


def labels(model: Model, feedback: str) -> list[Label]:
    """The labels of `feedback`. Raises msgspec.ValidationError or DecodeError for an answer that is no such array."""
    said = model.complete(INSTRUCTION, feedback, purpose="deterministic")
    return msgspec.json.decode(said, type=list[Label])


if __name__ == "__main__":
    with Model(sys.argv[1]) as chosen:
        print(msgspec.json.encode(labels(chosen, sys.stdin.read())).decode())
