"""What a server refuses in a schema that is otherwise in its form: sizes, and recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.dialect.schema import Subset
from dragoman.wire.schema.vocabulary import children

Node = dict[str, Any]


def beyond(schema: Node, subset: Subset) -> tuple[str, ...]:
    """Each limit of the subset that a schema goes beyond, in words; empty when it is within them all."""
    counted = {
        "properties": 0,
        "enum_values": 0,
        "characters": 0,
        "optional": 0,
        "unions": 0,
        "depth": 0,
    }
    for node, depth in _nodes(schema):
        properties, values = node.get("properties") or {}, node.get("enum") or []
        counted["properties"] += len(properties)
        counted["enum_values"] += len(values)
        texts = [*properties, *node.get("$defs", ()), *(value for value in values if isinstance(value, str))]
        counted["characters"] += sum(map(len, texts))
        counted["optional"] += len(properties.keys() - set(node.get("required") or ()))
        counted["unions"] += "anyOf" in node or isinstance(node.get("type"), list)
        counted["depth"] = max(counted["depth"], depth)
    faults = [
        f"{counted[name]} {name.replace('_', ' ')}, the limit is {limit}"
        for name in counted
        if (limit := getattr(subset.limits, name)) is not None and counted[name] > limit
    ]
    if not subset.recursion and (circle := _circle(schema)):
        faults.append(f"it is recursive: {circle} refers to itself")
    return tuple(faults)


def _nodes(schema: Node) -> Iterator[tuple[Node, int]]:
    """Every schema within one, with how many objects and lists it is within."""
    waiting: list[tuple[Node, int]] = [(schema, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        for _, child in children(node):
            if isinstance(child, dict):
                waiting.append((child, depth + bool(child.keys() & {"properties", "items"})))


def _circle(schema: Node) -> str | None:
    """A definition that refers to itself, by way of others or not; "#" is the root."""
    leads: dict[str, set[str]] = {}
    for name, body in {"#": {k: v for k, v in schema.items() if k != "$defs"}, **_definitions(schema)}.items():
        refs = (node.get("$ref") for node, _ in _nodes(body))
        leads[name] = {ref for ref in refs if isinstance(ref, str)}
    fine = set(_ends(leads))
    return next((name for name in leads if name not in fine and name != "#"), None) or (
        "#" if "#" not in fine else None
    )


def _ends(leads: dict[str, set[str]]) -> Iterator[str]:
    """The names from which no circle is reached, each after all that it leads to."""
    back: dict[str, set[str]] = {}
    for name, others in leads.items():
        for other in others:
            back.setdefault(other, set()).add(name)
    open_ = {name: len(others & leads.keys()) for name, others in leads.items()}
    ready = [name for name, count in open_.items() if count == 0]
    while ready:
        name = ready.pop()
        yield name
        for other in back.get(name, ()):
            open_[other] -= 1
            if open_[other] == 0:
                ready.append(other)


def _definitions(schema: Node) -> Node:
    held = schema.get("$defs") or {}
    return {"#/$defs/" + name.replace("~", "~0").replace("/", "~1"): body for name, body in held.items()}
