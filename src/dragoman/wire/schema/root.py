"""The root of a schema: servers want an object there, so a union of objects becomes one, and any other root is wrapped."""

from __future__ import annotations

import re
from typing import Any

from dragoman.types.note import Path
from dragoman.wire import jsonio
from dragoman.wire.schema.plain import expanded, is_map
from dragoman.wire.schema.vocabulary import UNIONS, types_of
from dragoman.wire.schema.work import SAID, Node, Work, say, told

FORBIDDEN = ("enum", "const", "not")  # what may not stand at the root besides unions


def object_root(work: Work, root: Node) -> tuple[Node, bool]:
    """The root with its references written out and, where the subset says so, its union flattened; and whether what is
    left still needs an object around it."""
    node = expanded(work, root, ()) if {"$ref", "allOf"} & root.keys() else dict(root)
    if work.subset.root_union == "flatten":
        node = _flattened(work, node, ())
        for key in FORBIDDEN:
            if key in node and types_of(node) in (("object",), ()):
                work.change((key,), "moved", f"{key} may not stand at the root: told in words", "wider")
                say(node, told(key, node.pop(key)))
    union = any(isinstance(node.get(key), list) and node[key] for key in UNIONS)
    names = types_of(node)
    if (
        not names
        and not union
        and not node.keys() - {"description", "$schema", "$id", "title", "$defs", "definitions", SAID}
    ):
        node["type"] = "object"  # nothing was said: a tool that takes nothing
        work.change(("type",), "synthesised", "the root must be an object")
        return node, False
    if names == ("object",) and "type" not in node:
        node["type"] = "object"
        work.change(("type",), "synthesised", "the root must be an object")
    return node, union or names != ("object",) or _free(work, node)


def _free(work: Work, node: Node) -> bool:
    """Whether a closed subset must say the root as a map: `{"type": "object"}` alone is a tool that takes nothing."""
    said = node.get("additionalProperties") not in (None, False) or "patternProperties" in node
    return work.subset.closed and said and is_map(node)


def _flattened(work: Work, node: Node, path: Path) -> Node:
    """A union of objects as one object with the properties of all, each optional that not every branch requires."""
    key = next((key for key in UNIONS if isinstance(node.get(key), list) and node[key]), None)
    if key is None:
        return node
    work.spend(path)
    branches: list[Node] = []
    for at, raw in enumerate(node[key]):
        opened = len(work.open)
        place = (*path, key, at)
        branch = _flattened(work, expanded(work, raw, place), place) if isinstance(raw, dict) else {}
        del work.open[opened:]
        if types_of(branch) in (("object",), ()) and (branch.keys() & {"properties", "required"} or branch.get("type")):
            branches.append(branch)
        elif len(branch) or raw is not True:
            work.change(place, "dropped", "the root must be an object: this branch is none", "narrower")
    if not branches:
        return node
    base = {name: value for name, value in node.items() if name != key}
    out = _one_object(work, base, branches, path)
    work.change((*path, key), "merged", "one object has the properties of all branches", "wider")
    choices = [[name for name in branch.get("required", ()) if isinstance(name, str)] for branch in branches]
    if len(branches) > 1:
        sets = " | ".join(
            jsonio.text(names or list(branch.get("properties", ())))
            for names, branch in zip(choices, branches, strict=True)
        )
        say(out, f"give the properties of {'exactly' if key == 'oneOf' else 'at least'} one of: {sets}")
    return out


def _one_object(work: Work, base: Node, branches: list[Node], path: Path) -> Node:
    variants: dict[str, list[Any]] = {}
    for node in (base, *branches):
        held = node.get("properties")
        for name, schema in held.items() if isinstance(held, dict) else ():
            work.spend(path)
            known = variants.setdefault(name, [])
            if schema not in known:
                known.append(schema)
    own: Node = base["properties"] if isinstance(base.get("properties"), dict) else {}
    out: Node = {**base, "type": "object"}
    out["properties"] = {
        name: own[name] if name in own else kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        for name, kinds in variants.items()
    }
    shared = [
        name for name in branches[0].get("required", ()) if all(name in node.get("required", ()) for node in branches)
    ]
    required = list(dict.fromkeys([*base.get("required", ()), *shared]))
    if required:
        out["required"] = required
    if "additionalProperties" not in base and all(node.get("additionalProperties") is False for node in branches):
        out["additionalProperties"] = False
    if words := [str(node["description"]) for node in branches if node.get("description")]:
        say(out, *words)
    return out


def rename(pattern: str, out: Node, work: Work) -> dict[str, str]:
    """The root's properties under names that match `pattern`, in place; ours to the original's, where they differ."""
    properties = out.get("properties", {})
    legal = re.compile(rf"(?:{pattern})\Z", re.ASCII)
    taken = {name for name in properties if legal.match(name)}
    given: dict[str, str] = {}
    for name in properties:
        if name in taken:
            continue
        bare = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:64] or "_"
        made, count = bare, 2
        while made in taken or made in given:
            made, count = f"{bare[:60]}_{count}", count + 1
        given[made] = name
        work.change(("properties", name), "renamed", f"it is called {made} here")
    ours = {name: made for made, name in given.items()}
    if ours:
        out["properties"] = {ours.get(name, name): node for name, node in properties.items()}
        if "required" in out:
            out["required"] = [ours.get(name, name) for name in out["required"]]
    return given
