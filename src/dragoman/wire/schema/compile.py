"""One schema for one subset: what is sent, what changed, and how to read what comes back."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.schema import Subset
from dragoman.wire.schema.beyond import beyond
from dragoman.wire.schema.compiled import Compiled
from dragoman.wire.schema.node import Writer
from dragoman.wire.schema.reverse import WRAPPED, Reverse
from dragoman.wire.schema.root import object_root, rename
from dragoman.wire.schema.vocabulary import DEFINITIONS, children, pointer
from dragoman.wire.schema.work import MAP, OPTIONAL, Node, Work

NOTHING: Node = {"type": "object", "properties": {}}


def compile(schema: dict[str, Any] | None, subset: Subset) -> Compiled:
    """`schema` in the form of `subset`, without changing it (dialects.md §4, SCH-001…006, I-06).

    None is a tool without a schema. Compiling what was compiled changes nothing, and nothing that the subset takes is
    touched: the schema that comes back is then the one that was given. Takes time in proportion to the schema with its
    references written out, which is limited.

    Raises LocalError: too_deep beyond 64 levels of schemas, too_large where references expand to more than 30,000 parts; each with the place.
    """
    if subset.whole:
        return Compiled(schema=schema)
    if not schema:
        return _without(schema, subset)
    work = Work(schema, subset)
    work.open.append(())
    root, wrap = object_root(work, work.root)
    if not wrap and subset.no_arguments == "omit" and not root.get("properties"):
        work.change((), "dropped", "a tool that takes nothing has no schema here")
        return Compiled(schema=None, changes=tuple(work.changes))
    out, names = _written(work, root, wrap)
    optional, maps = _marks(out)
    if not work.changes:
        return Compiled(schema=schema, beyond=beyond(schema, subset))
    reverse = Reverse(schema=out, optional=optional, maps=maps, names=names, wrapped=wrap)
    if not (optional or maps or names):
        reverse = Reverse(wrapped=wrap)
    return Compiled(schema=out, changes=tuple(dict.fromkeys(work.changes)), reverse=reverse, beyond=beyond(out, subset))


def explain(schema: dict[str, Any] | None, subset: Subset) -> list[str]:
    """One line for each thing that compiling changes, with its place as a JSON Pointer and the reason."""
    return compile(schema, subset).lines


def _without(schema: dict[str, Any] | None, subset: Subset) -> Compiled:
    """No arguments at all: each server has its own way to say so (SCH-005)."""
    if subset.no_arguments == "omit":
        return Compiled(schema=None)
    inner = compile(NOTHING, subset)
    work = Work({}, subset)
    work.change((), "synthesised", "no schema was given: an object without properties")
    return Compiled(schema=dict(inner.schema or NOTHING), changes=(*work.changes, *inner.changes))


def _written(work: Work, root: Node, wrap: bool) -> tuple[Node, dict[str, str]]:
    writer, given = Writer(work), work.refs.root
    closed = ("additionalProperties" not in work.subset.stripped and work.subset.keywords is None) or work.subset.closed
    if wrap:
        work.root_name = "root"
        why = f"the root must be an object: it stands in the property `{WRAPPED}` of one"
        work.change((), "substituted", why, "same" if closed else "wider")
    out = writer.schema(root, ())
    work.open.clear()
    if wrap:
        out: Node = {"type": "object", "properties": {WRAPPED: out}, "required": [WRAPPED]}
        if closed:
            out["additionalProperties"] = False
    names = rename(work.subset.root_names, out, work) if work.subset.root_names else {}
    definitions: Node = {}
    while work.waiting:
        place = work.waiting.pop(0)
        raw = work.refs.at(place)
        work.open.append(place)
        definitions[work.refs.name(place) if place else "root"] = writer.schema(raw, place)
        work.open.clear()
    _unused(work, given)
    if work.changes or work.subset.keywords is not None:
        _uncircled(writer, definitions)
    if definitions:
        out["$defs"] = _in_order(work, definitions, given)
    return out, names


def _uncircled(writer: Writer, definitions: Node) -> None:
    """Definitions that only lead to each other in a circle say nothing: any value, in words a validator ends on."""
    fine: set[str] = set()
    for name in definitions:
        seen, at = {name}, name
        while isinstance(definitions[at], dict) and set(definitions[at]) == {"$ref"}:
            at = _definition(definitions[at]["$ref"])
            if at not in definitions or at in fine:
                break
            if at in seen:
                writer.work.change(
                    ("$defs", name), "substituted", "it leads only to itself: any value is allowed", "wider"
                )
                definitions[name] = writer.anything()
                break
            seen.add(at)
        fine |= seen


def _definition(ref: str) -> str:
    return ref.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")


def _unused(work: Work, given: Node) -> None:
    for key in DEFINITIONS:
        held = given.get(key)
        for name in held if isinstance(held, dict) else ():
            if (key, name) not in work.wanted and work.subset.refs != "inline":
                work.change((key, name), "dropped", "nothing refers to it any more")
        if held is not None and work.subset.refs == "inline":
            work.change((key,), "dropped", "every reference is written out")


def _in_order(work: Work, definitions: Node, given: Node) -> Node:
    """The definitions in the order of the original, then those that were none."""
    held = [work.refs.name((key, name)) for key in DEFINITIONS for name in (given.get(key) or ())]
    return {name: definitions[name] for name in dict.fromkeys([*held, *definitions]) if name in definitions}


def _marks(out: Node) -> tuple[frozenset[str], frozenset[str]]:
    """Takes the marks off the finished schema: where each of them stood."""
    found: dict[str, set[str]] = {OPTIONAL: set(), MAP: set()}
    waiting: list[tuple[Node, tuple[str | int, ...]]] = [(out, ())]
    while waiting:
        node, path = waiting.pop()
        for mark, places in found.items():
            if node.pop(mark, None):
                places.add(pointer(path))
        waiting += [(child, path + step) for step, child in children(node) if isinstance(child, dict)]
    return frozenset(found[OPTIONAL]), frozenset(found[MAP])
