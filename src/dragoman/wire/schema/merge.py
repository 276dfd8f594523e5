"""Two schemas that must both hold, as one: one level deep, deeper pairs are left as an allOf of two."""

from __future__ import annotations

from typing import Any

from dragoman.wire import jsonio
from dragoman.wire.schema.vocabulary import ANNOTATIONS, TYPES

Node = dict[str, Any]

GREATER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
LESSER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
# Keywords whose meaning rests on their neighbours: they merge only when one side has all of a group.
GROUPS = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"prefixItems", "items", "additionalItems", "unevaluatedItems"}),
)
EXACT = frozenset({"const", "enum"})  # to Python, true and 1 are equal
ALONE = frozenset({"unevaluatedProperties", "unevaluatedItems", "patternProperties", "$dynamicRef"})


def merge(one: Node, two: Node) -> Node | None:
    """The schema of the values that fit both; None where a single schema cannot say it. Words of `one` win."""
    if any(key in node for key in ALONE for node in (one, two)) or _entangled(one, two):
        return None
    out = {**two, **one}
    for key in one.keys() & two.keys():
        if key not in ANNOTATIONS and (key in EXACT or one[key] != two[key]):
            merged = _both(key, one[key], two[key])
            if merged is None:
                return None
            out[key] = merged[0] if key == "const" else merged
    if "properties" in out or "additionalProperties" in out:
        return _objects(one, two, out)
    return out


def _entangled(one: Node, two: Node) -> bool:
    for group in GROUPS:
        here, there = set(group & one.keys()), set(group & two.keys())
        if here and there and not (here == there == {"items"}):
            return True
    return False


def _both(key: str, one: Any, two: Any) -> Any:
    if key in ("properties", "additionalProperties"):
        return one  # _objects sees to them
    if key == "required" and isinstance(one, list) and isinstance(two, list):
        return list(dict.fromkeys([*one, *two]))
    if key == "type":
        return _types(one, two)
    if key == "enum" and isinstance(one, list) and isinstance(two, list):
        known = {jsonio.text(value) for value in two}
        return [value for value in one if jsonio.text(value) in known] or None
    if key == "const":
        return [one] if jsonio.text(one) == jsonio.text(two) else None
    if key == "items" and isinstance(one, dict) and isinstance(two, dict):
        return {"allOf": [one, two]}
    if key in GREATER | LESSER and _is_number(one) and _is_number(two):
        return max(one, two) if key in GREATER else min(one, two)
    if key == "uniqueItems":
        return True
    return None


def _types(one: Any, two: Any) -> Any:
    first, second = (set(said) if isinstance(said, list) else {said} for said in (one, two))
    if not all(isinstance(name, str) for name in first | second):
        return None
    common = first & second
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        common.add("integer")
    if "number" in common:
        common.discard("integer")
    names = [name for name in TYPES if name in common]
    return None if not names else names[0] if len(names) == 1 else names


def _objects(one: Node, two: Node, out: Node) -> Node | None:
    """The properties of both. A side that allows no others forbids what only the other side has."""
    mine, yours = one.get("properties", {}), two.get("properties", {})
    if not isinstance(mine, dict) or not isinstance(yours, dict):
        return None
    properties: Node = {}
    for name in dict.fromkeys([*mine, *yours]):
        sides = [
            known[name] if name in known else node.get("additionalProperties", True)
            for node, known in ((one, mine), (two, yours))
        ]
        kept = [side for side in sides if side is not True]
        if any(side is False for side in kept):
            if name in (out.get("required") or ()):
                return None
            continue
        properties[name] = kept[0] if len(kept) == 1 else {"allOf": kept} if kept else True
    if properties or "properties" in out:
        out["properties"] = properties
    extras = [node["additionalProperties"] for node in (one, two) if node.get("additionalProperties", True) is not True]
    if extras:
        out["additionalProperties"] = extras[0] if len(extras) == 1 or extras[0] == extras[1] else _extra(extras)
    return out


def _extra(extras: list[Any]) -> Any:
    return False if False in extras else {"allOf": extras}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
