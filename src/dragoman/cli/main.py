"""The frame of the command line: the commands, the exit codes, and what people see when something fails.

Exit codes: 0 done · 1 the model, the service or a tool failed · 2 wrong usage or unreadable input · 3 strict mode refused ·
4 permission denied or a limit reached · 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

from dragoman import __version__
from dragoman.cli.output import tell, use_utf8
from dragoman.errors import ApiError, Cancelled, DragomanError, LossyError, UsageError, WireError

FAILED, WRONG_USAGE, REFUSED, LIMITED, INTERRUPTED = 1, 2, 3, 4, 130
# An error that no row names is exit 1. A WireError that comes this far is the user's input: what a service sends is
# an outcome of its command.
EXITS: tuple[tuple[type[DragomanError], int], ...] = (
    (UsageError, WRONG_USAGE),
    (WireError, WRONG_USAGE),
    (LossyError, REFUSED),
    (Cancelled, INTERRUPTED),
)
UNREADABLE = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
ISSUES = "please report it, with DRAGOMAN_DEBUG=1 set for the details"


class Entry(NamedTuple):
    """A command: the module that holds it as `command`, and its line in the help."""

    module: str
    help: str


COMMANDS: dict[str, Entry] = {
    "run": Entry("dragoman.cli.run", "Give a model a task and tools to do it with."),
    "chat": Entry("dragoman.cli.chat", "Talk with a model, and go on another day."),
    "session": Entry("dragoman.cli.session", "List, show, fork, export and import conversations."),
    "show": Entry("dragoman.cli.show", "Show a saved conversation in the wire formats."),
    "convert": Entry("dragoman.cli.convert", "Translate a request or a reply from one wire format to another."),
    "lint": Entry("dragoman.cli.lint", "Say what a service would refuse in a conversation, and mend it."),
    "explain": Entry("dragoman.cli.explain", "Say what a service's refusal means, and what to do."),
    "schema": Entry("dragoman.cli.schema", "Write a JSON Schema in the form that a service takes."),
    "providers": Entry("dragoman.cli.providers", "List who can be asked, and whether a key is there."),
    "models": Entry("dragoman.cli.models", "List what is known of models, and what they cost."),
    "check": Entry("dragoman.cli.check", "Check whether a model can be reached, and what it can do."),
    "cost": Entry("dragoman.cli.cost", "Say what calls used and cost."),
    "doctor": Entry("dragoman.cli.doctor", "Find what keeps a prompt cache from being hit."),
    "serve": Entry("dragoman.cli.serve", "Serve any model to clients of any wire."),
    "fake": Entry("dragoman.cli.fake", "Be a provider that misbehaves on purpose, for tests."),
    "replay": Entry("dragoman.cli.replay", "List a recording, show an exchange of it, or serve it again."),
    "local": Entry("dragoman.cli.local", "Install and try the local model."),
}


class LazyGroup(click.Group):
    """Commands by name; a module is imported when its command is used, not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None for an unknown one."""
        entry = COMMANDS.get(cmd_name)
        return import_module(entry.module).command if entry else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="dragoman %(version)s")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A dragoman.toml, instead of the one in your configuration folder. [DRAGOMAN_CONFIG]",
)
@click.pass_context
def group(context: click.Context, config: Path | None) -> None:
    """Any agent, any language model, any wire format; nothing lost unless it says so."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; every failure is one line on stderr, never a traceback."""
    use_utf8()
    try:
        code = group.main(args=list(arguments), prog_name="dragoman", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        tell(f"dragoman: {error.format_message()}{_help_hint(error)}")
        return WRONG_USAGE
    except (click.Abort, KeyboardInterrupt):
        tell("dragoman: interrupted")
        return INTERRUPTED
    except DragomanError as error:
        tell(f"dragoman: {error.message}")
        return exit_code(error)
    except BrokenPipeError:  # whoever read us has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        tell(f"dragoman: {place}{error.strerror or error}")
        return WRONG_USAGE if isinstance(error, UNREADABLE) else FAILED
    except Exception as error:
        if os.environ.get("DRAGOMAN_DEBUG") == "1":
            raise
        tell(f"dragoman: a bug in dragoman {__version__}: {type(error).__name__}: {error} ({ISSUES})")
        return FAILED
    return code if isinstance(code, int) else 0


def exit_code(error: DragomanError) -> int:
    """The exit code of one of our errors: the one table."""
    if error.code in ("limit", "permission") and not isinstance(error, ApiError):
        return LIMITED
    return next((code for kind, code in EXITS if isinstance(error, kind)), FAILED)


def _help_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see: {context.command_path} --help)" if context is not None else ""
