"""What a caller passed, held to what is wanted: a mistake is one line that names the argument and says what to pass."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, get_type_hints

import msgspec

from dragoman.errors import UsageError

SHOWN = 60  # characters of what was passed
FUNCTION = "a function, or None"


def shown(value: Any) -> str:
    """A value in a few characters, on one line; what holds others, a key among them perhaps, by its type alone."""
    if not (value is None or isinstance(value, str | int | float)):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def wrong(name: str, value: Any, wanted: str) -> UsageError:
    """The error for an argument that is not what is wanted."""
    return UsageError("usage", f"{name} is {shown(value)}: pass {wanted}")


def hold(name: str, value: Any, kind: type | tuple[type, ...], wanted: str) -> None:
    """Raises UsageError for a value of no such kind; True and False are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float, (int, float))):
        raise wrong(name, value, wanted)


def hold_function(name: str, value: Any) -> None:
    """Raises UsageError for what is neither a function nor None."""
    if value is not None and not callable(value):
        raise wrong(name, value, FUNCTION)


def hold_several(name: str, value: Any, wanted: str) -> None:
    """Raises UsageError for what is no list, or a text, which would be taken for a list of its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong(name, value, wanted)


def hold_fields(made: msgspec.Struct) -> None:
    """Raises UsageError for a field of another type than it is declared with: Python checks none when a value is made."""
    for name, kind in _kinds(type(made)).items():
        value = getattr(made, name)
        try:
            msgspec.convert(value, kind)
        except (msgspec.ValidationError, RecursionError) as error:
            said = str(error)
            what = f"{type(made).__name__}({name}={shown(value)})"
            raise UsageError("usage", f"{what}: {said[:1].lower()}{said[1:]}") from None


@cache
def _kinds(made: type) -> dict[str, Any]:
    return get_type_hints(made)
