"""How much is done, counted rather than timed: each call is one, and so is each letter and item that a call is handed, by a function around it too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class TooMuch(AssertionError):
    """More was done than was allowed; told at once, since the rest might take minutes."""


def work(does: Callable[[], Any], most: int | None = None, deep: int = 0) -> int:
    """How much `does` does; `deep` is how many levels of lists and dicts a call that gets one is taken to look into. Raises
    TooMuch as soon as that is more than `most`."""
    done = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal done
        if event == "call":
            code = frame.f_code
            given = (*code.co_varnames[: code.co_argcount], *code.co_freevars)
            done += 1 + sum(weight(frame.f_locals.get(name), deep) for name in given)
        elif event == "c_call":
            done += 1 + weight(getattr(arg, "__self__", None), 0)
        if most is not None and done > most:
            sys.setprofile(None)
            raise TooMuch(f"more than {most}")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        does()
    finally:
        sys.setprofile(before)
    return done


def lines(does: Callable[[], Any]) -> int:
    """How many lines of Python are run."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        does()
    finally:
        sys.settrace(before)
    return count


def weight(value: Any, deep: int) -> int:
    """The letters of a value, and its items as far down as one looks."""
    if type(value) is str:
        return len(value)
    if deep == 0 or type(value) not in (list, tuple, dict):
        return 0
    return len(value) + sum(weight(item, deep - 1) for item in (value.values() if type(value) is dict else value))
