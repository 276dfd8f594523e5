"""The words of JSON Schema, as tables: what holds schemas, what limits values, what only tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

# How a keyword holds schemas: one, a list of them, or an object of them by name.
ONE = frozenset(
    {"items", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties", "contains"}
    | {"not", "if", "then", "else", "propertyNames", "contentSchema"}
)
LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
MAP = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})

DEFINITIONS = ("$defs", "definitions")
UNIONS = ("anyOf", "oneOf")

# What says nothing about values. TOLD is worth the model's while: it goes into the description.
TOLD = frozenset({"default", "examples", "example", "contentEncoding", "contentMediaType"})
UNTOLD = frozenset(
    {"title", "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary", "discriminator"}
    | {"deprecated", "readOnly", "writeOnly", "externalDocs", "xml", "propertyOrdering", "nullable"}
)
ANNOTATIONS = TOLD | UNTOLD | {"description", *DEFINITIONS}

# What limits values of one type only.
BY_TYPE: dict[str, frozenset[str]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "unevaluatedProperties", "dependentRequired", "dependentSchemas", "dependencies"}
    ),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "minContains", "maxContains"}
        | {"minItems", "maxItems", "uniqueItems"}
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
BY_TYPE["integer"] = BY_TYPE["number"]
TYPED = frozenset().union(*BY_TYPE.values())
LIMITS = TYPED | {
    "type",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$dynamicRef",
}


def types_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The types a schema names; where it names none, what its own keywords make plain; () when nothing does."""
    said = node.get("type")
    if said is not None:
        names = said if isinstance(said, list) else [said]
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name in TYPES))
    if isinstance(node.get("enum"), list) or "const" in node:
        values = node["enum"] if isinstance(node.get("enum"), list) else [node["const"]]
        return tuple(dict.fromkeys(type_of(value) for value in values))
    if any(union in node for union in UNIONS) or "$ref" in node or "allOf" in node:
        return ()
    if "properties" in node:
        return ("object",)
    return ("array",) if "items" in node or "prefixItems" in node else ()


def type_of(value: Any) -> str:
    """The JSON type of a value; a whole number is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names: dict[type, str] = {int: "integer", str: "string", list: "array"}
    return names.get(type(value), "object")


def children(node: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every schema that stands directly in `node`, with its place in it."""
    for key, value in node.items():
        if key in MAP and isinstance(value, dict):
            yield from (((key, name), item) for name, item in value.items())
        elif key in LIST and isinstance(value, list):
            yield from (((key, at), item) for at, item in enumerate(value))
        elif key in ONE and isinstance(value, dict):
            yield (key,), value


def pointer(path: tuple[str | int, ...]) -> str:
    """A place as a JSON Pointer (RFC 6901); "" is the whole."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
