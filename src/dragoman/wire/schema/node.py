"""The second half of compiling: each keyword kept, said otherwise, told in words, or dropped with a note."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from dragoman.types.note import Path
from dragoman.wire.schema.plain import plainer
from dragoman.wire.schema.shapes import array, disjoint, object_
from dragoman.wire.schema.vocabulary import ANNOTATIONS, LIMITS, LIST, MAP, ONE, TOLD, UNIONS, types_of
from dragoman.wire.schema.work import MAX_DEPTH, SAID, Node, Work, described, told

LOOKAROUND = re.compile(r"\(\?<?[=!]")
PLAIN_VALUES = (str, int, float, bool, type(None))


class Writer:
    """Writes one schema after another in the form of the subset."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._depth = 0

    def schema(self, raw: Any, path: Path) -> Node:
        """One schema. Raises LocalError too_deep, too_large."""
        work = self.work
        work.spend(path)
        if self._depth > MAX_DEPTH:
            work.too_deep(path)
        if not isinstance(raw, dict) or not raw:
            return self._boolean(raw, path)
        opened = len(work.open)
        self._depth += 1
        out = self.write(plainer(work, raw, path), path)
        self._depth -= 1
        del work.open[opened:]
        return out

    def write(self, node: Node, path: Path) -> Node:
        """A schema that is plain already."""
        if "$ref" in node and self.work.subset.refs != "keep":
            return self._reference(node, path)
        return self._loose(node, path) if self.work.subset.keywords is None else self._strict(node, path)

    def anything(self) -> Node:
        """How the subset says "any value"."""
        return copy.deepcopy(self.work.subset.anything)

    def _boolean(self, raw: Any, path: Path) -> Node:
        if self.work.subset.keywords is None:
            return raw
        if raw is False:
            self.work.change(path, "moved", "that no value is allowed can only be told in words", "wider")
            out = self.anything()
            described(out, ["no value is allowed here"])
            return out
        if self.work.subset.anything.get("nullable"):
            self.work.change(path, "substituted", "any value: one of the simple types", "narrower")
        else:
            self.work.change(path, "substituted", "any value: a text, a number, true, false or null", "narrower")
        return self.anything()

    def _reference(self, node: Node, path: Path) -> Node:
        """A reference on its own; words beside it stand around it."""
        work = self.work
        rest = {key: value for key, value in node.items() if key != "$ref"}
        found = work.refs.target(node["$ref"])
        if found is None:
            work.change(
                (*path, "$ref"), "dropped", f"{node['$ref']!r} leads to no schema here: any value is allowed", "wider"
            )
            return self.write(rest, path) if rest else self._boolean(True, path)
        out = {"$ref": self._named(node["$ref"], path)}
        words = self._loose(rest, path) if work.subset.keywords is None else self._strict_words(rest, path)
        if not words:
            return out
        work.change((*path, "$ref"), "substituted", "a reference stands alone: a union of one stands around it")
        return {**words, "anyOf": [out]}

    def _named(self, ref: str, path: Path) -> str:
        found = self.work.refs.find(ref)
        assert found is not None  # whoever asks has seen that it leads somewhere
        new = self.work.refer(found[1])
        if new != ref:
            self.work.change((*path, "$ref"), "renamed", f"{ref} is {new} here")
        return new

    def _loose(self, node: Node, path: Path) -> Node:
        """Every keyword stays, but those that the subset strips."""
        out: Node = {}
        for key, value in node.items():
            place = (*path, key)
            if key in self.work.subset.stripped:
                lost = key in LIMITS and value is not True and value != {}
                self.work.change(place, "dropped", f"this subset has no {key}", "wider" if lost else "same")
            elif key == "$ref" and self.work.refs.find(value):
                out[key] = self._named(value, path)
            elif key in MAP and isinstance(value, dict):
                out[key] = {name: self._child(item, (*place, name)) for name, item in value.items()}
            elif key in LIST and isinstance(value, list):
                out[key] = [self._child(item, (*place, at)) for at, item in enumerate(value)]
            elif key in ONE and isinstance(value, dict):
                out[key] = self._child(value, place)
            elif key != SAID:
                out[key] = value
        described(out, node.get(SAID, []))
        return out

    def _child(self, value: Any, path: Path) -> Any:
        return self.schema(value, path) if isinstance(value, dict) and value else value

    def _strict(self, node: Node, path: Path) -> Node:
        """Only the subset's keywords stay."""
        union = next((key for key in UNIONS if isinstance(node.get(key), list) and node[key]), None)
        left, said = dict(node), list(node.get(SAID, ()))
        left.pop(SAID, None)
        out = self._words({key: left.pop(key) for key in list(left) if key in ANNOTATIONS}, said, path)
        if union is not None:
            out |= self._union(union, left.pop(union), path)
        else:
            out |= self._typed(left, said, path)
        self._rest(left, out, said, path)
        described(out, said)
        return out

    def _strict_words(self, node: Node, path: Path) -> Node:
        """A node that holds nothing but words."""
        said = list(node.get(SAID, ()))
        out = self._words(node, said, path)
        described(out, said)
        return out

    def _words(self, words: Node, said: list[str], path: Path) -> Node:
        """Annotations: kept, told in the description, or dropped."""
        work, out = self.work, {}
        for key, value in words.items():
            if work.subset.keywords is not None and key in work.subset.keywords:
                out[key] = value
            elif key in TOLD and value is not None:
                said.append(told(key, value))
                work.change((*path, key), "moved", "told in the description")
            elif key != SAID:
                work.change((*path, key), "dropped", f"this subset has no {key}")
        return out

    def _union(self, key: str, branches: list[Any], path: Path) -> Node:
        work, null = self.work, False
        if key == "oneOf":
            exact = disjoint(work, branches)
            effect = "same" if exact else "wider"
            work.change((*path, key), "substituted", "said as anyOf" + ("" if exact else ": several may fit"), effect)
        nodes = [self.schema(branch, (*path, key, at)) for at, branch in enumerate(branches)]
        if work.subset.null == "nullable":
            kept = [node for node in nodes if node.get("type") != "null"] or nodes[:1]
            if len(kept) < len(nodes):
                work.change((*path, key), "substituted", "null is said as nullable")
                nodes, null = kept, True
        out: Node = {"anyOf": nodes} if len(nodes) > 1 or not null else nodes[0]
        return {**out, "nullable": True} if null else out

    def _typed(self, left: Node, said: list[str], path: Path) -> Node:
        """Type and values, and what the types bring with them."""
        work = self.work
        names = list(types_of(left))
        had = left.pop("type", None)
        if had is not None and not names:
            work.change((*path, "type"), "moved", "no type of JSON: told in words", "wider")
            said.append(told("type", had))
        values = self._values(left, said, path)
        if not names:
            if values:
                return values
            work.change(path, "synthesised", "a type is needed: any value that this subset can say", "narrower")
            out = self.anything()
            for key in [key for key in left if key in LIMITS and "anyOf" in out]:
                work.change((*path, key), "moved", "nothing may stand beside a union: told in words", "wider")
                said.append(told(key, left.pop(key)))
            return out
        if had is None:
            work.change((*path, "type"), "synthesised", f"a type is needed: {', '.join(names)}, as the rest says")
        out = {}
        if work.subset.null == "nullable" and "null" in names and len(names) > 1:
            names.remove("null")
            work.change((*path, "type"), "substituted", "null is said as nullable")
            out["nullable"] = True
        out = {"type": names[0] if len(names) == 1 else names, **out, **values}
        if "object" in names:
            out = object_(self, left, out, said, path)
        if "array" in names:
            array(self, left, out, said, path)
        return out

    def _values(self, left: Node, said: list[str], path: Path) -> Node:
        """enum and const, where the subset can hold them."""
        work, out = self.work, {}
        for key in ("enum", "const"):
            if key not in left:
                continue
            value = left.pop(key)
            values = value if key == "enum" and isinstance(value, list) else [value]
            texts = [item for item in values if item is not None] if work.subset.string_enums else values
            if not texts and values:
                work.change((*path, key), "substituted", "null is said as the type")
                continue
            kinds = str if work.subset.string_enums else PLAIN_VALUES
            if not texts or not all(isinstance(item, kinds) for item in texts):
                work.change((*path, key), "moved", "values of this kind are told in words", "wider")
                said.append(told(key, value))
            elif key in (work.subset.keywords or ()):
                out[key] = texts if key == "enum" else value
            else:
                work.change((*path, key), "substituted", "said as enum")
                out["enum"] = texts
            if len(texts) < len(values) and key in left:
                work.change((*path, key), "substituted", "null is said as nullable")
        return out

    def _rest(self, left: Node, out: Node, said: list[str], path: Path) -> None:
        """Whatever is left: kept, told in words, or dropped as unknown."""
        work = self.work
        for key, value in left.items():
            place = (*path, key)
            if key not in LIMITS:
                work.change(place, "dropped", f"{key} is no keyword of JSON Schema that we know")
                continue
            number = work.subset.number_formats and key == "format" and out.get("type") in ("number", "integer")
            why = None if number else self._refused(key, value)
            if why is None:
                out[key] = value
            else:
                work.change(place, "moved", f"{why}: told in the description", "wider")
                said.append(told(key, value))

    def _refused(self, key: str, value: Any) -> str | None:
        """Why a keyword cannot stay; None when it can."""
        subset = self.work.subset
        if key not in (subset.keywords or ()) or key in STRUCTURE:
            return f"this subset has no {key}"
        check = VALUES.get(key)
        return check(subset, value) if check else None


def _format(subset: Any, value: Any) -> str | None:
    return None if subset.formats is None or value in subset.formats else f"this subset has no format {value}"


def _pattern(subset: Any, value: Any) -> str | None:
    found = isinstance(value, str) and LOOKAROUND.search(value)
    return "this subset has no lookaround" if found and not subset.lookaround else None


def _min_items(subset: Any, value: Any) -> str | None:
    most = subset.max_min_items
    return None if most is None or value in range(most + 1) else f"minItems may be {most} at most"


# Keywords that stay only with some values; those that have been seen to by the time `_rest` is reached, so that what is
# left of them is of the wrong form.
VALUES: dict[str, Callable[[Any, Any], str | None]] = {"format": _format, "pattern": _pattern, "minItems": _min_items}
STRUCTURE = frozenset(
    {"properties", "required", "items", "prefixItems", "anyOf", "additionalProperties", "enum", "const"}
)
