"""The way back: values that a compiled schema allowed, in the form that the original schema means."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.errors import RemoteError
from dragoman.wire.schema.vocabulary import type_of

WRAPPED = "value"  # the one property of an object that stands around a root which is none
KEY, VALUE = "key", "value"  # the two properties of one entry of a map said as a list
MAX_DEPTH = 128  # steps into a value and into the unions around it

Schema = dict[str, Any]


class Reverse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to undo in values that come back; called with a parsed value it returns the mapped one.

    `schema` is the compiled schema; `optional` and `maps` are JSON Pointers into it: properties whose null means "left
    out", and lists of key and value that mean an object. `names` are the root's renamed properties, ours to the
    original's. `wrapped`: the value is the one property of the object that came.

    Nothing is guessed: what does not have the form that was asked for is left as it came, so invalid stays invalid.
    Patterns and formats are not looked at when the branch of a union is chosen. Linear in the size of the value times
    the size of the schema. The input is not changed. Raises RemoteError too_deep beyond 128 steps into
    the value and the unions around it.
    """

    schema: Schema = {}
    optional: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    names: dict[str, str] = {}
    wrapped: bool = False

    def __call__(self, value: Any) -> Any:
        if self.optional or self.maps or self.names:
            value = _Reader(self).read(value, self.schema, "", 0)
        if self.wrapped and isinstance(value, dict) and set(value) == {WRAPPED}:
            return value[WRAPPED]
        return value


class _Reader:
    """One value against one schema; what was found to fit is remembered, so that no pair is looked at twice."""

    def __init__(self, reverse: Reverse) -> None:
        self.reverse = reverse
        self.fitting: dict[tuple[int, str], bool] = {}

    def read(self, value: Any, node: Any, at: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise RemoteError("too_deep", f"more than {MAX_DEPTH} levels of nesting")
        if not isinstance(value, dict | list):
            return value
        node, at = self.follow(node, at)
        if "anyOf" in node:
            for index, branch in enumerate(node["anyOf"]):
                place = f"{at}/anyOf/{index}"
                if self.fits(value, branch, place, depth):
                    return self.read(value, branch, place, depth + 1)
            return value
        if isinstance(value, dict):
            return self.object(value, node, at, depth)
        items = [self.read(item, *self.item(node, index, at), depth + 1) for index, item in enumerate(value)]
        return self.entries(items) if at in self.reverse.maps else items

    def object(self, value: dict[str, Any], node: Schema, at: str, depth: int) -> dict[str, Any]:
        names = self.reverse.names if at == "" and not value.keys() & self.reverse.names.values() else {}
        properties = node.get("properties", {})
        out: dict[str, Any] = {}
        for name, item in value.items():
            place = f"{at}/properties/{_escaped(name)}"
            if name not in properties:
                out[name] = item
            elif item is not None or place not in self.reverse.optional:
                out[names.get(name, name)] = self.read(item, properties[name], place, depth + 1)
        return out

    def entries(self, items: list[Any]) -> Any:
        """A list of key and value as the object it means; a key that comes twice means none."""
        if not all(isinstance(item, dict) and set(item) == {KEY, VALUE} and _is_text(item[KEY]) for item in items):
            return items
        out = {item[KEY]: item[VALUE] for item in items}
        return out if len(out) == len(items) else items

    def item(self, node: Schema, index: int, at: str) -> tuple[Any, str]:
        prefix = node.get("prefixItems", [])
        return (
            (prefix[index], f"{at}/prefixItems/{index}")
            if index < len(prefix)
            else (node.get("items", {}), f"{at}/items")
        )

    def follow(self, node: Any, at: str) -> tuple[Schema, str]:
        """A schema past its references."""
        seen: set[str] = set()
        while isinstance(node, dict) and "$ref" in node and at not in seen:
            seen.add(at)
            at = str(node["$ref"])[1:]
            node = self.reverse.schema
            for step in at.split("/")[1:]:
                node = node.get(step.replace("~1", "/").replace("~0", "~"), {})
        return (node, at) if isinstance(node, dict) else ({}, at)

    def fits(self, value: Any, node: Any, at: str, depth: int) -> bool:
        node, at = self.follow(node, at)
        if depth > MAX_DEPTH:
            raise RemoteError("too_deep", f"more than {MAX_DEPTH} levels of nesting")
        key = (id(value), at)  # the value lives as long as we read it
        if key not in self.fitting:
            self.fitting[key] = False  # what fits only by way of itself does not fit
            self.fitting[key] = self.look(value, node, at, depth)
        return self.fitting[key]

    def look(self, value: Any, node: Schema, at: str, depth: int) -> bool:
        if not _typed(value, node) or not _counted(value, node):
            return False
        branches = node.get("anyOf")
        if branches is not None and not any(
            self.fits(value, branch, f"{at}/anyOf/{index}", depth + 1) for index, branch in enumerate(branches)
        ):
            return False
        if isinstance(value, dict):
            return self.holds(value, node, at, depth)
        if isinstance(value, list):
            return all(self.fits(item, *self.item(node, index, at), depth + 1) for index, item in enumerate(value))
        return True

    def holds(self, value: dict[str, Any], node: Schema, at: str, depth: int) -> bool:
        properties = node.get("properties", {})
        if any(name not in value for name in node.get("required", ())):
            return False
        if node.get("additionalProperties") is False and any(name not in properties for name in value):
            return False
        return all(
            self.fits(item, properties[name], f"{at}/properties/{_escaped(name)}", depth + 1)
            for name, item in value.items()
            if name in properties
        )


def _typed(value: Any, node: Schema) -> bool:
    """Whether a value has the type, and is one of the values, that a schema names."""
    if value is None and node.get("nullable") is True:
        return True
    said, own = node.get("type"), type_of(value)
    names = said if isinstance(said, list) else [said]
    if said is not None and own not in names and not (own == "integer" and "number" in names):
        return False
    if "const" in node and not _equal(value, node["const"]):
        return False
    return "enum" not in node or any(_equal(value, item) for item in node["enum"])


def _counted(value: Any, node: Schema) -> bool:
    if isinstance(value, str | list):
        low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minItems", "maxItems")
        return node.get(low, 0) <= len(value) <= node.get(high, len(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            node.get("minimum", value) <= value <= node.get("maximum", value)
            and not ("exclusiveMinimum" in node and value <= node["exclusiveMinimum"])
            and not ("exclusiveMaximum" in node and value >= node["exclusiveMaximum"])
        )
    return True


def _equal(one: Any, two: Any) -> bool:
    """JSON's equality: true is not 1."""
    return one == two and isinstance(one, bool) == isinstance(two, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
