"""What callers pass, looked at where it comes in: a mistake is one line that names the argument, and no error from within."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any, cast, get_type_hints

import msgspec

from dragoman.catalog.target import Target
from dragoman.client.compose import Care
from dragoman.client.observe import Observer
from dragoman.client.remote import Manner
from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError
from dragoman.passed import shown, wrong
from dragoman.secret import Secret
from dragoman.transport.base import Limits
from dragoman.transport.cancel import CancelToken
from dragoman.types.content import ToolResult
from dragoman.types.request import Request, Sampling

OFF_OR_ON = "False or True"


def watching(observers: Any) -> tuple[Observer, ...]:
    """Observers as they are kept. Raises UsageError for what is none."""
    if not isinstance(observers, Sequence) or not all(map(callable, observers)):
        raise wrong("observers", observers, "a list of functions")
    return tuple(observers)


def check_arguments(env: Any, dialect: Any, manner: Manner, care: Care) -> None:
    """Raises UsageError for what no model can be made with."""
    if env is not None and (odd := _odd_env(env)) is not None:
        raise UsageError("usage", f"{odd}: pass names of variables and their texts, as os.environ has")
    if dialect is not None and not (isinstance(dialect, Dialect) or _has_names(dialect)):
        raise wrong("dialect", dialect, "a Dialect, or facts by their names")
    limits, rng = cast(Any, manner.limits), cast(Any, manner.rng)
    for name, value, fits, wanted in (
        ("limits", limits, isinstance(limits, Limits), "Limits(…)"),
        ("clock", manner.clock, callable(getattr(manner.clock, "now", None)), "a Clock"),
        ("rng", rng, isinstance(rng, Random), "a random.Random"),
        ("adapt", manner.adapt, type(manner.adapt) is bool, OFF_OR_ON),
        (
            "restart_on_drop",
            manner.restart,
            type(manner.restart) is bool or callable(manner.restart),
            f"{OFF_OR_ON}, or a function that says so",
        ),
        ("strict", care.strict, type(care.strict) is bool, OFF_OR_ON),
        ("repair", care.repair, type(care.repair) is bool, OFF_OR_ON),
        (
            "vision",
            care.vision,
            care.vision is None or type(care.vision) is bool,
            f"{OFF_OR_ON}, or None to look it up",
        ),
    ):
        if not fits:
            raise wrong(name, value, wanted)


def check_cancel(cancel: Any) -> None:
    """Raises UsageError for what cancels nothing."""
    if cancel is not None and not isinstance(cancel, CancelToken):
        raise wrong("cancel", cancel, "a CancelToken, or None")


def check_target(target: Target) -> None:
    """Raises UsageError for a Target that leads nowhere."""
    for name in ("provider", "label", "wire", "model", "base_url", "auth", "key_env", "base_env"):
        if not isinstance(getattr(target, name), str):
            raise wrong(f"Target.{name}", getattr(target, name), "a text")
    if not target.base_url.startswith(("http://", "https://")):
        raise UsageError("usage", "Target.base_url: pass an address that begins with http:// or https://")
    key, pairs, dialect = cast(tuple[Any, Any, Any], (target.key, target.headers, target.dialect))
    if key is not None and not isinstance(key, Secret):
        raise UsageError("usage", "Target.key: pass a Secret, or None for no key")
    if not isinstance(pairs, tuple) or not all(_is_pair(pair) for pair in pairs):
        raise UsageError("usage", "Target.headers: pass pairs of texts, (name, value)")
    if not isinstance(dialect, Dialect):
        raise wrong("Target.dialect", dialect, "a Dialect")


def check_options(said: Mapping[str, Any]) -> None:
    """Raises UsageError for an option of another type than its field of a request has."""
    for name, value in said.items():
        kind = _kinds().get(name)
        if kind is not None and value is not None:
            try:
                msgspec.convert(value, kind)
            except (msgspec.ValidationError, RecursionError) as error:
                raise UsageError("usage", f"{name} is {shown(value)}: {_lowered(str(error))}") from None


def check_texts(request: Request) -> None:
    """Raises UsageError for a text where blocks belong, which would be taken for a list of letters that say nothing."""
    for message in request.messages:
        content: Any = message.content
        if type(content) is str or (message.role == "tool" and any(type(said) is str for said in _within(content))):
            raise UsageError("usage", misbuilt(request) or "a text stands where blocks belong")


def _within(content: Any) -> Iterator[Any]:
    return (block.content for block in content if type(block) is ToolResult)


@contextmanager
def told_of(request: Request) -> Generator[None]:
    """What fails in this context since `request` was built of the wrong types is told by the place: Python checks none when
    a message is made, and to check each call's whole history would cost every call what one mistake costs."""
    try:
        yield
    except (TypeError, AttributeError):
        if (found := misbuilt(request)) is not None:
            raise UsageError("usage", found) from None
        raise


def misbuilt(request: Request) -> str | None:
    """The first place of a request that holds what its type does not allow, in words; None for none."""
    try:
        msgspec.json.decode(msgspec.json.encode(request), type=Request)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        return f"{place.strip('`').removeprefix('$.') or 'request'}: {_lowered(what)}"
    except (TypeError, ValueError, RecursionError) as error:
        return f"request: {error}"
    return None


@cache
def _kinds() -> dict[str, Any]:
    """The types of the options that are fields of a request as they stand; others have a reading of their own."""
    own = ("messages", "model", "opaque", "tools", "tool_choice", "stop", "output", "stream", "sampling")
    fields = {**get_type_hints(Request), **get_type_hints(Sampling)}
    kinds = {name: kind for name, kind in fields.items() if name not in own}
    return {**kinds, "system": str, "opaque": dict[str, dict[str, Any]]}


def _odd_env(env: Any) -> str | None:
    if not isinstance(env, Mapping):
        return f"env is {shown(env)}"
    odd = (name for name, value in env.items() if not (isinstance(name, str) and isinstance(value, str)))
    return next((f"env[{name!r}] is no text" for name in odd), None)


def _has_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(each, str) for each in pair)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
