"""`dragoman session`: the conversations that are kept."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.agent import Session
from dragoman.cli import sessions
from dragoman.cli.output import one_line, say, tell, write_whole
from dragoman.cli.settings import environment
from dragoman.cli.trace import gist
from dragoman.errors import UsageError
from dragoman.types.note import show_path
from dragoman.types.save import dumps

WIDTH = 100
OUT = click.Path(dir_okay=False, path_type=Path)


@click.group("session")
def command() -> None:
    """The conversations that are kept: a file each, of lines that are only ever added.

    SESSION is a file, or the beginning of a name that `dragoman session list` shows.
    """


@command.command("list")
def list_all() -> None:
    """The sessions, the last one first: name, messages, model, and what was asked first."""
    env = environment()
    for path in sessions.all_paths(env):
        tale = Session.open(path).tale
        first = next((gist(message) for message in tale.messages if message.role == "user"), "")
        say(one_line(f"{path.stem}  {len(tale.history)}  {tale.model or '-'}  {first}", WIDTH))


@command.command("show")
@click.argument("session")
def show(session: str) -> None:
    """What was said, one line a message."""
    opened = _opened(session)
    if opened.tale.system:
        say(one_line(f"system: {opened.tale.system}", WIDTH))
    for at, message in enumerate(opened.tale.history):
        if at == opened.tale.cut.upto and opened.tale.cut.summary is not None:
            say(one_line(f"-- sent as a summary up to here: {opened.tale.cut.summary}", WIDTH))
        say(one_line(f"[{at}] {message.role}: {gist(message)}", WIDTH))
    for reply in opened.tale.incomplete:
        say(one_line(f"(broke off) {reply.text}", WIDTH))


@command.command("fork")
@click.argument("session")
@click.option(
    "--to", "to", metavar="FILE", type=OUT, help="The file of the fork; by default a new one beside the others."
)
@click.option("--messages", type=click.IntRange(min=0), metavar="N", help="Its first N messages only.")
def fork(session: str, to: Path | None, messages: int | None) -> None:
    """Begin another conversation where this one stands. This one stays as it is."""
    with _opened(session) as opened, opened.fork(to or sessions.new_path(environment()), messages=messages) as made:
        say(str(made.path))


@command.command("export")
@click.argument("session")
@click.argument("file", type=OUT)
def export(session: str, file: Path) -> None:
    """Write a saved conversation, as `dragoman show`, `convert` and `lint` read it."""
    if not file.parent.is_dir():
        raise UsageError("usage", f"there is no folder {file.parent}")
    write_whole(file, dumps(_opened(session).export()))


@command.command("import")
@click.argument("log", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option("--to", "to", metavar="FILE", type=OUT, help="The file of the session; by default a new one of ours.")
def bring(log: Path, to: Path | None) -> None:
    """Make a session of a session log of Claude Code or Codex; `dragoman chat --continue` goes on with it."""
    from dragoman.logs import read, write

    found = read(log.read_bytes())
    with Session.create(to or sessions.new_path(environment()), parent=f"{found.origin} {log.name}") as session:
        write(found, session)
        for note in found.notes:
            tell(f"note: {show_path(note.path)} {note.action}: {note.reason}")
        tell(f"{len(session.tale.history)} messages of {found.origin}")
        say(str(session.path))


def _opened(said: str) -> Session:
    session = Session.open(sessions.find(said, environment()))
    for line in sessions.told(session):
        tell(line)
    return session
