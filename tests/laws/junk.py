"""What no service should send and some do: bytes of any kind, and bodies gone wrong in one place."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from ingredients import json_values

Path = tuple[str | int, ...]

DEEP = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
ODD_TEXTS: dict[str, bytes] = {
    "nothing": b"",
    "space": b" \r\n\t ",
    "mark": b"\xef\xbb\xbf",
    "null": b"null",
    "number": b"7",
    "string": b'"text"',
    "array": b"[]",
    "object": b"{}",
    "not utf-8": b'{"model": "\xff\xfe"}',
    "cut": b'{"model": "m", "messages": [{"role": "us',
    "two values": b"{}{}",
    "deep objects": DEEP,
    "deep arrays": b"[" * 10_000 + b"]" * 10_000,
    "deep and cut": b'{"messages":' + b"[" * 10_000,
    "huge integer": b'{"max_tokens": 1' + b"0" * 5000 + b"}",
    "huge exponent": b'{"temperature": 1e999999}',
    "not a number": b'{"temperature": NaN, "top_p": -Infinity}',
    "lone surrogate": b'{"model": "\\ud800", "\\udfff": 1}',
    "zero byte": b"\x00",
}

JUNK: tuple[Any, ...] = (None, 7, "x", "", [], {}, [None], {"type": 5}, True, 1.5)

# Values of every type, to stand where another type belongs.
swapped = st.one_of(
    st.sampled_from(
        [None, True, False, 0, -1, 1.5, 10**40, "", "x", [], {}, [None], [[]], [{}], {"type": "text"}, {"": None}]
    ),
    json_values,
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a JSON value, the whole of it first."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from places(item, (*path, at))


def at(value: Any, path: Path) -> Any:
    """What stands in a place; None where nothing does."""
    for step in path:
        if isinstance(value, dict) and step not in value:
            return None
        value = value[step]
    return value


def put(value: Any, path: Path, new: Any) -> Any:
    """A copy of `value` with another thing in one place; what does not lie on the way there is the same object."""
    if not path:
        return new
    first, *rest = path
    changed = copy.copy(value)
    changed[first] = put(value[first], tuple(rest), new) if rest else new
    return changed


@st.composite
def mutated(draw: Any, value: Any) -> Any:
    """A valid body with one place gone wrong, or two: another type, something added, something gone."""
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(list(places(value))))
        how = draw(st.sampled_from(["swap", "swap", "add", "remove"]))
        held = at(value, path)
        if how == "add" and isinstance(held, dict):
            value = put(
                value, (*path, draw(st.sampled_from(["type", "role", "content", "id", "index"]))), draw(swapped)
            )
        elif how == "remove" and path and isinstance(at(value, path[:-1]), dict):
            value = put(value, path[:-1], {key: item for key, item in at(value, path[:-1]).items() if key != path[-1]})
        else:
            value = put(value, path, draw(swapped))
    return value


@st.composite
def cut(draw: Any, value: Any) -> bytes:
    """A body of which only the beginning arrived."""
    whole = json.dumps(value, ensure_ascii=False).encode()
    return whole[: draw(st.integers(0, len(whole)))]


def each_gone_wrong(value: Any) -> Iterator[Any]:
    """A body as often as it has places, and each of them wrong in every way there is."""
    for path in places(value):
        for junk in JUNK:
            yield put(value, path, junk)
