"""From the arguments of a call to a Request: the one place, for chat and stream, sync and async."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias, TypedDict, get_args

import msgspec

from dragoman.client.arguments import check_options, check_texts, told_of
from dragoman.client.form import Form, Structured, form_of
from dragoman.errors import UsageError
from dragoman.types.base import Cache
from dragoman.types.content import Content
from dragoman.types.message import Message, user
from dragoman.types.opaque import JSON
from dragoman.types.request import Output, Request, Sampling, ServerState
from dragoman.types.tool import HostedTool, Tool, ToolChoice

Messages: TypeAlias = str | Message | Sequence[Message] | Request
Wanted: TypeAlias = Structured | type[Any] | dict[str, Any]
MODES = ("auto", "none", "required")


class Plain(TypedDict, total=False):
    """What a completion may say beside its prompt: how it is drawn, and how much of it."""

    system: str | None
    max_output: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    stop: str | Sequence[str] | None
    effort: str | None
    budget: int | None
    tier: str | None
    store: bool | None
    user: str | None
    cache_key: str | None
    metadata: dict[str, str] | None
    verbosity: str | None
    opaque: dict[str, dict[str, JSON]] | None


class Options(Plain, total=False):
    """What a call may say beside its messages: the fields of Request and of its sampling, under their own names.

    `system` is the system prompt; `tool_choice` a ToolChoice, a mode (auto, none, required) or the name of one offered
    tool; `stop` one sequence or several. `output` is a type, a JSON Schema or a Structured where a value is wanted
    (docs/structured.md), an Output where the wire is to be told just that. None means "not said", as in Request.
    """

    tools: Sequence[Tool | HostedTool] | None
    tool_choice: ToolChoice | str | None
    parallel_tools: bool | None
    output: Output | Wanted | None
    cache: Cache | None
    state: ServerState | None
    logprobs: bool | None
    top_logprobs: int | None
    n: int | None


NOT_PLAIN = Options.__optional_keys__ - Plain.__optional_keys__


def question(messages: Messages, options: Options) -> tuple[Request, Form | None]:
    """The request that was meant, and the form of the value that is wanted of its answer, if one is.

    Raises what `request` raises, and UsageError for a form that JSON cannot hold.
    """
    wanted = options.get("output")
    if wanted is None or isinstance(wanted, Output):
        return request(messages, options), None
    plain: Options = {**options, "output": None}
    return request(messages, plain), form_of(wanted)


def request(messages: Messages, options: Options) -> Request:
    """The request that was meant; an option wins over the field of a Request that was passed in.

    Raises UsageError for an unknown option, an unknown message, a tool that is none, a number that JSON does not have, or
    a tool choice that names no offered tool.
    """
    said: dict[str, Any] = {**options}
    for name in said:
        if name not in Options.__optional_keys__:
            raise UsageError("usage", f"unknown option {name!r}{_meant(name)}")
    check_options(said)
    base = messages if isinstance(messages, Request) else Request(messages=_messages(messages))
    if "system" in said:
        with told_of(base):
            base = base.with_system(said.pop("system"))
    drawn = {name: said.pop(name) for name in Sampling.__struct_fields__ if name in said}
    if drawn:
        said["sampling"] = msgspec.structs.replace(base.sampling, **drawn)
        for name, number in drawn.items():
            if isinstance(number, float) and not isfinite(number):
                raise UsageError("usage", f"{name} is {number}, which no JSON can say")
    if "tools" in said:
        said["tools"] = _tools(said["tools"] or ()) or None
    if "stop" in said:
        said["stop"] = _stops(said["stop"])
    made = msgspec.structs.replace(base, **said)
    with told_of(made):
        check_texts(made)
        return msgspec.structs.replace(made, tool_choice=_choice(made.tool_choice, made.tools))


def _messages(said: Any) -> tuple[Message, ...]:
    if isinstance(said, str):
        return (user(said),)
    kinds = "a string, a Message, a list of Messages or a Request"
    if not isinstance(said, (Message, Sequence)) or isinstance(said, (bytes, bytearray)):
        raise UsageError("usage", f"messages is {type(said).__name__}: pass {kinds}")
    listed: tuple[Any, ...] = (said,) if isinstance(said, Message) else tuple(said)
    for place, item in enumerate(listed):
        if not isinstance(item, Message):
            hint = "; wrap it in user(…)" if isinstance(item, (str, *get_args(Content))) else ""
            raise UsageError("usage", f"messages[{place}] is {type(item).__name__}: pass {kinds}{hint}")
    return listed


def _tools(said: Any) -> tuple[Tool | HostedTool, ...]:
    if not isinstance(said, Sequence):
        raise UsageError("usage", f"tools is {type(said).__name__}: pass a list of Tools")
    for place, item in enumerate(said):
        if not isinstance(item, (Tool, HostedTool)):
            hint = "the `definition` of what `dragoman.tools.tool` makes of a function is one"
            raise UsageError("usage", f"tools[{place}] is {type(item).__name__}: pass Tools; {hint}")
    return tuple(said)


def _stops(said: Any) -> tuple[str, ...] | None:
    listed: Any = (said,) if isinstance(said, str) else said
    if listed is not None and not (isinstance(listed, Sequence) and all(isinstance(each, str) for each in listed)):
        raise UsageError("usage", f"stop is {said!r}: pass a string or several")
    return None if listed is None else tuple(listed)


def _choice(choice: Any, tools: tuple[Tool | HostedTool, ...] | None) -> ToolChoice | None:
    if isinstance(choice, str):
        choice = ToolChoice(mode=choice) if choice in MODES else ToolChoice(mode="required", names=(choice,))
    if choice is None:
        return None
    if not isinstance(choice, ToolChoice):
        raise UsageError(
            "usage", f"tool_choice is {choice!r}: pass a ToolChoice, one of {', '.join(MODES)}, or a tool's name"
        )
    offered = [tool.name if isinstance(tool, Tool) else tool.kind for tool in tools or ()]
    for name in choice.names or ():
        if name not in offered:
            known = ", ".join(offered) or "none"
            raise UsageError("usage", f"tool_choice names {name!r}, which is not among the tools offered: {known}")
    return choice


def _meant(name: str) -> str:
    from difflib import get_close_matches

    aliases: Mapping[str, str] = {"max_tokens": "max_output", "tool": "tools", "reasoning_effort": "effort"}
    near = aliases.get(name) or next(iter(get_close_matches(name, Options.__optional_keys__, 1)), None)
    return f": did you mean {near}?" if near else f"; known: {', '.join(sorted(Options.__optional_keys__))}"
