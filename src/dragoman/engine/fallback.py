"""How a conversation with tools is put to a model that was never taught any (pure functions).

Its chat template knows no tools: a result shown as a user's turn, as a `<tool_response>` or as a context before the
question makes a model of 135M parameters echo the JSON or invent an answer (`npm start` for a file that says
`npm run dev`). What does work is to let it speak of the call and the result itself, in its own turn, and go on:

    <user> Read README.md and tell me how to start this project.
    <assistant> Let me use read README.md. The result is: "To start the project run: npm run dev" So according to the
    result, ▮

Of 30 questions over short results (temperature 0, no system prompt) the model that we install answers 17 rightly
when the result is followed by `So` and 21 with `So according to the result,`. The reply that the user sees is what the
model adds, as a sentence (`said`); the words put into its mouth are not part of it. Nothing leads it to an answer: it
may still say `npm start`.

The call itself is made in the model's own turn as well, behind the question it answers (`call_opening`). Of 30 tasks
with two to four tools it chose 27 tools and copied 11 arguments exactly; with the tools in a system prompt 19 and 10.
With one tool, and so no choice to make, it copied 15 of 28. A name that is not ASCII it cannot copy at all. Whoever
needs more brings a bigger model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from dragoman.types.content import (
    Content,
    Foreign,
    Json,
    Media,
    Reasoning,
    Refusal,
    ResultContent,
    Text,
    ToolCall,
    ToolResult,
    ToolsChange,
    Valid,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.tool import Tool
from dragoman.wire.base import Notes

Turn: TypeAlias = dict[str, str]

CONCLUDE = "So according to the result,"
REPEATS = (f'" {CONCLUDE}', CONCLUDE)  # stop texts: it has begun to say the result over again
RESULT_MAX = 2000
MEDIA = "({kind} omitted: the model sees text only)"


def turns(messages: Sequence[Message]) -> list[Turn]:
    """The conversation as turns of plain text; calls and their results stand inside the assistant's own.

    The last turn is the assistant's, and open, when the last message holds results: the model goes on from there. An
    empty system turn is added when there is none, for templates put words of their own in its place.
    """
    said: list[tuple[str, list[str]]] = []
    calls = _calls(messages)
    for message in messages:
        for role, text in _parts(message, calls):
            if said and said[-1][0] == role:
                said[-1][1].extend((_between(role), text))
            else:
                said.append((role, [text]))
    spoken = [{"role": role, "content": "".join(pieces)} for role, pieces in said]
    if awaits_conclusion(messages):
        spoken[-1]["content"] += f" {CONCLUDE}"
    if not spoken or spoken[0]["role"] != "system":
        spoken.insert(0, {"role": "system", "content": ""})
    return spoken


def tell(messages: Sequence[Message], notes: Notes) -> None:
    """What these turns do not say, or say otherwise."""
    answered = {block.call_id for message in messages for block in message.content if isinstance(block, ToolResult)}
    for at, message in enumerate(messages):
        for inner, block in enumerate(message.content):
            path = ("messages", at, "content", inner)
            if isinstance(block, ToolCall) and block.id not in answered:
                notes.add(path, "dropped", "a call is told with its result, and it has none")
            elif isinstance(block, ToolResult):
                said = "the template knows no calls: the model says them and their results in its own words"
                notes.add(("messages",), "substituted", said, loss=False)
                if len(_result(block)) > RESULT_MAX:
                    notes.add(path, "clamped", f"a model of little room: {RESULT_MAX} characters of it are shown")
                for place, part in enumerate(block.content):
                    _tell(part, notes, (*path, "content", place))
            else:
                _tell(block, notes, path)


def awaits_conclusion(messages: Sequence[Message]) -> bool:
    """Whether the last thing that happened is a tool's result."""
    return bool(messages) and bool(messages[-1].content) and isinstance(messages[-1].content[-1], ToolResult)


def call_turns(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Turn]:
    """The turns before a call: the last is the assistant's, and ends where the JSON of the call begins."""
    spoken = turns(messages)
    opening = call_opening(_task(messages), tools)
    if spoken[-1]["role"] == "assistant":
        spoken[-1]["content"] = spoken[-1]["content"].removesuffix(CONCLUDE).rstrip() + f" {opening}"
    else:
        spoken.append({"role": "assistant", "content": opening})
    return spoken


def call_opening(task: str, tools: Sequence[Tool]) -> str:
    """The assistant's words before its call: the tools by name where there is a choice, and the task once more."""
    names = f"I can call {', '.join(tool.name for tool in tools)}. " if len(tools) > 1 else ""
    return f'{names}The task is: "{_safe(task)}" The call, with the same words as the task, is: '


def said(text: str) -> tuple[str, bool]:
    """What the model went on with, as a sentence of its own, and whether it has come to its end.

    It begins with a capital and ends with its paragraph; a colon at the end of a line leads on to the next, and fences
    around code are dropped. The sentence of a longer `text` begins with that of a shorter one, so it can be streamed.
    """
    lines = text.lstrip(" ,:\n").split("\n")
    sentence, ended = "", False
    for number, line in enumerate(lines):
        line = line.strip() if number else line.rstrip()
        if not line or line.startswith("```") or (line in ("`", "``") and number == len(lines) - 1):
            continue
        if sentence and not sentence.endswith(":"):
            ended = True
            break
        sentence = f"{sentence} {line}" if sentence else line
    else:
        ended = len(lines) > 1 and bool(sentence) and not lines[-1].strip() and not sentence.endswith(":")
    return sentence[:1].upper() + sentence[1:], ended


def _calls(messages: Sequence[Message]) -> dict[str, ToolCall]:
    """By their ids; of several with one id the first."""
    calls = [block for message in messages for block in message.content if isinstance(block, ToolCall)]
    return {call.id: call for call in reversed(calls)}


def _parts(message: Message, calls: Mapping[str, ToolCall]) -> Iterator[tuple[str, str]]:
    role = {"developer": "system", "tool": "user"}.get(message.role, message.role)
    for block in message.content:
        if isinstance(block, ToolResult):
            yield "assistant", f'{_use(block, calls)} The result is: "{_safe(_short(_result(block)))}"'
        elif text := _text(block):
            yield role, _safe(text)


def _tell(block: Content | ResultContent, notes: Notes, path: Path) -> None:
    match block:
        case Reasoning():
            notes.add(path, "dropped", "the template shows no reasoning")
        case Media(kind=kind) if block.text is None:
            notes.add(path, "substituted", f"this model reads text only: the {kind} is left out")
        case Foreign(kind=kind):
            notes.add(path, "dropped", f"{kind} has no words")
        case ToolsChange():
            notes.add(path, "dropped", "the model's template knows no tools")
        case _ if _safe(_text(block)) != _text(block):
            notes.add(path, "substituted", "marks that would open a turn are split", loss=False)
        case _:
            pass


def _between(role: str) -> str:
    return " " if role == "assistant" else "\n"


def _use(result: ToolResult, calls: Mapping[str, ToolCall]) -> str:
    """The call of a result in words; `Let me use read README.md.`"""
    call = calls.get(result.call_id)
    if call is None:
        return f"Let me use {result.name or 'a tool'}."
    return f"Let me use {call.name} {_safe(_values(call))}".rstrip(" .") + "."


def _values(call: ToolCall) -> str:
    found = call.parsed()
    if not isinstance(found, Valid):
        return " ".join(call.arguments.split())
    values = found.arguments.values()
    return " ".join(value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)


def _result(result: ToolResult) -> str:
    return " ".join(" ".join(_text(block) for block in result.content).split())


def _text(block: Content | ResultContent) -> str:
    match block:
        case Text(text=text) | Refusal(text=text) | Media(text=str(text)):
            return text
        case Json(value=value):
            return value
        case Media(kind=kind):
            return MEDIA.format(kind=kind)
        case _:
            return ""


def _short(text: str) -> str:
    """A long result by its head and tail, and it says so: this rendering is for models of little room."""
    if len(text) <= RESULT_MAX:
        return text
    head, tail = RESULT_MAX * 3 // 4, RESULT_MAX // 4
    return f"{text[:head]} … ({len(text) - head - tail} characters left out) … {text[-tail:]}"


def _task(messages: Sequence[Message]) -> str:
    asked = (message for message in reversed(messages) if message.role == "user")
    return next((" ".join(message.text.split()) for message in asked), "")


def _safe(text: str) -> str:
    """A file or a user that writes `<|im_start|>` must not open a turn: such marks are split."""
    return text.replace("<|", "< |").replace("|>", "| >")
