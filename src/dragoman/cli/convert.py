"""`dragoman convert`: a request, reply, stream or error from one wire format to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from dragoman.cli.output import note_lines, tell
from dragoman.convert import UNIFIED, Job, Op, convert, convert_line
from dragoman.dialect.find import named
from dragoman.errors import LossyError, RemoteError, UsageError
from dragoman.types.note import Note
from dragoman.wire import LIBRARY, jsonio
from dragoman.wire.jsonio import MAX_BYTES

FORMS = (*LIBRARY, UNIFIED)


@click.command("convert")
@click.argument("op", type=click.Choice(["request", "reply", "stream", "error"]), required=False)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--from", "source", type=click.Choice(LIBRARY), help="The wire format of the input.")
@click.option("--to", "target", type=click.Choice(FORMS), help="The wire format to write, or the middle format.")
@click.option("--strict", is_flag=True, help="Refuse any loss: exit 3 and write nothing.")
@click.option("--dialect", help="The server whose dialect is written (a request) or read (an answer).")
@click.option("--max-bytes", type=int, default=MAX_BYTES, show_default=True, help="The largest input to read.")
@click.option("--jsonl", is_flag=True, help="One JSON job a line in, one result a line out, in the same order.")
def command(
    *,
    op: Op | None,
    file: Path,
    source: str | None,
    target: str | None,
    strict: bool,
    dialect: str | None,
    max_bytes: int,
    jsonl: bool,
) -> None:
    """Convert OP (request, reply, stream or error) read from FILE, or from standard input.

    The converted body goes to standard output, what was not carried over as it stood to standard error.
    """
    if jsonl:
        _lines(file, op, max_bytes)
        return
    if op is None or source is None or target is None:
        raise UsageError("usage", "say what to convert: dragoman convert request --from chat --to messages FILE")
    if dialect is not None:
        named(dialect, target if op == "request" and target != UNIFIED else source)
    body = _read(file, max_bytes)
    job = Job(op=op, source=source, target=target, body=body, provider=dialect, strict=strict)
    try:
        result = convert(job)
    except LossyError as error:
        _tell(error.notes)
        raise
    sys.stdout.buffer.write(result.body)
    if sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    sys.stdout.flush()
    _tell(result.notes)


def _lines(file: Path, op: str | None, max_bytes: int) -> None:
    """Every line gets an answer line, whatever is in it; a jsonl file may stand where OP does."""
    if op is not None:
        raise UsageError("usage", "with --jsonl each line names its own op: leave OP away")
    stream = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    with stream:
        for line in stream:
            if line.strip():
                answer = convert_line(line) if len(line) <= max_bytes else _too_long(len(line), max_bytes)
                sys.stdout.buffer.write(answer + b"\n")
                sys.stdout.buffer.flush()


def _too_long(size: int, max_bytes: int) -> bytes:
    message = f"a line of {size} bytes, the limit is {max_bytes}"
    return jsonio.encode({"id": None, "body": None, "notes": [], "error": {"code": "too_large", "message": message}})


def _read(file: Path, max_bytes: int) -> bytes:
    stream: BinaryIO = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    with stream:
        body = stream.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise RemoteError("too_large", f"the input is larger than {max_bytes} bytes: raise --max-bytes to read it")
    return body


def _tell(notes: tuple[Note, ...]) -> None:
    for line in note_lines(notes):
        tell(line)
