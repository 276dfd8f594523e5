"""`dragoman show --prompt`: what a local model reads, and what is read in what it says."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.output import dimmed, plain
from dragoman.cli.settings import environment
from dragoman.errors import UsageError
from dragoman.transport.clock import SYSTEM
from dragoman.types.content import Reasoning, Text, ToolCall
from dragoman.types.note import show_path
from dragoman.types.request import Request
from dragoman.wire import jsonio

if TYPE_CHECKING:
    from dragoman.engine.speaker import Speaker


def show_prompt(request: Request, model: str | None, template: Path | None, as_json: bool) -> None:
    """Print `request` as `model` reads it, through the template of a file where one is named. Raises UsageError and
    ApiError."""
    from dragoman.engine.shown import Spoken, shown

    speaker = _speaker(model, template)
    name = speaker.format.name
    seen = shown(speaker, request, datetime.fromtimestamp(SYSTEM.date()).astimezone())
    if as_json:
        sys.stdout.buffer.write(jsonio.encode({"format": name, "shown": seen}) + b"\n")
        return

    def turn(spoken: Spoken) -> list[str]:
        title = dimmed(f"== messages[{spoken.at}], the model's own text, read as {name}", sys.stdout)
        if spoken.raw is None:
            return [title, "(this template writes an earlier turn otherwise than the model said it)"]
        return [title, spoken.raw, *(f"   {_block(block)}" for block in spoken.blocks)]

    lines = [dimmed("== the prompt", sys.stdout), seen.prompt]
    for spoken in seen.spoken:
        lines += ["", *turn(spoken)]
    lines += [f"note: {show_path(note.path)} {note.action}: {note.reason}" for note in seen.notes]
    click.echo("\n".join(map(plain, lines)) if sys.stdout.isatty() else "\n".join(lines))


def _speaker(model: str | None, template: Path | None) -> Speaker:
    """The template and the format of a model; those of a file alone where no model is named, else the installed one's."""
    from dragoman.client.named import Texted, settle
    from dragoman.config import Taught
    from dragoman.engine.model import LocalModel
    from dragoman.engine.resolve import speaker

    if model is None and template is not None:
        return speaker(template.stem, Taught(file=str(template)))
    found: Any = settle(model or "local", environment(), template=template, keyless=True)
    if isinstance(found, Texted):
        found = found.wire
    elif not isinstance(found, LocalModel):
        raise UsageError("usage", f"{model}: its service makes the prompt; --prompt is for local and URL#text:MODEL")
    return found.speaker


def _block(block: object) -> str:
    match block:
        case Text(text=text):
            return f"text       {text!r}"
        case Reasoning(text=text):
            return f"reasoning  {text!r}"
        case ToolCall(name=name, arguments=arguments):
            return f"tool call  {name} {arguments}"
        case _:
            return type(block).__name__
