"""Every modelled field of the middle format, found from the types themselves, and another value for it."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from dragoman.types import (
    Cache,
    Choice,
    Foreign,
    HostedCall,
    HostedResult,
    HostedTool,
    Json,
    Media,
    Message,
    Output,
    Reasoning,
    Refusal,
    Reply,
    Request,
    Sampling,
    ServerState,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
    Usage,
)
from dragoman.types.note import Path

STRUCTS: tuple[type[msgspec.Struct], ...] = (
    Request,
    Sampling,
    Output,
    ServerState,
    Cache,
    Message,
    Text,
    Json,
    Media,
    Reasoning,
    Refusal,
    ToolCall,
    ToolResult,
    HostedCall,
    HostedResult,
    ToolsChange,
    Foreign,
    Tool,
    HostedTool,
    ToolChoice,
    Reply,
    Choice,
    Stop,
    Usage,
)
# Not said by a model or a user: leftovers, who spoke, when it came, what a client read in it, and the vendor's word for a stop, which yields to the reason.
NOT_SAID = ("opaque", "origin", "raw", "timing", "parsed")
NEW = "_edited"  # legal in an id and in a name

Name = tuple[str, str]  # of a struct and of its field


class Edit(NamedTuple):
    """One field of one value inside a request or reply, and the whole with another value in it."""

    name: Name
    path: Path
    value: Any
    whole: Any


def modelled() -> list[Name]:
    """Every field whose value a wire may say; those that only hold other structs are counted by what they hold."""
    found: list[Name] = []
    for struct in STRUCTS:
        hints = get_type_hints(struct)
        found += [
            (struct.__name__, name)
            for name in struct.__struct_fields__
            if name not in NOT_SAID and not _holds_structs(hints[name])
        ]
    return found


def edits(whole: Any) -> Iterator[Edit]:
    """An edit for every modelled field that is said anywhere in a value."""
    names = set(modelled())
    for path, struct in _structs(whole):
        for field in struct.__struct_fields__:
            name = (type(struct).__name__, field)
            value = getattr(struct, field)
            if name in names and value is not None:
                new = changed(struct, field)
                if new != value:
                    yield Edit(name, (*path, field), new, put(whole, (*path, field), new))


def changed(struct: msgspec.Struct, field: str) -> Any:
    """Another value that may stand in a field."""
    value = getattr(struct, field)
    if field == "role":  # any other change of role is another message
        return {"system": "developer", "developer": "system"}.get(value, value)
    literals = _literals(get_type_hints(type(struct))[field])
    if literals:
        return literals[(literals.index(value) + 1) % len(literals)]
    return _other(value)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}{NEW}"
        case tuple() | list():
            return type(value)([*value[:-1], _other(value[-1])]) if value else type(value)([NEW])
        case dict():
            return {**value, NEW: NEW}
        case _:
            return NEW


def put(whole: Any, path: Path, new: Any) -> Any:
    """`whole` with another value in one place."""
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return (*whole[:step], put(whole[step], tuple(rest), new), *whole[step + 1 :])
    return msgspec.structs.replace(whole, **{step: put(getattr(whole, step), tuple(rest), new)})


def _structs(value: Any, path: Path = ()) -> Iterator[tuple[Path, msgspec.Struct]]:
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _structs(item, (*path, at))
    elif isinstance(value, msgspec.Struct):
        yield path, value
        for name in value.__struct_fields__:
            if name not in NOT_SAID:
                yield from _structs(getattr(value, name), (*path, name))


def _holds_structs(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return True
    return any(_holds_structs(part) for part in get_args(hint) if part is not Ellipsis)


def _literals(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return [item for part in get_args(hint) for item in _literals(part)]
    return []
