"""From a function's signature to its JSON Schema, and the check of arguments against it."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Union

import msgspec

from dragoman.errors import UsageError
from dragoman.tools import models
from dragoman.tools.words import names, near, short
from dragoman.transport.cancel import CancelToken

REFS = "#/$defs/{name}"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter: `type` is what a value must convert to, `schema` what the model is told."""

    name: str
    type: Any
    required: bool
    schema: dict[str, Any]


def describe(function: Callable[..., Any]) -> tuple[tuple[Parameter, ...], dict[str, Any]]:
    """The parameters of `function` and the JSON Schema of its arguments (S0-55).

    Raises UsageError for a parameter that cannot be described: not annotated, not named, or of no JSON type.
    """
    label = getattr(function, "__name__", repr(function))
    hints = _hints(function, label)
    named: list[tuple[inspect.Parameter, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError("usage", f"tool {label!r}: parameter {parameter.name!r} has no name a model could use")
        if parameter.name not in hints:
            raise UsageError("usage", f"tool {label!r}: parameter {parameter.name!r} needs a type annotation")
        if hints[parameter.name] is not CancelToken:  # handed in by whoever runs the tool
            named.append((parameter, _described(hints[parameter.name])))
    schemas, definitions = _schemas(label, named)
    parameters = tuple(
        Parameter(name=parameter.name, type=hint, required=parameter.default is parameter.empty, schema=schema)
        for (parameter, hint), schema in zip(named, schemas, strict=True)
    )
    whole: dict[str, Any] = {"type": "object", "properties": {item.name: item.schema for item in parameters}}
    if required := [item.name for item in parameters if item.required]:
        whole["required"] = required
    if definitions:
        whole["$defs"] = definitions
    return parameters, models.lifted(whole)


def wants_cancel(function: Callable[..., Any]) -> str | None:
    """The parameter of `function` that takes the cancel token; None when it has none."""
    hints = typing.get_type_hints(function)
    return next((name for name, hint in hints.items() if hint is CancelToken and name != "return"), None)


def convert(parameters: tuple[Parameter, ...], arguments: dict[str, Any]) -> dict[str, Any] | str:
    """`arguments` as values the function takes, or what is wrong with them: every fault, with its place (S1-24…26)."""
    known = {item.name: item for item in parameters}
    faults: list[str] = []
    if missing := [item.name for item in parameters if item.required and item.name not in arguments]:
        faults.append(f"missing {names(missing)}")
    if extra := [name for name in arguments if name not in known]:
        faults += [near(name, known) for name in extra]
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in known:
            continue
        try:
            values[name] = msgspec.convert(value, known[name].type, dec_hook=models.converted)
        except msgspec.ValidationError as error:
            faults.append(_fault(known[name], value, str(error)))
    return "; ".join(faults) if faults else values


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError("usage", f"tool {label!r}: an annotation cannot be read: {error}") from None


def _described(hint: Any) -> Any:
    """`Annotated[T, "words"]` as msgspec writes a description."""
    if typing.get_origin(hint) is not Annotated:
        return hint
    inner, *extras = typing.get_args(hint)
    extras = [msgspec.Meta(description=extra) if isinstance(extra, str) else extra for extra in extras]
    return Annotated[(inner, *extras)]


def _schemas(label: str, named: list[tuple[inspect.Parameter, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    shown = [_without_none(hint) if parameter.default is None else hint for parameter, hint in named]
    try:
        schemas, definitions = msgspec.json.schema_components(shown, schema_hook=models.schema_of, ref_template=REFS)
    except (TypeError, RuntimeError) as error:
        raise UsageError("usage", f"tool {label!r}: {_culprit(named, str(error))}") from None
    return [_with_default(dict(schema), item) for schema, (item, _) in zip(schemas, named, strict=True)], definitions


def _culprit(named: list[tuple[inspect.Parameter, Any]], why: str) -> str:
    for parameter, hint in named:
        try:
            msgspec.json.schema_components([hint], schema_hook=models.schema_of)
        except (TypeError, RuntimeError) as error:
            return f"parameter {parameter.name!r}: {str(error).strip().splitlines()[-1]}"
    return why.strip().splitlines()[-1]


def _with_default(schema: dict[str, Any], parameter: inspect.Parameter) -> dict[str, Any]:
    if parameter.default is parameter.empty or parameter.default is None:
        return schema
    with contextlib.suppress(TypeError, ValueError):  # a default that JSON cannot say is still the function's default
        schema["default"] = msgspec.json.decode(msgspec.json.encode(parameter.default, enc_hook=models.plain))
    return schema


def _without_none(hint: Any) -> Any:
    """`T | None` that defaults to None is told as T: leaving it out says the same, and small models read it better."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(_without_none(args[0]), *args[1:])]
    if origin is Union or origin is types.UnionType:
        return Union[tuple(arg for arg in args if arg is not type(None))]  # noqa: UP007
    return hint


def _fault(parameter: Parameter, value: Any, message: str) -> str:
    """One fault with its place, what was expected and what was got (S1-26)."""
    what, _, place = message.partition(" - at `$")
    fault = f"`{parameter.name}{place.rstrip('`')}`: {what[:1].lower()}{what[1:]}"
    if "expected" not in fault:  # a value outside an enumeration
        fault += f", expected what fits {short(parameter.schema)}"
    return fault if "got" in what else f"{fault}, got {short(value)}"
