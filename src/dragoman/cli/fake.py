"""`dragoman fake`: a provider on this machine that answers by script and misbehaves as it is told to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import click
import msgspec

from dragoman.cli.output import say, tell
from dragoman.errors import UsageError
from dragoman.testing.fake import FakeProvider
from dragoman.testing.log import Received
from dragoman.testing.quirks import QUIRKS
from dragoman.testing.script import read
from dragoman.wire import LIBRARY, WIRES


@click.command("fake")
@click.option("--wire", type=click.Choice(LIBRARY), default="chat", show_default=True, help="The format it speaks.")
@click.option("--quirk", "quirks", metavar="NAME[:N]", multiple=True, help="How it misbehaves; N: the first N times.")
@click.option(
    "--script", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="What it says, as JSONL."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where it listens. [default: a free one]")
@click.option("--log", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="What it gets, as JSONL.")
@click.option("--list", "as_list", is_flag=True, help="Show all quirks and stop.")
def command(
    *, wire: str, quirks: tuple[str, ...], script: Path | None, port: int, log: Path | None, as_list: bool
) -> None:
    """Be a provider that misbehaves on purpose, on 127.0.0.1, until interrupted.

    The first line on standard output is the model to ask for. Without a script it says back what it was told. Keys are
    taken out of the log.
    """
    if as_list:
        for name, quirk in QUIRKS.items():
            where = "" if quirk.wires == WIRES else f" ({', '.join(quirk.wires)})"
            say(f"{name:22} {quirk.help}{where}")
        return
    try:
        lines = read(script.read_text("utf-8")) if script else []
    except UnicodeDecodeError:
        raise UsageError("usage", f"{script} is not UTF-8") from None
    with ExitStack() as held:
        write = _log_into(log, held) if log else None
        fake = held.enter_context(FakeProvider(wire, quirks=quirks, script=lines, port=port, log=write))
        say(fake.spec)
        tell(f"try it: dragoman run --model '{fake.spec}' --tools none \"Hello\"; interrupt to stop", dim=True)
        Event().wait()


def _log_into(path: Path, held: ExitStack) -> Callable[[Received], object]:
    file = held.enter_context(path.open("ab"))

    def write(received: Received) -> None:
        file.write(msgspec.json.encode(received) + b"\n")
        file.flush()

    return write
