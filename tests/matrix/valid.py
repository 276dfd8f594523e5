"""A strict reader of request bodies, made from the official SDKs' own request types.

Their types are lazy (`Iterable` is never looked into) and open (unknown keys pass). Here every Iterable is a list and
every unknown key is an error, so that a body is valid only when its vendor's own types say so. What vendors take all
the same (recorded requests that got a 200) is one table, `ACCEPTED`.
"""

from __future__ import annotations

import copy
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple, NotRequired, Required, Union, get_args, get_origin, get_type_hints

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

            whole: Any = params.CompletionCreateParamsNonStreaming | params.CompletionCreateParamsStreaming
        case "responses":
            from openai.types.responses import response_create_params as params

            whole = params.ResponseCreateParamsNonStreaming | params.ResponseCreateParamsStreaming
        case _:
            from anthropic.types.beta import message_create_params as params

            whole = params.MessageCreateParamsNonStreaming | params.MessageCreateParamsStreaming
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
        return Union[tuple(_strict(arg) for arg in args)]  # noqa: UP007
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
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    setattr(made, "__pydantic_config__", config)  # noqa: B010
    return made


# --- what vendors take beyond their types


class Accepted(NamedTuple):
    """A class of traffic that a vendor answers with 200 and its types refuse.

    `taken` is in how many of the recorded requests to the vendor itself; `mend` rewrites a body as the types want it
    and tells whether there was anything to rewrite.
    """

    wire: str
    name: str
    reason: str
    taken: int
    mend: Callable[[dict[str, Any]], bool]


def mended(wire: str, body: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy of `body` as the types want it, and the names of the classes of `ACCEPTED` that it belongs to."""
    body = copy.deepcopy(body)
    return body, [row.name for row in ACCEPTED if row.wire == wire and row.mend(body)]


def _without(*keys: str) -> Callable[[dict[str, Any]], bool]:
    def mend(body: dict[str, Any]) -> bool:
        return bool([key for key in keys if body.pop(key, None) is not None])

    return mend


def _each(find: Callable[[dict[str, Any]], Iterator[dict[str, Any]]], fix: Callable[[dict[str, Any]], bool]) -> Any:
    return lambda body: True in [fix(found) for found in find(body)]


def _fill(**values: Any) -> Callable[[dict[str, Any]], bool]:
    def fix(found: dict[str, Any]) -> bool:
        absent = {key: value for key, value in values.items() if key not in found}
        found.update(absent)
        return bool(absent)

    return fix


def _tools(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (tool for tool in body.get("tools") or () if tool.get("type") == "function")


def _functions(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (tool["function"] for tool in _tools(body))


def _items(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(body.get("input"), list):
        yield from body["input"]


def _of(kind: str) -> Callable[[dict[str, Any]], Iterator[dict[str, Any]]]:
    return lambda body: (item for item in _items(body) if item.get("type") == kind)


def _messages(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from body["messages"]


def _parts(kind: str) -> Callable[[dict[str, Any]], Iterator[dict[str, Any]]]:
    def find(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for holder in (*_items(body), *body.get("messages", ())):
            if isinstance(holder.get("content"), list):
                yield from (part for part in holder["content"] if part.get("type") == kind)

    return find


def _said(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Messages of the assistant whose content is parts."""
    return (item for item in _items(body) if item.get("role") == "assistant" and isinstance(item["content"], list))


def _null(key: str, new: Any = None) -> Callable[[dict[str, Any]], bool]:
    def fix(found: dict[str, Any]) -> bool:
        if found.get(key, "") is not None:
            return False
        del found[key]
        if new is not None:
            found[key] = new
        return True

    return fix


def _address(part: dict[str, Any]) -> bool:
    if not isinstance(part["image_url"], str):
        return False
    part["image_url"] = {"url": part["image_url"]}
    return True


def _tool_name(message: dict[str, Any]) -> bool:
    return message["role"] == "tool" and message.pop("name", None) is not None


ACCEPTED: tuple[Accepted, ...] = (
    Accepted("chat", "model null", "the address names the deployment", 1, _null("model", "m")),
    Accepted("chat", "null form", "an explicit null of an optional key", 1, _null("response_format")),
    Accepted(
        "chat",
        "unknown keys of a function",
        "an agent library's own words beside the definition",
        2,
        _each(_functions, _without("requires_confirmation", "external_execution")),
    ),
    Accepted("chat", "name of a result", "the service knows it, the types do not", 1, _each(_messages, _tool_name)),
    Accepted("chat", "bare image address", "the form of an early model", 1, _each(_parts("image_url"), _address)),
    Accepted(
        "messages",
        "sampling",
        "the types dropped it in 2.14; models before 4.7 take it",
        65,
        _without("temperature", "top_p", "top_k"),
    ),
    Accepted("messages", "output_format", "the older place of the form", 1, _without("output_format")),
    Accepted("responses", "tool without strict", "what is left out is strict", 51, _each(_tools, _fill(strict=None))),
    Accepted("responses", "reasoning without id", "nothing is stored", 24, _each(_of("reasoning"), _fill(id="rs_1"))),
    Accepted(
        "responses",
        "bare answer",
        "an answer given back without id, status or type",
        23,
        _each(_said, _fill(id="msg_1", status="completed", type="message")),
    ),
    Accepted("responses", "text without annotations", "none", 34, _each(_parts("output_text"), _fill(annotations=[]))),
    Accepted("responses", "image without detail", "auto", 8, _each(_parts("input_image"), _fill(detail="auto"))),
    Accepted(
        "responses",
        "image call by id",
        "the service finds the image by its id",
        1,
        _each(_of("image_generation_call"), _fill(result=None, status="completed")),
    ),
    Accepted(
        "responses", "null status", "a reply given back as it came", 2, _each(_of("function_call"), _null("status"))
    ),
)
