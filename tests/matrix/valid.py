"""Guards nothing itself: a strict reader of request bodies made from the official SDKs' own request types.

Their types are lazy (`Iterable` is never looked into) and open (unknown keys pass). Here every Iterable is a list and
every unknown key is an error, so that a body is valid only when its vendor's own types say so.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic import ConfigDict, TypeAdapter, ValidationError

_made: dict[Any, Any] = {}


def errors(wire: str, body: dict[str, Any]) -> list[str]:
    """What the vendor's types say against a body: one line each, `place: reason`; empty when it is valid."""
    try:
        _adapter(wire).validate_python(body, strict=True)
    except ValidationError as error:
        return [f"{'.'.join(str(step) for step in item['loc'])}: {item['msg']}" for item in error.errors()]
    return []


@cache
def _adapter(wire: str) -> TypeAdapter[Any]:
    match wire:
        case "chat":
            from openai.types.chat import completion_create_params as params

            whole: Any = Union[params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming]
        case "responses":
            from openai.types.responses import response_create_params as params

            whole = Union[params.ResponseCreateParamsNonStreaming, params.ResponseCreateParamsStreaming]
        case _:
            from anthropic.types.beta import message_create_params as params

            whole = Union[params.MessageCreateParamsNonStreaming, params.MessageCreateParamsStreaming]
    return TypeAdapter(_strict(whole))


def _strict(kind: Any) -> Any:
    """`kind` with lists for iterables and closed dictionaries."""
    if typing.is_typeddict(kind) or typing_extensions.is_typeddict(kind):
        return _closed(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is None:
        return kind
    if origin is Annotated:
        return _strict(args[0])
    if origin in (Required, typing_extensions.Required):
        return Required[_strict(args[0])]
    if origin in (NotRequired, typing_extensions.NotRequired):
        return NotRequired[_strict(args[0])]
    if origin in (Union, types.UnionType):
        return Union[tuple(_strict(arg) for arg in args)]
    if origin in (list, Iterable, typing.Sequence) or getattr(origin, "__name__", "") in ("Iterable", "Sequence"):
        return list[_strict(args[0])]
    if origin is dict:
        return dict[args[0], _strict(args[1])]
    return kind


def _closed(kind: Any) -> Any:
    name = f"{kind.__module__}.{kind.__qualname__}".replace(".", "_")
    if kind in _made:
        return _made[kind]
    _made[kind] = made = typing_extensions.TypedDict(name, {})  # type: ignore[operator]
    hints = get_type_hints(kind, include_extras=True)
    fields = {key: _strict(hint) for key, hint in hints.items()}
    required = {key for key in fields if key in kind.__required_keys__}
    made.__annotations__ = {
        key: hint
        if get_origin(hint) in (Required, NotRequired)
        else (Required if key in required else NotRequired)[hint]
        for key, hint in fields.items()
    }
    made.__required_keys__ = frozenset(required)
    made.__optional_keys__ = frozenset(set(fields) - required)
    made.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return made


__all__ = ["Literal", "errors"]
