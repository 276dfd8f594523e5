"""JSON values as deep as a body may be, walked without a frame of the interpreter for each level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def rewritten(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of `value` in which each value is what `change` makes of it, from the outside in: what stands in an object or
    array that it gives is changed in turn."""
    whole = [value]
    level: list[Any] = [whole]
    while level:
        below: list[Any] = []
        for held in level:
            for place in list(held) if type(held) is dict else range(len(held)):
                item = change(held[place])
                if type(item) is dict or type(item) is list:
                    item = item.copy()
                    below.append(item)
                held[place] = item
        level = below
    return whole[0]
