"""`dragoman explain`: what a service's refusal means, where in the request, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.output import one_line, say
from dragoman.dialect.find import named
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import ApiError, Explanation
from dragoman.explain import Asked, Lesson, explain, lesson
from dragoman.types.note import show_path
from dragoman.types.save import is_saved, loads
from dragoman.wire import LIBRARY, find, jsonio
from dragoman.wire.base import Exchange, Http

UNKNOWN = 1


@click.command("explain")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--wire", type=click.Choice(LIBRARY), default="chat", show_default=True, help="The wire it came over.")
@click.option("--dialect", metavar="NAME", help="The server's row, such as groq.")
@click.option("--status", type=click.IntRange(400, 599), default=400, show_default=True, help="Its HTTP status.")
@click.option(
    "--request", "asked", type=click.Path(path_type=Path), help="What was asked: a raw body, or a saved talk."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
def command(*, file: Path, wire: str, dialect: str | None, status: int, asked: Path | None, as_json: bool) -> int:
    """Say what the error body in FILE means: its cause, its place, what to do, and the source of that.

    With --request the place is looked for, and what a model would learn from the refusal is told. Exit 0 when the words
    are known, 1 when they are not, 2 when a file cannot be read.
    """
    facts = named(dialect, wire) if dialect else BASE
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    read = find(wire).decode_error(status, {}, data, facts)
    sent = None if asked is None else asked.read_bytes()
    found = explain(read, None if sent is None else _asked(sent, wire, facts))
    learned = None if sent is None else lesson(read, sent, wire, facts)
    if as_json:
        say(jsonio.text(_told(read, found, learned)))
    else:
        _show(read, found, learned)
    return 0 if found else UNKNOWN


def _asked(data: bytes, wire: str, dialect: Dialect) -> Asked:
    """Raises RemoteError for a file that is no request."""
    body, _ = jsonio.decode(data)
    saved = is_saved(body)
    request = loads(data).request if saved else find(wire).decode_request(Http(body=data), dialect, Exchange()).request
    return Asked(request=request, wire=wire, dialect=dialect)


def _show(read: ApiError, found: Explanation | None, learned: Lesson | None) -> None:
    say(one_line(f"{read.code}: {read.message}"))
    if found is None:
        say("  these words are in no row of the table of causes")
        return
    lines = {"cause": found.cause, "place": show_path(found.path) if found.path else "", "fix": found.fix}
    for name, text in {**lines, "learned": _facts(learned), "source": found.source}.items():
        if text:
            say(f"  {name:8}{one_line(text)}")


def _facts(learned: Lesson | None) -> str:
    facts = {} if learned is None else learned.facts
    return ", ".join(f"{name} = {jsonio.text(value)}" for name, value in facts.items())


def _told(read: ApiError, found: Explanation | None, learned: Lesson | None) -> dict[str, Any]:
    return {
        "code": read.code,
        "message": read.message,
        "retryable": read.retryable,
        "explanation": None if found is None else {**msgspec.to_builtins(found), "path": show_path(found.path)},
        "learned": {} if learned is None else msgspec.to_builtins(learned.facts),
    }
