"""`dragoman chat`: a conversation with a model, and tools that ask before they change anything.

On stdout what the model says and what its tools gave, as `dragoman run` shows it; on stderr everything about it. Lines are
read from the terminal, or from a pipe, one message a line; a line that ends in a backslash goes on in the next one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, Unpack

import click

from dragoman.cli import sessions
from dragoman.cli.output import tell, typed
from dragoman.cli.run import MODEL_ENV, choose_model
from dragoman.cli.settings import environment
from dragoman.cli.talk import Talk, TalkOptions
from dragoman.errors import DragomanError
from dragoman.tools.coding import TOOLS
from dragoman.tools.words import closest

PROMPT = "> "
HELP = """\
/model NAME   go on with another model: local, PROVIDER/MODEL or URL#WIRE:NAME; without a name, which one it is
/cost         what this conversation used and cost
/undo         take back the last round of the conversation; files and whatever tools did stay as they are
/session      where this conversation is kept
/help         this
/quit         leave; Ctrl-D as well. Ctrl-C stops an answer and keeps what was said"""


class ChatOptions(TypedDict):
    """The options of `dragoman chat`."""

    model: str | None
    tools: str
    system: str | None
    session: Path | None
    again: bool
    record: Path | None
    ledger: bool
    compact: bool
    max_steps: int
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    trace: bool


@click.command("chat")
@click.option("--model", metavar="MODEL", help=f"Which model: local, PROVIDER/MODEL or URL#WIRE:NAME. [{MODEL_ENV}]")
@click.option(
    "--tools", metavar="NAMES", default="none", show_default=True, help=f"By comma: {', '.join(TOOLS)}; or all."
)
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option(
    "--session", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Keep it in this file."
)
@click.option("--continue", "again", is_flag=True, help="Go on with the last session.")
@click.option(
    "--record", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Keep what is sent and got."
)
@click.option("--ledger/--no-ledger", default=True, help="Keep what it used and cost, never what was said.")
@click.option("--compact/--no-compact", default=True, help="Sum up the oldest rounds when it grows too long.")
@click.option("--max-steps", type=click.IntRange(min=1), default=20, show_default=True, help="Replies a turn at most.")
@click.option(
    "--allow", multiple=True, metavar="RULE", help="Let calls run unasked: edit, edit:src/*, 'shell:git status*'."
)
@click.option("--deny", multiple=True, metavar="RULE", help="Let calls never run. Beats --allow.")
@click.option("--trace", is_flag=True, help="Each request's messages and each step, on stderr.")
def command(**options: Unpack[ChatOptions]) -> int:
    """Talk with a model. /help says what else can be typed.

    The conversation is kept in a file, whatever happens; --continue goes on with the last one.
    """
    env = environment()
    system = options["system"]
    with sessions.chosen(options["session"], env, again=options["again"]) as session:
        for line in sessions.told(session):
            tell(line)
        spec = options["model"] or session.tale.model
        made = TalkOptions(
            tools=options["tools"],
            record=options["record"],
            ledger=options["ledger"],
            compact=options["compact"],
            max_steps=options["max_steps"],
            allow=options["allow"],
            deny=options["deny"],
            trace=options["trace"],
        )
        with Talk(session, env, made) as talk:
            talk.system(None if system is None else typed(system))
            talk.model(choose_model(spec, env))
            rounds = sum(message.role == "user" for message in session.tale.history)
            went = f", {rounds} message{'s' * (rounds > 1)} of yours so far" if rounds else ""
            tell(f"{talk.spec}{went}; /help says what can be typed", dim=True)
            return _loop(talk)


def _loop(talk: Talk) -> int:
    """Read lines and answer them until there are no more; the exit code is that of the last answer, for scripts."""
    terminal = sys.stdin.isatty()
    code = 0
    while (line := read(terminal=terminal)) is not None:
        said = line.strip()
        if said in ("/quit", "/exit"):
            break
        if said.startswith("/") and not said.startswith("//"):
            commanded(talk, said)
        elif said:
            code = talk.turn(line.removeprefix("/") if said.startswith("//") else line)
    return 0 if terminal else code


def read(*, terminal: bool) -> str | None:
    """One message; None at the end of the input."""
    lines: list[str] = []
    while True:
        try:
            line = input(PROMPT if not lines else "… ") if terminal else next(iter(sys.stdin.readline, ""), None)
        except EOFError:
            tell("")
            line = None
        except KeyboardInterrupt:
            tell("")
            tell("/quit or Ctrl-D leaves")
            lines.clear()
            continue
        if line is None:
            return "\n".join(lines) or None
        line = typed(line.removesuffix("\n"))
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])


def commanded(talk: Talk, said: str) -> None:
    """Do what a line that begins with a slash says; what goes wrong is one line, and the conversation goes on."""
    name, _, rest = said[1:].partition(" ")
    commands: dict[str, Callable[[str], object]] = {
        "model": talk.switch,
        "cost": lambda _: talk.cost(),
        "undo": lambda _: talk.undo(),
        "session": lambda _: tell(str(talk.session.path)),
        "help": lambda _: [tell(line) for line in HELP.splitlines()],
    }
    do = commands.get(name)
    if do is None:
        near = closest(name, commands)
        meant = f": did you mean /{near}?" if near else "; /help says what there is"
        tell(f"there is no /{name}{meant} (// begins a message with a slash)")
        return
    try:
        do(rest.strip())
    except DragomanError as error:
        tell(f"dragoman: {error.message}")
