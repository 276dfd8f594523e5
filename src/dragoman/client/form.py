"""The form a value is wanted in: a type of the caller's, or a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec

from dragoman.errors import UsageError
from dragoman.tools import models
from dragoman.tools.check import faults

Rung: TypeAlias = Literal["native", "tool", "json", "prompt"]
LADDER: tuple[Rung, ...] = ("native", "tool", "json", "prompt")
VALUE = "value"  # the one property of the object around a value that is none: services want an object at the root
NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Structured(msgspec.Struct, frozen=True, kw_only=True):
    """How a value is asked for, where the type alone does not say enough.

    `of` is a dataclass, a Struct, a TypedDict, a pydantic model, any other type that JSON can hold, or a JSON Schema.
    `ladder` are the ways to ask, best first; `moves` how often a call may go down a rung, each at the cost of a request.
    `invalid` says whether a value that does not fit moves down too, instead of being an error: in whole replies only.
    `repair` reads single quotes, trailing commas and NaN all the same, noted; it never closes what was cut off.
    `strict` False asks the service for the schema as it stands, without holding it to its strict form.
    """

    of: Any
    name: str | None = None
    ladder: tuple[Rung, ...] = LADDER
    moves: int = 1
    invalid: Literal["raise", "move"] = "raise"
    repair: bool = False
    strict: bool = True


class Misfit(Exception):
    """A value that is not of the form, and why."""


class Form(NamedTuple):
    """What is asked for: `schema` has an object at its root; `wrapped`: its one property is the value that is meant."""

    wanted: Structured
    name: str
    schema: dict[str, Any]
    wrapped: bool

    def read(self, value: Any) -> Any:
        """A JSON value as the caller wants it. Raises Misfit with every fault."""
        of = self.wanted.of
        if self.wrapped and isinstance(value, dict) and value.keys() == {VALUE}:
            value = value[VALUE]
        if isinstance(of, dict):
            if found := faults(value, of):
                raise Misfit("; ".join(map(str, found)))
            return value
        try:
            if models.is_model(of):
                return models.converted(of, value)
            return msgspec.convert(value, of, dec_hook=models.converted)
        except (msgspec.ValidationError, ValueError, TypeError) as error:
            raise Misfit(str(error)) from None


def form_of(wanted: Any) -> Form:
    """The form of a type, a JSON Schema or a Structured. Raises UsageError for what JSON cannot hold."""
    said = wanted if isinstance(wanted, Structured) else Structured(of=wanted)
    ladder, moves = cast(tuple[Any, Any], (said.ladder, said.moves))
    known = isinstance(ladder, Sequence) and all(rung in LADDER for rung in ladder)
    if not known or not ladder or type(moves) is not int or moves < 0:
        raise UsageError("usage", f"output: ladder is some of {', '.join(LADDER)}, moves is not negative")
    whole = dict(said.of) if isinstance(said.of, dict) else _schema(said.of)
    title = said.name or (whole.get("title") if isinstance(said.of, dict) else getattr(said.of, "__name__", None))
    name = NAME.sub("_", title if isinstance(title, str) else "").strip("_")[:64] or "answer"
    definitions = {key: whole.pop(key) for key in ("$defs", "definitions") if key in whole}
    if whole.get("type") == "object":
        return Form(said, name, {**whole, **definitions}, wrapped=False)
    around = {"type": "object", "properties": {VALUE: whole}, "required": [VALUE], "additionalProperties": False}
    return Form(said, name, {**around, **definitions}, wrapped=True)


def _schema(of: Any) -> dict[str, Any]:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [of], schema_hook=models.schema_of, ref_template="#/$defs/{name}"
        )
    except (TypeError, RuntimeError) as error:
        raise UsageError("usage", f"output: no JSON Schema for {of!r}: {str(error).splitlines()[-1]}") from None
    whole = models.lifted({**schema, "$defs": {**definitions, **schema.get("$defs", {})}})
    parts: dict[str, Any] = whole.pop("$defs", {})
    root = whole.get("$ref", "").removeprefix("#/$defs/")
    if root in parts:  # an object at the root, its definition kept where it is named within
        whole = dict(parts[root] if _names(parts, root) else parts.pop(root))
    return {**whole, "$defs": parts} if parts else whole


def _names(definitions: dict[str, Any], root: str) -> bool:
    return f'"#/$defs/{root}"'.encode() in msgspec.json.encode(definitions)
