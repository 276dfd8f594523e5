"""A schema without what is no schema: a keyword whose value is not of the keyword's own form is taken away, and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.errors import LocalError
from dragoman.types.note import Path
from dragoman.wire.schema.vocabulary import LIST, MAP, ONE

MAX_DEPTH = 64  # levels of schemas within schemas

# Marks of a node on its way through a compilation, taken off at the end: no schema brings its own.
SAID = "~said"  # what its description must say besides
OPTIONAL = "~optional"  # a property whose null means "left out"
MAPPED = "~map"  # a list of key and value that means an object

Node = dict[str, Any]
Tell = Callable[[Path, str], None]


def sound(node: Node, path: Path, tell: Tell) -> Node:
    """A copy of `node`, made all the way down, that holds only well-formed keywords; `tell` is given each that is not.

    Raises LocalError too_deep beyond 64 levels of schemas.
    """
    return _sound(node, path, tell, 0)


def _sound(node: Node, path: Path, tell: Tell, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise LocalError("too_deep", f"more than {MAX_DEPTH} levels of schemas", path[:8])
    out: Node = {}
    for key, value in node.items():
        place = (*path, key)
        if key in MAP and isinstance(value, dict):
            whole = {name: _child(item, (*place, name), tell, depth) for name, item in value.items()}
            out[key] = {name: item for name, item in whole.items() if item is not None}
        elif key in LIST and isinstance(value, list):
            items = [_child(item, (*place, at), tell, depth) for at, item in enumerate(value)]
            out[key] = [item for item in items if item is not None]
        elif key in ONE and isinstance(value, dict):
            out[key] = _sound(value, place, tell, depth + 1)
        elif key in FORMS and not FORMS[key](value):
            tell(place, f"not what {key} may be")
        else:
            out[key] = value
    return out


def _child(item: Any, path: Path, tell: Tell, depth: int) -> Any:
    if isinstance(item, dict):
        return _sound(item, path, tell, depth + 1)
    if isinstance(item, bool):
        return item
    tell(path, "no schema: expected an object, true or false")
    return None


def _never(value: Any) -> bool:
    return False  # the forms that may be have been seen to


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _types(value: Any) -> bool:
    return isinstance(value, str) or _texts(value)


def _values(value: Any) -> bool:
    return isinstance(value, list)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _limit(value: Any) -> bool:
    return isinstance(value, int | float)  # true and false are how draft 4 says exclusive


def _count(value: Any) -> bool:
    return _number(value) and value >= 0


FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(MAP | LIST, _never),
    **dict.fromkeys(ONE, _flag),
    **dict.fromkeys(("$ref", "$dynamicRef", "description", "pattern", "format"), _text),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _limit),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"), _count),
    **dict.fromkeys(("minProperties", "maxProperties"), _count),
    "type": _types,
    "enum": _values,
    "required": _texts,
    **dict.fromkeys((SAID, OPTIONAL, MAPPED), _never),
}
