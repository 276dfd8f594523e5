"""`dragoman schema`: a JSON Schema in the form that a server takes, and what that changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, BinaryIO

import click

from dragoman.cli.output import say, tell
from dragoman.dialect.schema import SUBSETS
from dragoman.wire import jsonio
from dragoman.wire.schema import Compiled, compile
from dragoman.wire.schema.vocabulary import pointer

MAX_BYTES = 16 * 1024 * 1024


@click.command("schema")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--for", "subset", type=click.Choice(list(SUBSETS)), required=True, help="The subset of JSON Schema.")
@click.option("--explain", is_flag=True, help="Say what changes and why, one line each, instead of the schema.")
@click.option("--json", "as_json", is_flag=True, help="With --explain: one JSON object, the schema and the changes.")
def command(*, file: Path, subset: str, explain: bool, as_json: bool) -> None:
    """Write the schema in FILE, or on standard input, in the form that a subset wants.

    The schema goes to standard output, each change that allows more or fewer values to standard error.
    """
    compiled = compile(_read(file), SUBSETS[subset])
    if explain and not as_json:
        for line in compiled.lines:
            say(line)
        return
    whole: Any = _report(compiled) if explain else compiled.schema
    say(jsonio.text(whole))
    if not explain:
        for line in (*(str(change) for change in compiled.changes if change.effect != "same"), *compiled.beyond):
            tell(f"note: {line}")


def _read(file: Path) -> dict[str, Any]:
    stream: BinaryIO = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    with stream:
        return jsonio.decode_object(stream.read(MAX_BYTES + 1), max_bytes=MAX_BYTES)[0]


def _report(compiled: Compiled) -> dict[str, Any]:
    changes = [
        {"path": pointer(change.path), "action": change.action, "reason": change.reason, "effect": change.effect}
        for change in compiled.changes
    ]
    return {"schema": compiled.schema, "changes": changes, "beyond": list(compiled.beyond)}
