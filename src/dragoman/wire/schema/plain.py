"""The first half of compiling: one schema in plainer JSON Schema, before any keyword is judged.

References are written out where they may not stay, several schemas that must all hold become one, what stands beside a
union goes into its branches, old spellings become today's.
"""

from __future__ import annotations

from typing import Any

from dragoman.types.note import Path
from dragoman.wire.schema.merge import merge
from dragoman.wire.schema.vocabulary import ANNOTATIONS, BY_TYPE, DEFINITIONS, TYPED, UNIONS, types_of
from dragoman.wire.schema.work import MAX_DEPTH, SAID, Node, Work, say, told


def plainer(work: Work, raw: Node, path: Path) -> Node:
    """A copy of `raw` that holds a lone reference, one union with nothing but words beside it, or neither.

    How far each step goes is the subset's. Places written out on the way are left in `work.open`.
    """
    node = {key: value for key, value in raw.items() if key not in DEFINITIONS}
    for _ in range(MAX_DEPTH):
        if "$ref" in node and _must_go(work, node):
            node = _written_out(work, node, path)
        elif "allOf" in node and not _may_stay(work):
            node = _all_of(work, node, path)
        else:
            break
        work.spend(path)
    else:
        work.too_deep(path)
    if "$ref" in node and work.subset.refs != "keep":
        return node
    if work.subset.keywords is not None:
        node = _spelled(work, node, path)
    if work.subset.tuples != "keep":
        node = _tuples(work, node, path)
    return _union(work, node, path)


def expanded(work: Work, node: Node, path: Path) -> Node:
    """`node` with its own reference and allOf written out, whatever the subset: for a root that must be an object."""
    for _ in range(MAX_DEPTH):
        work.spend(path)
        if "$ref" in node and _is_open(work, node):
            work.change((*path, "$ref"), "dropped", "it leads back to the root itself", "wider")
            node = {key: value for key, value in node.items() if key != "$ref"}
        elif "$ref" in node:
            work.change((*path, "$ref"), "substituted", f"{node['$ref']} is written out: the root must be an object")
            node = _written_out(work, node, path, quiet=True)
        elif "allOf" in node:
            node = _all_of(work, node, path)
        else:
            return node
    work.too_deep(path)


def _may_stay(work: Work) -> bool:
    return work.subset.keywords is None


def _must_go(work: Work, node: Node) -> bool:
    refs = work.subset.refs
    return refs == "inline" or (refs == "alone" and bool(_limits(node) - {"$ref"}))


def _limits(node: Node) -> set[str]:
    """The keywords of a node that limit values; unknown ones may."""
    return {key for key in node if key not in ANNOTATIONS and key != SAID}


def _written_out(work: Work, node: Node, path: Path, *, quiet: bool = False) -> Node:
    """A reference and what stands beside it as one schema."""
    ref = node["$ref"]
    rest = {key: value for key, value in node.items() if key != "$ref"}
    found = work.refs.target(ref)
    if found is None:
        work.change((*path, "$ref"), "dropped", f"{ref!r} leads to no schema here: any value is allowed", "wider")
        return rest
    target, place = found
    if not isinstance(target, dict):
        return rest if target else {**rest, "not": {}}
    if place in work.open:
        return _recursive(work, node, path, target)
    merged = _together(work, rest, {key: value for key, value in target.items() if key not in DEFINITIONS}, path)
    if merged is None and _may_stay(work):
        merged = {**rest, "allOf": [target, *rest.get("allOf", ())]}
    if merged is None:
        _tell_rest(work, rest, path)
        merged = {**_words(rest), **target}
    work.open.append(place)
    if not quiet:
        work.change((*path, "$ref"), "substituted", f"{ref} is written out", "same")
    return merged


def _recursive(work: Work, node: Node, path: Path, target: Node) -> Node:
    """A reference within what it refers to: it stays alone, or is cut where references may not stay."""
    ref, words = node["$ref"], _words(node)
    if work.subset.refs != "inline":
        _tell_rest(work, {key: value for key, value in node.items() if key != "$ref"}, path)
        return {**words, "$ref": ref}
    names = types_of(target)
    kind = names[0] if len(names) == 1 else None
    work.change((*path, "$ref"), "dropped", f"{ref} is recursive: it is cut after one level", "wider")
    if work.subset.keywords is None:
        return {**words, **({"type": kind} if kind else {})}
    return {**words, "type": kind or "object"}


def _all_of(work: Work, node: Node, path: Path) -> Node:
    """Several schemas that must all hold, as one; what cannot be merged is told in words."""
    rest = {key: value for key, value in node.items() if key != "allOf"}
    parts: list[tuple[Path, Node]] = []
    for at, part in enumerate(node["allOf"]):
        place = (*path, "allOf", at)
        if part is False:
            rest["not"] = {}
        elif isinstance(part, dict) and part:
            parts.append((place, part))
    recursive = [part for _, part in parts if "$ref" in part and _is_open(work, part)]
    lone = [part for _, part in parts if _limits(part)]
    if not _limits(rest) and (recursive[:1] or (lone if len(lone) == 1 else [])):
        kept = (recursive or lone)[0]
        words = {key: value for _, part in parts for key, value in _words(part).items()}
        work.change((*path, "allOf"), "merged", "one schema stands for all of them", "same")
        _tell_parts(work, rest, [(place, part) for place, part in parts if part is not kept and _limits(part)])
        return {**kept, **words, **_words(kept), **rest}
    if parts:
        work.change((*path, "allOf"), "merged", "one schema stands for all of them", "same")
    for place, part in parts:
        merged = _together(work, rest, _resolved(work, part, place), place)
        if merged is None:
            _tell_parts(work, rest, [(place, part)])
        else:
            rest = merged
    return rest


def _resolved(work: Work, part: Node, path: Path) -> Node:
    """A part of an allOf with its own reference and allOf written out."""
    for _ in range(MAX_DEPTH):
        work.spend(path)
        if "$ref" in part and not _is_open(work, part):
            part = _written_out(work, part, path, quiet=True)
        elif "allOf" in part:
            part = _all_of(work, part, path)
        else:
            return part
    work.too_deep(path)


def _is_open(work: Work, node: Node) -> bool:
    found = work.refs.target(node["$ref"])
    return found is not None and found[1] in work.open


def _together(work: Work, one: Node, two: Node, path: Path) -> Node | None:
    """`merge`, with the words that only one of the two may keep told."""
    said = [*one.get(SAID, ()), *two.get(SAID, ())]
    bare = [{key: value for key, value in node.items() if key != SAID} for node in (one, two)]
    work.spend(path, sum(len(node.get("properties") or ()) for node in bare))
    merged = merge(bare[0], bare[1])
    if merged is None:
        return None
    for key in one.keys() & two.keys() & (ANNOTATIONS - {"description"}):
        if one[key] != two[key]:
            work.change((*path, key), "dropped", f"the `{key}` of the schema around it stands")
    words = one.get("description"), two.get("description")
    if all(isinstance(text, str) for text in words) and words[0] != words[1]:
        said.append(str(words[1]))
    if said:
        merged[SAID] = said
    return merged


def _words(node: Node) -> Node:
    return {key: value for key, value in node.items() if key in ANNOTATIONS or key == SAID}


def _tell_rest(work: Work, rest: Node, path: Path) -> None:
    for key in sorted(_limits(rest)):
        work.change((*path, key), "moved", "it cannot be merged with the reference beside it: told in words", "wider")
        say(rest, told(key, rest[key]))


def _tell_parts(work: Work, node: Node, parts: list[tuple[Path, Node]]) -> None:
    for place, part in parts:
        work.change(place, "moved", "it cannot be merged with the others: told in words", "wider")
        say(node, told("must also fit", part))


def _spelled(work: Work, node: Node, path: Path) -> Node:
    """Older spellings: boolean exclusive limits, OpenAPI's nullable, several types that no one schema can hold."""
    out = dict(node)
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(out.get(key), bool):
            work.change((*path, key), "substituted", f"today a number: the `{limit}` beside it")
            if out.pop(key) and limit in out:
                out[key] = out.pop(limit)
    if out.get("nullable") is True and work.subset.null == "type":
        del out["nullable"]
        work.change((*path, "nullable"), "substituted", "JSON Schema says it as a type")
        return {**_words(out), "anyOf": [{k: v for k, v in out.items() if k not in _words(out)}, {"type": "null"}]}
    names = types_of(out)
    solid = [name for name in names if name != "null"]
    mixed = len(solid) > 1 and (not work.subset.type_lists or "object" in solid or "array" in solid)
    if mixed or (len(names) > 1 and "object" in names and work.subset.closed and is_map(out)):
        work.change((*path, "type"), "substituted", "one branch of a union for each type")
        return {**_words(out), "anyOf": [_of_type(out, name) for name in names]}
    return out


def _of_type(node: Node, name: str) -> Node:
    """The part of a schema that bears on one type."""
    rest = {key: value for key, value in node.items() if key not in ANNOTATIONS and key not in (SAID, "type")}
    return {
        "type": name,
        **{key: value for key, value in rest.items() if key not in TYPED or key in BY_TYPE.get(name, ())},
    }


def is_map(node: Node) -> bool:
    """Whether an object's keys are values: no properties are named, and others may come."""
    return not node.get("properties") and (
        node.get("additionalProperties", "properties" not in node) is not False or _one_pattern(node)
    )


def _one_pattern(node: Node) -> bool:
    return isinstance(node.get("patternProperties"), dict) and len(node["patternProperties"]) == 1


def _tuples(work: Work, node: Node, path: Path) -> Node:
    """Places of a list: `prefixItems`, or one schema for all of them where there is no such thing."""
    out = dict(node)
    if isinstance(out.get("items"), list):
        out["prefixItems"] = out.pop("items")
        if "additionalItems" in out:
            out["items"] = out.pop("additionalItems")
        work.change((*path, "items"), "renamed", "a list of schemas is called prefixItems today")
    elif "additionalItems" in out:
        del out["additionalItems"]
        work.change((*path, "additionalItems"), "dropped", "it means nothing without a list of items")
    prefix = out.get("prefixItems")
    if not isinstance(prefix, list):
        return out
    if out.get("items") is False:
        del out["items"]
        out["maxItems"] = min(len(prefix), out.get("maxItems", len(prefix)))
        work.change((*path, "items"), "substituted", "no further items: said as maxItems")
    if work.subset.tuples == "union" and prefix:
        del out["prefixItems"]
        kinds = [*prefix, *([out["items"]] if "items" in out else [])]
        distinct = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
        out["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        say(out, told("the items in order", prefix))
        work.change((*path, "prefixItems"), "merged", "one schema stands for the items of every place", "wider")
    return out


def _union(work: Work, node: Node, path: Path) -> Node:
    """Nothing but words beside a union, where the subset wants it so: the rest goes into each branch."""
    key = next((key for key in UNIONS if isinstance(node.get(key), list) and node[key]), None)
    if key is None or not work.subset.unions_alone:
        return node
    rest = {name: value for name, value in node.items() if name != key and name in _limits(node)}
    if not rest:
        return node
    work.change((*path, key), "moved", "what stands beside it goes into each of its branches")
    branches = [_narrowed(work, branch, rest, path) for branch in node[key]]
    words = _words(node)
    if len(branches) == 1:
        work.change((*path, key), "merged", "a union of one is that one")
        return plainer(work, {**words, "allOf": branches}, path)
    return {**words, key: branches}


def _narrowed(work: Work, branch: Any, rest: Node, path: Path) -> Any:
    """A branch with what stood beside the union; where one schema cannot say it, both must hold."""
    if not isinstance(branch, dict):
        return branch and rest
    merged = None if branch.keys() & {"$ref", "allOf"} else _together(work, branch, rest, path)
    return {"allOf": [branch, rest]} if merged is None else merged
