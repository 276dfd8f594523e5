"""What a chat template may spend: each step and each character it makes has a price, paid before it is made.

No clock ends a template that runs away, so the same template ends at the same place on every machine. What one step of
Python does may cost as much as a million others (a list that holds itself forty times over, printed), so prices follow
the size of what is read and made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from jinja2.exceptions import TemplateRuntimeError

WORK = 50_000_000  # characters made and steps taken, for one prompt
BITS = 16_384  # of a number: dividing two long ones takes longer than any budget says
FIELD = 10_000  # characters that one field of a format text may be wide
WIDE = re.compile(r"\d{5,}|%[-+ #0]*(?:\d*\.)?\*|:[^{}]*\{")  # a field wider than that, or as wide as a value says
COLLECTION = 64  # steps that walking into one takes
FAST = 6  # as a power of two, characters that are compared or searched in one step

_left: ContextVar[int] = ContextVar("work left")


class TooMuchWork(TemplateRuntimeError):
    """The budget is used up."""


@contextmanager
def budget(work: int = WORK) -> Generator[None]:
    """Within, `work` can be paid in all."""
    money = _left.set(work)
    try:
        yield
    finally:
        _left.reset(money)


def pay(price: int) -> None:
    """Raises TooMuchWork when `price` is more than there is left."""
    left = _left.get(WORK) - price
    _left.set(left)
    if left < 0:
        raise TooMuchWork("the template takes more steps than a prompt may")


def size(value: Any) -> int:
    """How long a text or a collection is; nothing else has a size."""
    return len(value) if isinstance(value, (str, list, tuple, dict)) else 0


class Weight(NamedTuple):
    """What a value holds: what was paid for it, how many parts there are, and how deep they lie."""

    paid: int
    parts: int
    depth: int


def weigh(value: Any, shift: int = 0) -> Weight:
    """Pays for all that `value` holds, as often as it holds it.

    A text weighs its length, in steps of `2 ** shift` characters, and a collection more than a step, for it is walked
    through here.
    """
    total, parts, deepest = 0, 0, 0
    inside: list[Generator[Any]] = [_each((value,))]
    while inside:
        for part in inside[-1]:
            price = 1 + (len(part) >> shift) if isinstance(part, str) else COLLECTION if size(part) else 1
            total += price
            parts += 1
            pay(price)
            if isinstance(part, (list, tuple, dict)):
                inside.append(_each(part))
                deepest = max(deepest, len(inside))
                break
        else:
            inside.pop()
    return Weight(total, parts, deepest)


def one_by_one(values: Iterable[Any], price: int = 1) -> Generator[Any]:
    """The values, each paid before it is given."""
    for value in values:
        pay(price)
        yield value


def of_operator(operator: str, left: Any, right: Any) -> int:
    """The price of what an operator makes; numbers that are too long for it are refused."""
    for number in (left, right):
        if isinstance(number, int) and number.bit_length() > BITS:
            raise TooMuchWork("the template calculates with numbers of thousands of digits")
    if operator == "%" and isinstance(left, str):
        return of_format(left, (right,))
    if operator == "+":
        return 1 + size(left) + size(right)
    if operator == "*":
        return 1 + max(size(left) * _times(right), size(right) * _times(left))
    if operator == "**" and isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > BITS:
        raise TooMuchWork("the template calculates with numbers of thousands of digits")
    return 1


def of_method(name: str, text: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    """The price of what the method, or the filter, of this name makes of `text`."""
    growth = GROWTH.get(name)
    return 1 + len(text) + (0 if growth is None else growth(text, (*args, *named.values())))


def of_format(text: str, args: Iterable[Any]) -> int:
    """The price of a format text with these values: each field may say all of them."""
    if WIDE.search(text):
        raise TooMuchWork("the template asks for a field of ten thousand characters and more")
    fields = text.count("%") + text.count("{")
    return len(text) + fields * (FIELD + weigh(list(args)).paid)


def _replaced(text: str, args: tuple[Any, ...]) -> int:
    old, new = (*map(str, args[:2]), "", "")[:2]
    times = len(text) + 1 if not old or len(args) > 2 else text.count(old)
    return times * max(len(new), len(old) if len(args) > 2 else 0)


def _indented(text: str, args: tuple[Any, ...]) -> int:
    return (1 + text.count("\n")) * max([4, *(_times(arg) or size(arg) for arg in args)])


def _joined(text: str, args: tuple[Any, ...]) -> int:
    return sum(weigh(arg).paid + len(text) * size(arg) for arg in args)


GROWTH: dict[str, Callable[[str, tuple[Any, ...]], int]] = {
    "replace": _replaced,
    "indent": _indented,
    "join": _joined,
    "format": of_format,
    "ljust": lambda _, args: max(map(_times, args), default=0),
    "rjust": lambda _, args: max(map(_times, args), default=0),
    "zfill": lambda _, args: max(map(_times, args), default=0),
}


def _times(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _each(value: Any) -> Generator[Any]:
    """The parts of a collection; keys and values of a dict."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield inner
    else:
        yield from value
