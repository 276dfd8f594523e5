"""`dragoman show --prompt`: what a local model reads, and what is read in what it says."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path

import click

from dragoman.cli.output import dimmed, plain
from dragoman.transport.clock import SYSTEM
from dragoman.types.content import Reasoning, Text, ToolCall
from dragoman.types.note import show_path
from dragoman.types.request import Request
from dragoman.wire import jsonio


def show_prompt(request: Request, template: Path | None, as_json: bool) -> None:
    """Print `request` through the template of a file, or of the installed local model. Raises UsageError and ApiError."""
    from dragoman.engine.parsers.formats import picked
    from dragoman.engine.resolve import find
    from dragoman.engine.shown import Spoken, shown
    from dragoman.engine.template import of_file

    made = of_file(find("local", os.environ).path if template is None else template)
    format = picked(made.source)
    seen = shown(made, format, request, datetime.fromtimestamp(SYSTEM.date()).astimezone())
    if as_json:
        sys.stdout.buffer.write(jsonio.encode({"format": format.name, "shown": seen}) + b"\n")
        return

    def turn(spoken: Spoken) -> list[str]:
        title = dimmed(f"== messages[{spoken.at}], the model's own text, read as {format.name}", sys.stdout)
        if spoken.raw is None:
            return [title, "(this template writes an earlier turn otherwise than the model said it)"]
        return [title, spoken.raw, *(f"   {_block(block)}" for block in spoken.blocks)]

    lines = [dimmed("== the prompt", sys.stdout), seen.prompt]
    for spoken in seen.spoken:
        lines += ["", *turn(spoken)]
    lines += [f"note: {show_path(note.path)} {note.action}: {note.reason}" for note in seen.notes]
    click.echo("\n".join(map(plain, lines)) if sys.stdout.isatty() else "\n".join(lines))


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
