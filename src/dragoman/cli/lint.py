"""`dragoman lint`: what a service would refuse in a conversation, and the conversation made fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.output import one_line, tell
from dragoman.dialect.find import named
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import RemoteError
from dragoman.history import Finding, Repaired, check, check_body, repair
from dragoman.types.note import Note, show_path
from dragoman.types.request import Request
from dragoman.types.save import Conversation, dumps, is_saved, loads
from dragoman.wire import LIBRARY, find, jsonio
from dragoman.wire.base import Exchange, Http

FOUND = 1


@click.command("lint")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--for", "target", required=True, metavar="WIRE[/DIALECT]", help="Where it is to be sent.")
@click.option("--from", "source", type=click.Choice(LIBRARY), help="The wire of a raw body, where it is another one.")
@click.option("--fix", is_flag=True, help="Write the repaired conversation or body to standard output.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
def command(*, file: Path, target: str, source: str | None, fix: bool, as_json: bool) -> int:
    """Check FILE, a saved conversation or a raw request body, by the rules of a wire and a server's dialect.

    One line a finding: its rule, its place, what to do. Exit 0 when there is none, 1 when there is one (with --fix: one
    that is left), 2 when the file cannot be read.
    """
    wire, dialect = _where(target)
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    read = _read(data, source or wire, wire)
    findings = (*read.findings, *_further(read, wire, dialect))
    if not fix:
        if as_json:
            _write(_told(file, target, findings))
        else:
            _show(file, target, findings)
        return FOUND if findings else 0
    repaired = repair(read.ready(), wire, dialect)
    body, notes = _fixed(read, repaired, (wire, dialect))
    left = tuple(finding for finding in check(repaired.request, wire, dialect) if finding.severity == "error")
    if as_json:
        _write({**_told(file, target, left), "fixed": msgspec.Raw(body), "notes": [_note(note) for note in notes]})
    else:
        sys.stdout.buffer.write(body)
        if sys.stdout.isatty():
            sys.stdout.buffer.write(b"\n")
        sys.stdout.flush()
        for note in notes:
            tell(f"dragoman: {show_path(note.path)} {note.action}: {note.reason}")
        for finding in left:
            tell(f"dragoman: {_line(finding)}")
    return FOUND if left else 0


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read: the conversation in it (None, and why, where no codec reads it), and a raw body's faults."""

    data: bytes
    source: str
    conversation: Conversation | None = None
    saved: bool = False
    refused: str = ""
    findings: tuple[Finding, ...] = ()

    def ready(self) -> Request:
        """The request to repair. Raises RemoteError where there is none."""
        if self.conversation is None:
            raise RemoteError("bad_shape", f"only people can mend this: {self.refused}")
        return self.conversation.request


def _where(target: str) -> tuple[str, Dialect]:
    """The wire and the dialect of `--for`. Raises UsageError for either unknown."""
    wire, _, name = target.partition("/")
    find(wire)
    return wire, named(name, wire) if name else BASE


def _read(data: bytes, source: str, wire: str) -> Read:
    """Raises RemoteError for a file that is neither a conversation nor a JSON object, or of another wire and unreadable."""
    body, _ = jsonio.decode(data)
    if is_saved(body):
        return Read(data=data, source=source, conversation=loads(data), saved=True)
    findings = check_body(wire, data) if source == wire else ()
    try:
        request = find(source).decode_request(Http(body=data), BASE, Exchange()).request
    except RemoteError as error:
        if not findings:
            raise
        return Read(data=data, source=source, refused=error.message, findings=findings)
    return Read(data=data, source=source, conversation=Conversation(request=request), findings=findings)


def _further(read: Read, wire: str, dialect: Dialect) -> tuple[Finding, ...]:
    """What only the conversation shows: rules that the raw body did not tell already."""
    if read.conversation is None:
        return ()
    told = {finding.rule for finding in read.findings}
    found = check(read.conversation.request, wire, dialect)
    return tuple(finding for finding in found if finding.rule not in told)


def _fixed(read: Read, repaired: Repaired, to: tuple[str, Dialect]) -> tuple[bytes, tuple[Note, ...]]:
    """The file again, repaired: the very same bytes when nothing was to be done."""
    wire, dialect = to
    if read.saved and read.conversation is not None:
        kept = msgspec.structs.replace(read.conversation, request=repaired.request)
        return (dumps(kept) if repaired.notes else read.data), repaired.notes
    if read.source == wire and not repaired.notes:
        return read.data, ()
    sent = find(wire).encode_request(repaired.request, dialect, Exchange())
    written = (msgspec.structs.replace(note, path=repaired.given(note.path)) for note in sent.notes)
    return sent.http.body, (*repaired.notes, *written)


def _show(file: Path, target: str, findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        click.echo(one_line(_line(finding)))
    if not findings:
        click.echo(f"{file}: in order for {target}")


def _line(finding: Finding) -> str:
    mends = " (--fix mends it)" if finding.fixable else ""
    return f"{finding.severity} {finding.rule} {show_path(finding.path)}: {finding.message}{mends}"


def _told(file: Path, target: str, findings: tuple[Finding, ...]) -> dict[str, Any]:
    return {"file": str(file), "for": target, "findings": [_finding(finding) for finding in findings]}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "path": show_path(finding.path),
        "message": finding.message,
        "severity": finding.severity,
        "fixable": finding.fixable,
    }


def _note(note: Note) -> dict[str, Any]:
    return {"path": show_path(note.path), "action": note.action, "reason": note.reason, "loss": note.loss}


def _write(out: dict[str, Any]) -> None:
    sys.stdout.buffer.write(jsonio.encode(out) + b"\n")
    sys.stdout.flush()
