"""A conversation as a local model has it: the prompt, and each of its turns as raw text beside what is read in it."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from dragoman.engine.capable import ANSWER, NEW_YEAR, SAID, USER
from dragoman.engine.parsers.formats import Format
from dragoman.engine.parsers.parser import Parser
from dragoman.engine.speaker import Speaker
from dragoman.engine.template import Template
from dragoman.types.base import Value
from dragoman.types.collect import Collector
from dragoman.types.content import Content
from dragoman.types.events import Finish
from dragoman.types.note import Note
from dragoman.types.reply import Stop
from dragoman.types.request import Request
from dragoman.types.tool import Tool


class Spoken(Value, frozen=True, kw_only=True):
    """The assistant's turn at `messages[at]`: the text by which the model says it, and the blocks that are read in it.

    `raw` is None where the template writes a turn of the past otherwise than the model said it (its reasoning left out).
    """

    at: int
    raw: str | None
    blocks: tuple[Content, ...] = ()


class Shown(Value, frozen=True, kw_only=True):
    """The whole prompt, with the next turn opened where it is the model's; its turns so far; what was not told to it."""

    prompt: str
    spoken: tuple[Spoken, ...]
    notes: tuple[Note, ...] = ()


def shown(speaker: Speaker, request: Request, now: datetime) -> Shown:
    """`request` as the model of `speaker` would read it, and its turns so far read back. Raises ApiError where the template
    refuses it, or a tool choice wants a call that nobody can make."""
    closing = _closing(speaker.template)
    spoken: list[Spoken] = []
    for at, message in enumerate(request.messages):
        if message.role == "assistant":
            raw = _raw(speaker, request, at, now)
            text = None if raw is None else raw.removesuffix(closing)
            spoken.append(Spoken(at=at, raw=raw, blocks=() if text is None else _read(speaker.format, request, text)))
    is_open = not request.messages or request.messages[-1].role != "assistant" or request.messages[-1].prefill is True
    if is_open:
        turn = speaker.turn(request, now)
        return Shown(prompt=turn.asked.prompt, spoken=tuple(spoken), notes=turn.notes)
    whole = speaker.prompt(request, now, open_turn=False)
    return Shown(prompt=whole.text, spoken=tuple(spoken), notes=whole.notes)


def _raw(speaker: Speaker, request: Request, at: int, now: datetime) -> str | None:
    before = replace(request, messages=request.messages[:at], tool_choice=None)
    behind = replace(request, messages=request.messages[: at + 1], tool_choice=None)
    end = speaker.prompt(behind, now, open_turn=False).text
    closed = speaker.prompt(before, now, open_turn=False).text
    opened = speaker.prompt(before, now).text
    if end.startswith(opened):
        return end[len(opened) :]
    if not (end.startswith(closed) and opened.startswith(closed)):
        return None
    header = opened[len(closed) :]  # it may begin a thought, of which a turn of the past has none
    if speaker.format.think is not None:
        header = header.partition(speaker.format.think[0])[0]
    return end[len(closed) :].removeprefix(header)


def _closing(template: Template) -> str:
    """What a template writes behind the assistant's last word."""
    return template.render([USER, ANSWER], now=NEW_YEAR, open_turn=False).partition(SAID)[2]


def _read(format: Format, request: Request, text: str) -> tuple[Content, ...]:
    tools = {tool.name: tool for tool in request.tools or () if isinstance(tool, Tool)}
    parser, collector = Parser(format, tools, seed="shown"), Collector()
    for event in (*parser.feed(text), *parser.close(), Finish(stop=Stop(reason="end"))):
        collector.feed(event)
    return collector.reply.message.content
