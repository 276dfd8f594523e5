"""Does a JSON value fit a JSON Schema? The keywords that tools use, in the core; all of them with the extra `schema`.

Every fault has its place, what was expected and what was got (S1-26). A schema that this module does not understand
accepts: it is the tool's author who errs, and a call must not fail for it. Work and depth have limits, for schemas come
from servers too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dragoman.tools import work
from dragoman.tools.words import names, near, place, short, shown
from dragoman.types.note import Path

STEPS = 20_000
REFS = 32
LISTED = 16  # names or values of a list that are looked through in a step
DEEPEST = 48  # levels of a value that are looked into; one that its schema describes further down does not fit
NESTED = 128  # schemas within schemas, at most so many are asked for one value
BEYOND = object()  # stands for the validator of a schema whose work cannot be counted
WORDS = 8  # the same, for what is said of a schema
KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
# keyword → the kind of value it is about, the measure of that value, the test it must pass, and how that is said
BOUNDS: tuple[tuple[str, str, bool, str], ...] = (
    ("minimum", "number", True, "at least {}"),
    ("maximum", "number", False, "at most {}"),
    ("exclusiveMinimum", "number", True, "more than {}"),
    ("exclusiveMaximum", "number", False, "less than {}"),
    ("minLength", "string", True, "at least {} characters"),
    ("maxLength", "string", False, "at most {} characters"),
    ("minItems", "array", True, "at least {} items"),
    ("maxItems", "array", False, "at most {} items"),
)


class Fault(NamedTuple):
    """One place that does not fit, and what is wrong there."""

    path: Path
    what: str

    def __str__(self) -> str:
        return f"`{place(self.path)}`: {self.what}" if self.path else self.what


class Checked(NamedTuple):
    """What does not fit; `cut_short`: the schema asks for more work than is done for a value, so it was not all asked."""

    faults: list[Fault]
    cut_short: bool = False


def faults(value: Any, schema: Any) -> list[Fault]:
    """What does not fit; empty when everything does, as far as it was asked."""
    return checked(value, schema).faults


def checked(value: Any, schema: Any) -> Checked:
    """What does not fit. What an object's `properties` do not name is a fault at the top, unless the schema says that more
    is welcome (S1-25).
    """
    check = Check(schema)
    found = list(check.faults(value, schema, ()))
    if isinstance(value, dict) and isinstance(schema, dict):
        found += _unknown(value, schema)
    return Checked(found, check.cut_short) if found or check.cut_short else _in_full(value, schema)


class Check:
    """One walk over a value and its schema; `root` is where references lead."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._steps = STEPS
        self._nested = 0
        self.cut_short = False  # not all was asked that the schema says: a whole validator knows no such limits

    def faults(self, value: Any, schema: Any, path: Path) -> Iterator[Fault]:
        """What does not fit, place by place."""
        schema = self.resolved(schema)
        if schema is False:
            yield Fault(path, f"nothing may be here, got {short(value)}")
        if not isinstance(schema, dict) or not self.goes_on():
            return
        if len(path) > DEEPEST:
            yield Fault(path, f"nested deeper than {DEEPEST} levels")
            return
        if self._nested == NESTED:
            self.cut_short = True
            return
        self._nested += 1
        yield from self._faults(value, schema, path)
        self._nested -= 1

    def fits(self, value: Any, schema: Any) -> bool:
        """Whether `value` fits the part `schema`, as far as it is looked into."""
        return not list(self.faults(value, schema, ()))

    def goes_on(self) -> bool:
        """Whether there is work left to be spent; takes a step of it."""
        self._steps -= 1
        self.cut_short |= self._steps < 0
        return self._steps >= 0

    def _faults(self, value: Any, schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        self._steps -= sum(len(_listed(schema, word)) for word in ("enum", "required")) // LISTED  # looked through
        if not _is_of_kind(value, schema) or not _is_listed(value, schema):
            yield Fault(path, f"expected {self.expected(schema)}, got {shown(value)}")
            return
        yield from _bounds(value, schema, path)
        if isinstance(value, dict):
            yield from self._object(value, schema, path)
        if isinstance(value, list):
            yield from self._array(value, schema, path)
        for part in _listed(schema, "allOf"):
            yield from self.faults(value, part, path)
        for word in ("anyOf", "oneOf"):
            if branches := _listed(schema, word):
                yield from self._choice(value, branches, path)

    def resolved(self, schema: Any) -> Any:
        """`schema`, or what it refers to within the same document; what leads nowhere accepts anything."""
        for _ in range(REFS):
            ref = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(ref, str):
                return schema
            schema = _pointed(self.root, ref)
        return True

    def expected(self, schema: Any, within: int = 0) -> str:
        """What would fit, in a few words."""
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or within > WORDS or not self.goes_on():
            return "something else"
        if "const" in schema:
            return short(schema["const"])
        if isinstance(listed := schema.get("enum"), list):
            return f"one of {', '.join(short(item) for item in listed[:20])}"
        branches = [*_listed(schema, "anyOf"), *_listed(schema, "oneOf")]
        if branches:
            return " or ".join(dict.fromkeys(self.expected(branch, within + 1) for branch in branches[:10]))
        kinds = _kinds(schema)
        return " or ".join(kinds) if kinds else "something else"

    def _object(self, value: dict[str, Any], schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        required = [name for name in _listed(schema, "required") if isinstance(name, str)]
        if missing := [name for name in required if name not in value]:
            yield Fault(path, f"missing {names(missing)}")
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        more = schema.get("additionalProperties")
        for name, item in value.items():
            if name in known:
                yield from self.faults(item, known[name], (*path, name))
            elif more is False and path and "patternProperties" not in schema:
                yield Fault(path, near(name, known))
            elif isinstance(more, dict):
                yield from self.faults(item, more, (*path, name))

    def _array(self, value: list[Any], schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        first = _listed(schema, "prefixItems")
        for at, item in enumerate(value):
            yield from self.faults(item, first[at] if at < len(first) else schema.get("items", True), (*path, at))

    def _choice(self, value: Any, branches: list[Any], path: Path) -> Iterator[Fault]:
        tried = [list(self.faults(value, branch, path)) for branch in branches]
        if not all(tried):
            return
        deeper = [found for found in tried if any(len(fault.path) > len(path) for fault in found)]
        if len(deeper) == 1 or len(tried) == 1:  # the one that was meant
            yield from (deeper or tried)[0]
            return
        expected = " or ".join(dict.fromkeys(self.expected(branch) for branch in branches[:10]))
        yield Fault(path, f"expected {expected}, got {shown(value)}")


def _is_of_kind(value: Any, schema: dict[str, Any]) -> bool:
    kinds = _kinds(schema)
    if not kinds or any(kind not in KINDS for kind in kinds):
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    whole = isinstance(value, float) and value.is_integer() and "integer" in kinds
    return whole or any(isinstance(value, KINDS[kind]) for kind in kinds)


def _kinds(schema: dict[str, Any]) -> list[str]:
    said = schema.get("type")
    listed = said if isinstance(said, list) else [said]
    return [kind for kind in listed if isinstance(kind, str)]


def _is_listed(value: Any, schema: dict[str, Any]) -> bool:
    listed: Any = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(listed, list):
        return True
    return any(item == value and isinstance(item, bool) == isinstance(value, bool) for item in listed)


def _bounds(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Fault]:
    for word, kind, lower, said in BOUNDS:
        limit = schema.get(word)
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            continue
        if isinstance(value, bool) or not isinstance(value, KINDS[kind]):
            continue
        size: Any = value if kind == "number" else len(value)
        strict = word.startswith("exclusive")
        if (size <= limit if strict else size < limit) if lower else (size >= limit if strict else size > limit):
            yield Fault(path, f"expected {said.format(limit)}, got {short(value) if kind == 'number' else size}")


def _unknown(value: dict[str, Any], schema: dict[str, Any]) -> Iterator[Fault]:
    known = schema.get("properties")
    welcome = schema.get("additionalProperties", not known) is not False or schema.get("patternProperties")
    if not isinstance(known, dict) or welcome or any(word in schema for word in ("anyOf", "oneOf", "allOf", "$ref")):
        return
    for name in value:
        if name not in known:
            yield Fault((), near(name, known))


def _listed(schema: dict[str, Any], word: str) -> list[Any]:
    said = schema.get(word)
    return said if isinstance(said, list) else []


def _pointed(root: Any, ref: str) -> Any:
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return True
    for step in ref[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(root, dict) or step not in root:
            return True
        root = root[step]
    return root


def _in_full(value: Any, schema: Any) -> Checked:
    """The keywords that only a whole validator knows (pattern, format, not, …), where one is installed. It has no measure
    of its own: what it would do is counted before, unless `Check` has walked the same way just now."""
    try:
        text = msgspec.json.encode(schema)
        validator = _validator(text)
    except (TypeError, ValueError, RecursionError):
        return Checked([])
    if validator is None:
        return Checked([])
    steps = None if validator is BEYOND else work.counted(value, schema) if work.is_hidden(text) else 0
    if steps is None:
        return Checked([], cut_short=True)
    if validator.is_valid(value):
        return Checked([])
    found = list(validator.iter_errors(value)) if steps <= work.LISTED else [_first(validator, value)]
    return Checked([Fault(tuple(error.instance_path), error.message) for error in found[:10]])


def _first(validator: Any, value: Any) -> Any:
    """The first fault alone: a validator makes them all before it shows one, and each may be there a thousand times."""
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error


@lru_cache(maxsize=256)
def _validator(text: bytes) -> Any:
    """The validator of a schema; None where none is installed or the schema is none. It fetches nothing."""
    try:
        import jsonschema_rs
    except ImportError:
        return None

    def refuse(uri: str) -> Any:
        raise ValueError(f"{uri} is not fetched")

    schema = msgspec.json.decode(text)
    if not work.measured(text, schema):
        return BEYOND
    try:
        return jsonschema_rs.validator_for(schema, retriever=refuse, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError):
        return None
