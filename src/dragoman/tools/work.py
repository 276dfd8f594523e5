"""What a whole validator would have to do for one value, counted before it is asked: it has no measure of its own, and a
schema of some hundred characters can ask for 2⁴⁰ steps (`not`, `if` and references that double)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

MOST = 500_000  # steps of a validator: some ten milliseconds
LISTED = 10_000  # up to so many steps, all faults are asked for
PAIRS = 20_000  # parts of a value and of a schema that are looked at together, to count them
DEEPEST = 256  # schemas within one another that are entered at one time
REFS = 2000  # references of a schema: to build a validator takes the square of them
AGAIN = 4  # how often the parts of a schema are gone through where it says what they left unasked
UNASKED = ("unevaluatedProperties", "unevaluatedItems")
ONE = ("not", "if", "then", "else")  # keywords of one schema, for the value itself
SOME = ("allOf", "anyOf", "oneOf")  # of several
NAMED = ("dependentSchemas", "dependencies")  # of several, by name
OF_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")  # of one, for each item of an array
OF_MEMBERS = ("additionalProperties", "unevaluatedProperties")  # and of an object
# What leads elsewhere than a pointer into the document does; such schemas are rare, and none is followed here.
STEERING = (b'"$anchor":', b'"$dynamicAnchor":', b'"$dynamicRef":', b'"$recursiveRef":', b'"$recursiveAnchor":')
OLD = b"json-schema.org/draft-04"  # where `id` steers too
# Keywords whose schemas `Check` does not walk: without them it has done what a whole validator will do.
HIDDEN = ("$ref", "not", "if", "patternProperties", "propertyNames", "contains", "additionalItems", *NAMED, *UNASKED)
_HIDDEN = tuple(f'"{word}":'.encode() for word in HIDDEN)


class Beyond(Exception):
    """More work than is done for one value, or work that cannot be counted."""


def measured(text: bytes, schema: Any) -> bool:
    """Whether a validator of this schema, `text` its JSON, can be built in little time and its work be counted."""
    if any(word in text for word in STEERING) or text.count(b'"$ref":') > REFS or (OLD in text and b'"id":"' in text):
        return False
    if text.count(b'"$id":') > (isinstance(schema, dict) and "$id" in schema):
        return False
    if not any(word.encode() in text for word in UNASKED):
        return True
    counting = _Counting(schema)
    try:  # what is left unasked is found by going through all parts once more, when a validator is built
        return (
            sum(counting.steps(None, part) for part in _parts(schema) if any(word in part for word in UNASKED)) <= MOST
        )
    except Beyond:
        return False


def is_hidden(text: bytes) -> bool:
    """Whether a schema of this JSON has work that `Check` does not see."""
    return any(word in text for word in _HIDDEN)


def counted(value: Any, schema: Any) -> int | None:
    """The steps that a validator of a `measured` schema takes for `value`, at most; None where they are too many."""
    try:
        return _Counting(schema).steps(value, schema)
    except Beyond:
        return None


class _Counting:
    """One count: each pair of a part of the value and a part of the schema is looked at once, however often it counts."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}
        self._depth = 0

    def steps(self, value: Any, schema: Any) -> int:
        """How many schemas are entered for `value` at most. Raises Beyond for loops, for too many pairs and depth."""
        if not isinstance(schema, dict):
            return 1
        pair = (id(value), id(schema))
        if (known := self._known.get(pair)) is not None:
            if known < 0:  # entered, and not done: it asks itself
                raise Beyond
            return known
        if len(self._known) == PAIRS or self._depth == DEEPEST:
            raise Beyond
        self._known[pair] = -1
        self._depth += 1
        here = _weight(value, schema)
        for part in self._beside(schema):
            here += self.steps(value, part)
        if any(word in schema for word in UNASKED):
            here *= AGAIN
        for item, part in _within(value, schema):
            here += self.steps(item, part)
        self._depth -= 1
        if here > MOST:
            raise Beyond
        self._known[pair] = here
        return here

    def _beside(self, schema: dict[str, Any]) -> Iterator[Any]:
        """The schemas that are asked of the same value."""
        if isinstance(ref := schema.get("$ref"), str):
            yield _pointed(self._root, ref)
        for word in ONE:
            if word in schema:
                yield schema[word]
        for word in SOME:
            if isinstance(parts := schema.get(word), list):
                yield from parts
        for word in NAMED:
            if isinstance(parts := schema.get(word), dict):
                yield from parts.values()


def _within(value: Any, schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The parts of a value, each with the schemas that may be asked of it."""
    if not isinstance(value, dict | list):
        return
    words = OF_MEMBERS if isinstance(value, dict) else OF_ITEMS
    inner = [schema[word] for word in words if isinstance(schema.get(word), dict)]
    if isinstance(value, list):
        rows: list[Any] = [row for word in ("prefixItems", "items") if isinstance(row := schema.get(word), list)]
        for at, item in enumerate(value):
            yield from ((item, part) for part in inner)
            yield from ((item, row[at]) for row in rows if at < len(row))
        return
    known, patterns = schema.get("properties"), schema.get("patternProperties")
    for name, item in value.items():
        yield from ((item, part) for part in inner)
        if isinstance(known, dict) and name in known:
            yield item, known[name]
        if isinstance(patterns, dict):
            yield from ((item, part) for part in patterns.values())
        if isinstance(names := schema.get("propertyNames"), dict):
            yield name, names


def _weight(value: Any, schema: dict[str, Any]) -> int:
    """What the keywords without schemas take, of which some are looked through."""
    listed, pattern = schema.get("enum"), schema.get("pattern")
    weight = 1 + (len(listed) if isinstance(listed, list) else 0)
    if isinstance(pattern, str) and isinstance(value, str):
        weight += len(pattern) * len(value) // 64
    return weight


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Each object of a document, whether or not it is a schema."""
    open_ = [schema]
    while open_:
        part = open_.pop()
        if isinstance(part, dict):
            yield part
            open_ += part.values()
        elif isinstance(part, list):
            open_ += part


def _pointed(root: Any, ref: str) -> Any:
    """What a reference within the document leads to. Raises Beyond where it leads anywhere else."""
    if ref != "#" and not ref.startswith("#/"):
        raise Beyond
    for step in ref[2:].split("/") if ref != "#" else ():
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        try:
            root = root[int(step)] if isinstance(root, list) else root[step]
        except (KeyError, ValueError, IndexError, TypeError):
            raise Beyond from None
    return root
