"""The place in the middle format that a service complains of, found in the request that was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError, DragomanError
from dragoman.explain.causes import READ, Cause, words
from dragoman.history.check import check
from dragoman.types.content import Content, Media, Reasoning, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.request import Request
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange

Written = tuple[str, Dialect]

# A place in a body as services write it: messages.2.content.0, messages[3], #/messages/2, input[3].output[0].file_data.
BODY_PATH = re.compile(r"\b(?:messages|input|tools|system)(?:[./]\d+|\[\d+\])(?:[./]\w+|\[\d+\])*")
IDS = re.compile(r"[\w:.|-]{6,}")
# Keys of a body, on whatever wire, by the field of a request.
FIELDS: dict[str, Path] = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), ("max_output",)),
    **{name: ("sampling", name) for name in ("temperature", "top_p", "top_k", "seed")},
    **{name: ("sampling", name) for name in ("presence_penalty", "frequency_penalty")},
    **dict.fromkeys(("stop", "stop_sequences"), ("stop",)),
    **dict.fromkeys(("reasoning_effort", "reasoning", "reasoning.effort", "output_config.effort"), ("effort",)),
    **dict.fromkeys(("thinking", "thinking.budget_tokens", "thinking.type"), ("budget",)),
    **dict.fromkeys(("response_format", "text.format", "output_config.format"), ("output",)),
    "parallel_tool_calls": ("parallel_tools",),
    "service_tier": ("tier",),
    "previous_response_id": ("state",),
    "prompt_cache_key": ("cache_key",),
    **{name: (name,) for name in ("model", "tools", "tool_choice", "store", "user", "metadata", "verbosity", "n")},
    **{name: (name,) for name in ("logprobs", "top_logprobs", "stream", "messages")},
}
OF_A_TOOL = {"name": "name", "description": "description", "parameters": "parameters", "input_schema": "parameters"}


def place(row: Cause, error: ApiError, what: str, request: Request, written: Written) -> Path:
    """The most exact place known: an id in the words, a rule that is broken, a content, a path or key in the words.

    `()` when nothing tells one. `written` are the wire and dialect of the request as it was sent.
    """
    said = words(error)
    named = " ".join(part for part in (error.detail.param, what, said) if part)[:READ]
    param = what or error.detail.param or ""
    return (
        _by_id(said, request)
        or _by_rule(row.rule, request, written)
        or _by_content(row.holds, request)
        or _by_path(named, request, written)
        or FIELDS.get(param, ())
        or row.field
    )


def _by_id(said: str, request: Request) -> Path:
    """The first call or result whose id is among the words."""
    ids = set(IDS.findall(said))
    for path, block in _blocks(request):
        if (isinstance(block, ToolCall) and block.id in ids) or (
            isinstance(block, ToolResult) and block.call_id in ids
        ):
            return path
    return ()


def _by_rule(rule: str | None, request: Request, written: Written) -> Path:
    if rule is None:
        return ()
    return next((finding.path for finding in check(request, *written) if finding.rule == rule), ())


def _by_content(holds: str | None, request: Request) -> Path:
    if holds == "unreasoned":
        return next((at for at, message in _messages(request) if _is_unreasoned(message)), ())
    for path, block in _blocks(request) if holds else ():
        inner = block.content if isinstance(block, ToolResult) else (block,)
        if any(isinstance(each, Media) and each.kind == holds for each in inner):
            return path
    return ()


def _is_unreasoned(message: Message) -> bool:
    kinds = {type(block) for block in message.content}
    return ToolCall in kinds and Reasoning not in kinds


def _by_path(said: str, request: Request, written: Written) -> Path:
    found = BODY_PATH.search(said)
    if found is None:
        return ()
    steps = [int(step) if step.isdecimal() else step for step in re.split(r"[./\[\]]+", found[0]) if step]
    match steps:
        case ["tools", int(at), *more]:
            inner = next((OF_A_TOOL[str(step)] for step in more if step in OF_A_TOOL), None)
            exists = at < len(request.tools or ())
            return () if not exists else ("tools", at) if inner is None else ("tools", at, inner)
        case ["system", *_]:
            return next((at for at, message in _messages(request) if message.role == "system"), ())
        case _:
            return _in_conversation(steps, request, written)


def _in_conversation(steps: list[Any], request: Request, written: Written) -> Path:
    """What wrote the element of the body at these steps: the first message, then the first block, that makes it appear.

    An element is written by what stands before and at its place alone (law L7), so halving finds it in few writings.
    """
    bare = replace(request, tools=None, tool_choice=None)
    block = steps[:4] if len(steps) > 3 and isinstance(steps[3], int) else steps[:2]

    def has(messages: tuple[Message, ...]) -> bool:
        return _reaches(_body(replace(bare, messages=messages), written), block)

    count = _first(len(request.messages), lambda size: has(request.messages[:size]))
    if count is None:
        return ()
    path: Path = ("messages", count - 1)
    before, last = request.messages[: count - 1], request.messages[count - 1]
    if block is not steps[:2] and len(block) == 4:
        at = _first(len(last.content), lambda size: has((*before, replace(last, content=last.content[:size]))))
        return path if at is None else (*path, "content", at - 1)
    return path


def _first(most: int, holds: Callable[[int], bool]) -> int | None:
    """The least of 1 … `most` for which `holds`, which holds for all beyond it; None when for none."""
    low, high = 1, most
    if not most or not holds(most):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _body(request: Request, written: Written) -> Any:
    wire, dialect = written
    try:
        return jsonio.decode(find(wire).encode_request(request, dialect, Exchange()).http.body)[0]
    except DragomanError:  # a part of a conversation need not be one
        return {}


def _reaches(body: Any, steps: list[Any]) -> bool:
    """Whether something stands there; a text counts as the one part of an array."""
    for step in steps:
        if isinstance(body, str):
            return step == 0
        if (isinstance(body, list) and isinstance(step, int) and step < len(body)) or (
            isinstance(body, dict) and step in body
        ):
            body = body[step]
        else:
            return False
    return True


def _messages(request: Request) -> Iterator[tuple[Path, Message]]:
    for at, message in enumerate(request.messages):
        yield ("messages", at), message


def _blocks(request: Request) -> Iterator[tuple[Path, Content]]:
    for path, message in _messages(request):
        for at, block in enumerate(message.content):
            yield (*path, "content", at), block
