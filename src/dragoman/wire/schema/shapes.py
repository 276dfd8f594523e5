"""Objects and lists in the form of a subset: closed, with all properties required, maps as lists of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.types.note import Path
from dragoman.wire.schema.plain import is_map
from dragoman.wire.schema.reverse import KEY, VALUE
from dragoman.wire.schema.vocabulary import types_of
from dragoman.wire.schema.work import MAP, OPTIONAL, Node, Work, nullable, told

if TYPE_CHECKING:
    from dragoman.wire.schema.node import Writer

MAX_COMPARED = 32  # branches of a union whose pairs are compared
PAIRS = "an object, given as a list of its keys and values"


def object_(writer: Writer, left: Node, out: Node, said: list[str], path: Path) -> Node:
    """The object part of a schema, taken off `left` and added to `out`; a map may become a list of pairs."""
    subset = writer.work.subset
    if subset.closed and path and is_map(left):
        return _pairs(writer, left, out, said, path)
    properties = dict(left.pop("properties", {}))
    required = dict.fromkeys(left.get("required", ()))
    other = left.get("additionalProperties", True)
    if subset.closed:
        _close(writer.work, left, said, path)
    elif left.get("additionalProperties") in (True, {}):
        writer.work.change((*path, "additionalProperties"), "dropped", "it says what is so without it")
        del left["additionalProperties"]
    for name in required:
        if name not in properties and (subset.declared_required or subset.all_required):
            writer.work.change((*path, "properties", name), "synthesised", "it is required, so it must be a property")
            properties[name] = other
    written: Node = {}
    for name, raw in properties.items():
        if raw is False and subset.closed and name not in required:
            writer.work.change(
                (*path, "properties", name), "dropped", "no value is allowed: the object is closed anyway"
            )
            continue
        written[name] = writer.schema(raw, (*path, "properties", name))
        if subset.all_required and name not in required:
            written[name] = _optional(writer.work, written[name], raw, (*path, "properties", name))
    if written or subset.closed:
        out["properties"] = written
    names = list(written if subset.all_required else required)
    if names or (subset.all_required and "required" in left):
        out["required"] = names
    left.pop("required", None)
    if subset.closed:
        out["additionalProperties"] = False
    return out


def _close(work: Work, left: Node, said: list[str], path: Path) -> None:
    """No other properties: what the schema meant when it said nothing."""
    extra = left.pop("additionalProperties", None)
    place = (*path, "additionalProperties")
    if extra is None:
        work.change(place, "synthesised", "false must be said: no other properties are described")
    elif extra is not False:
        work.change(place, "substituted", "false must be said: other properties cannot come", "narrower")
        if extra not in (True, {}):
            said.append(told("additionalProperties", extra))
    if left.pop("unevaluatedProperties", None) is False:
        work.change((*path, "unevaluatedProperties"), "dropped", "additionalProperties false says the same")


def _optional(work: Work, node: Node, raw: Any, path: Path) -> Node:
    """A property that may be left out, as one that must come and may be null."""
    if work.takes_null(raw):
        known = isinstance(raw, dict) and "default" in raw and raw["default"] is None
        effect = "same" if known else "narrower"  # a default of null: leaving it out and null are one
        work.change(path, "substituted", "it must come now; null is a value of its own", effect)
        return node
    work.change(path, "substituted", "it must come now; null means that it is left out")
    return {**nullable(node), OPTIONAL: True}


def _pairs(writer: Writer, left: Node, out: Node, said: list[str], path: Path) -> Node:
    """An object whose keys are values, as a list of key and value."""
    patterns, extra = left.pop("patternProperties", None), left.pop("additionalProperties", True)
    left.pop("properties", None)
    key: Node = {"type": "string"}
    place = (*path, "additionalProperties")
    if isinstance(patterns, dict) and len(patterns) == 1 and extra is False:
        ((pattern, extra),) = patterns.items()
        key, place = {"type": "string", "pattern": pattern}, (*path, "patternProperties", pattern)
    elif patterns:
        left["patternProperties"] = patterns
    names = left.pop("propertyNames", None)
    if isinstance(names, dict) and names:
        key = {"allOf": [key, names]}
    if required := left.get("required"):
        writer.work.change((*path, "required"), "moved", "keys of a map cannot be required: told in words", "wider")
        said.append(told("required", required))
    left.pop("required", None)
    writer.work.change(path, "substituted", "a map is said as a list of keys and values")
    entry = {
        "type": "object",
        "properties": {KEY: writer.schema(key, (*path, "propertyNames")), VALUE: writer.schema(extra, place)},
        "required": [KEY, VALUE],
        "additionalProperties": False,
    }
    said.insert(0, PAIRS)
    kept = {name: value for name, value in out.items() if name != "type"}
    for name in kept:  # values of an object, which is none any more
        writer.work.change((*path, name), "moved", "told in words", "wider")
        said.append(told(name, kept[name]))
    return {"type": "array", "items": entry, MAP: True}


def array(writer: Writer, left: Node, out: Node, said: list[str], path: Path) -> None:
    """The list part of a schema, taken off `left` and added to `out`."""
    work = writer.work
    prefix = left.get("prefixItems")
    if isinstance(prefix, list) and prefix and "prefixItems" in (work.subset.keywords or ()):
        del left["prefixItems"]
        out["prefixItems"] = [writer.schema(item, (*path, "prefixItems", at)) for at, item in enumerate(prefix)]
    if isinstance(left.get("items"), dict | bool):
        items = left.pop("items")
        if items is False:
            work.change((*path, "items"), "substituted", "no items: said as maxItems")
            left["maxItems"] = 0
            items = True
        out["items"] = writer.schema(items, (*path, "items"))
    elif "prefixItems" not in out and "items" not in left:
        work.change((*path, "items"), "synthesised", "the items need a type: any value this subset can say", "narrower")
        out["items"] = writer.anything()


def disjoint(work: Work, branches: list[Any]) -> bool:
    """Whether no value can fit two of the branches: they differ in type, or in the value of a property both require."""
    if len(branches) > MAX_COMPARED:
        return False
    nodes = [_opened(work, branch) for branch in branches]
    return all(_apart(one, two) for at, one in enumerate(nodes) for two in nodes[:at])


def _opened(work: Work, branch: Any) -> Node:
    node = branch if isinstance(branch, dict) else {}
    found = work.refs.target(node["$ref"]) if set(node) == {"$ref"} else None
    return found[0] if found is not None and isinstance(found[0], dict) else node


def _apart(one: Node, two: Node) -> bool:
    here, there = ({"integer" if name == "number" else name for name in types_of(node)} for node in (one, two))
    if all(node.keys() & {"type", "enum", "const"} for node in (one, two)) and not here & there:
        return True
    values = _values(one), _values(two)
    if values[0] and values[1]:
        return not values[0] & values[1]
    names: set[Any] = set(one.get("required") or ()) & set(two.get("required") or ())
    tags = [(_values(_property(one, name)), _values(_property(two, name))) for name in names if isinstance(name, str)]
    return bool(here == there == {"object"}) and any(a and b and not a & b for a, b in tags)


def _property(node: Node, name: str) -> Node:
    held = node.get("properties")
    found = held.get(name) if isinstance(held, dict) else None
    return found if isinstance(found, dict) else {}


def _values(node: Node) -> set[str]:
    """The texts that a schema allows; empty when it allows others, or values that are none."""
    said = [node["const"]] if "const" in node else node.get("enum")
    if not isinstance(said, list) or not all(isinstance(value, str) for value in said):
        return set()
    return set(said)
