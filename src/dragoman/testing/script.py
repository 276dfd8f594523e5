"""What the fake provider says: a script of replies, or what it was told, said back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from dragoman.errors import UsageError
from dragoman.passed import hold
from dragoman.types.content import Content, Reasoning, Text, ToolCall, ToolResult
from dragoman.types.message import Message, assistant
from dragoman.types.reply import Reply, Stop, StopReason, Usage
from dragoman.types.request import Request

Line: TypeAlias = str | dict[str, Any] | Reply
KEYS = ("text", "thinking", "calls", "stop", "usage", "quirks")


class Turn(NamedTuple):
    """One answer of a script: its reply (None: say back what was said) and the quirks of this one alone."""

    reply: Reply | None = None
    quirks: tuple[str, ...] = ()


def turns(lines: Iterable[Line]) -> list[Turn]:
    """The turns of a script. A line is a text; an object of text, thinking, calls, stop, usage and quirks; or a reply in
    the middle format. Raises UsageError with the number of the line.
    """
    return [_turn(line, f"script line {number}") for number, line in enumerate(lines, 1)]


def read(text: str) -> list[Line]:
    """The lines of a script as JSON lines. Raises UsageError with the number of the line."""
    lines: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                lines.append(json.loads(line))
            except ValueError as error:
                raise UsageError("usage", f"script line {number} is no JSON: {error}") from None
    return lines


def echo(request: Request) -> Reply:
    """What was said last, said back."""
    said = next((text for message in reversed(request.messages) if (text := _said(message))), "Hello.")
    return reply((Text(text=said),), "end", None)


def reply(blocks: tuple[Content, ...], stop: StopReason, usage: Usage | None) -> Reply:
    """A reply of these blocks; usage that nobody said is counted roughly, four letters a token."""
    letters = sum(len(getattr(block, "text", None) or getattr(block, "arguments", "") or "") for block in blocks)
    counted = usage or Usage(input=20, output=max(letters // 4, 1))
    return Reply(message=assistant(*blocks), stop=Stop(reason=stop), usage=counted, id="fake-1", model="fake")


def _turn(line: Any, where: str) -> Turn:
    if isinstance(line, Reply):
        return Turn(line)
    if isinstance(line, str):
        return Turn(reply((Text(text=line),), "end", None))
    if not isinstance(line, dict):
        raise UsageError("usage", f"{where} is {type(line).__name__}: write a text or an object")
    try:
        if "message" in line:
            return Turn(msgspec.convert(line, Reply))
        if unknown := [key for key in line if key not in KEYS]:
            raise UsageError(
                "usage", f"{where}: unknown key {unknown[0]!r}; known: {', '.join(KEYS)}, or a whole reply"
            )
        return Turn(_told(line), tuple(line.get("quirks", ())))
    except (msgspec.ValidationError, TypeError, KeyError, UsageError) as error:
        raise UsageError("usage", f"{where}: {error}") from None


def _told(line: dict[str, Any]) -> Reply | None:
    blocks: list[Content] = []
    if line.get("thinking"):
        blocks.append(Reasoning(text=line["thinking"]))
    if line.get("text"):
        blocks.append(Text(text=line["text"]))
    calls = line.get("calls", ())
    for number, call in enumerate(calls, 1):
        hold(f"calls[{number - 1}]", call, dict, "an object of name, arguments and id")
        blocks.append(ToolCall.of(call.get("id", f"call_{number}"), call["name"], call.get("arguments", {})))
    if not blocks:
        return None
    usage = msgspec.convert(line["usage"], Usage) if "usage" in line else None
    stop = msgspec.convert(line.get("stop", "tool_calls" if calls else "end"), StopReason)
    return reply(tuple(blocks), stop, usage)


def _said(message: Message) -> str:
    texts = [block.text for block in message.content if isinstance(block, Text)]
    for block in message.content:
        if isinstance(block, ToolResult):
            texts += [part.text for part in block.content if isinstance(part, Text)]
    return "\n".join(texts)
