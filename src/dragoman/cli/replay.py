"""`dragoman replay`: a recording, as a list, one exchange of it, or as a server that gives its answers again.

On stdout: the list, the exchange, or the models to ask for. With --json each of these is JSON.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from dragoman.cli.columns import columns
from dragoman.cli.output import dimmed, one_line, say, tell
from dragoman.errors import UsageError
from dragoman.transport.recording import Recorded, read
from dragoman.wire import jsonio


@click.command("replay")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("number", type=int, required=False)
@click.option("--serve", is_flag=True, help="Give the recorded answers on 127.0.0.1, until interrupted.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where it listens. [default: a free one]")
@click.option("--timing", is_flag=True, help="With --serve: each piece when it came.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(*, folder: Path, number: int | None, serve: bool, port: int, timing: bool, as_json: bool) -> None:
    """List the recording in FOLDER, show the exchange NUMBER of it, or serve it.

    A model records with record=FOLDER, `dragoman run` with --record FOLDER. While served, a request is answered by the
    recorded one that says the same, in recorded order and the last one ever after; another is refused: what is nearest,
    and where it differs.
    """
    if serve and number is not None:
        raise UsageError("usage", "--serve serves all of a recording: leave the number out")
    if (timing or port) and not serve:
        raise UsageError("usage", "--timing and --port go with --serve")
    if serve:
        _serve(folder, port, timing, as_json)
    elif number is None:
        recorded = read(folder)
        say(jsonio.text([_row(each) for each in recorded]) if as_json else "\n".join(_table(recorded)))
    else:
        shown = _one(read(folder), number, folder)
        say(jsonio.text(_whole(shown)) if as_json else "\n".join(_lines(shown)))


def _serve(folder: Path, port: int, timing: bool, as_json: bool) -> None:
    from dragoman.testing.replayed import ReplayProvider

    stop = Event()
    with ReplayProvider(folder, port=port, timing=timing, again=True, pause=stop.wait) as served:
        try:
            say(jsonio.text({"url": served.url, "models": served.specs}) if as_json else "\n".join(served.specs))
            tell(f"serving {folder} at {served.url}; interrupt to stop", dim=True)
            stop.wait()
        finally:
            stop.set()  # for answers that pause


def _one(recorded: list[Recorded], number: int, folder: Path) -> Recorded:
    for each in recorded:
        if each.number == number:
            return each
    raise UsageError("usage", f"{folder} has no exchange {number}: `dragoman replay {folder}` lists them")


def _row(each: Recorded) -> dict[str, Any]:
    """An exchange in the list."""
    asked = each.asked if isinstance(each.asked, dict) else {}
    return {
        "number": each.number,
        "date": datetime.fromtimestamp(each.date, UTC).isoformat(timespec="milliseconds"),
        "method": each.request.method,
        "url": each.request.path,
        "wire": each.wire,
        "model": asked.get("model"),
        "sent": len(each.request.body),
        "status": each.status,
        "received": len(each.body),
        "pieces": len(each.pieces),
        "first": each.pieces[0].at if each.pieces else None,
        "total": each.end.at,
        "end": each.end.how,
        "code": each.end.code,
        "message": each.end.message,
    }


def _table(recorded: list[Recorded]) -> list[str]:
    """The list for people."""
    head = ("", "date (UTC)", "request", "model", "sent", "status", "received", "pieces", "first", "total", "end")
    rows: list[tuple[str, ...]] = [head]
    for each in recorded:
        row = _row(each)
        code = f" {each.end.code}" if each.end.code else ""
        rows.append(
            (
                f"{each.number:06}",
                str(row["date"])[:19].replace("T", " "),
                f"{each.request.method} {urlsplit(each.request.path).path}",
                one_line(str(row["model"] or "-"), 40),
                f"{row['sent']} B",
                str(each.status or "-"),
                f"{row['received']} B",
                str(len(each.pieces)),
                _time(row["first"]),
                _time(each.end.at),
                f"{each.end.how}{code}",
            )
        )
    lines = columns(rows)
    return [dimmed(lines[0], sys.stdout), *lines[1:]]


def _whole(each: Recorded) -> dict[str, Any]:
    """One exchange as JSON: bodies as JSON where they are, else as text."""
    body = each.body
    return {
        **_row(each),
        "request": {"headers": each.request.headers, "body": _readable(each.request.body)},
        "response": {"headers": each.headers, "body": _readable(body)},
        "times": [(piece.at, len(piece.data)) for piece in each.pieces],
    }


def _lines(each: Recorded) -> list[str]:
    """One exchange for people."""
    lines = [dimmed(f"== {each.number:06}: {each.request.method} {each.request.path}", sys.stdout)]
    lines += [f"{name}: {value}" for name, value in each.request.headers]
    lines += ["", *_formatted(each.request.body), ""]
    begun = f"== {each.status} after {_time(each.began)}" if each.began is not None else "== no answer"
    lines.append(dimmed(begun, sys.stdout))
    lines += [f"{name}: {value}" for name, value in each.headers]
    lines += ["", *(_formatted(each.body) if _is_json(each.body) else _timed(each)), ""]
    told = f": {each.end.code}: {each.end.message}" if each.end.code else ""
    return [*lines, dimmed(f"== {each.end.how} after {_time(each.end.at)}{told}", sys.stdout)]


def _timed(each: Recorded) -> list[str]:
    """Each piece after the time it came at."""
    lines: list[str] = []
    for piece in each.pieces:
        text = piece.data.decode("utf-8", "replace").strip("\n").split("\n")
        lines += [f"{_time(piece.at):>9}  {text[0]}", *(f"{'':9}  {line}" for line in text[1:])]
    return lines


def _formatted(body: bytes) -> list[str]:
    if _is_json(body):
        return msgspec.json.format(body, indent=2).decode("utf-8", "replace").split("\n")
    return body.decode("utf-8", "replace").split("\n") if body else []


def _readable(body: bytes) -> Any:
    return jsonio.decode(body)[0] if _is_json(body) else body.decode("utf-8", "replace")


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.1f} ms"
