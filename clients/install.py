"""Clients at their pinned versions, each in a folder of its own below `.clients/`; what is there already is left as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from clients.client import Pins

ROOT = Path(__file__).resolve().parent.parent / ".clients"


class InstallError(Exception):
    """A registry did not give what was asked for: the command, and the last lines it wrote."""


def install(pins: Pins, root: Path = ROOT) -> tuple[Path, ...]:
    """The folders of executables of `pins` and of what it needs, in this order. Raises InstallError."""
    before = tuple(each for needed in pins.after for each in install(needed, root))
    folder = root / pins.kind / pins.folder
    stamp = folder / "pinned"
    wanted = "\n".join((*pins.packages, *pins.alone))
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        (_pip if pins.kind == "pip" else _npm)(pins, folder, before)
        stamp.write_text(wanted, "utf-8")
    return (folder / ("bin" if pins.kind == "pip" else "node_modules/.bin"), *before)


def versions(pins: Pins) -> Iterator[str]:
    """The packages in one form, `name version`, whatever the registry."""
    for package in (*pins.packages, *pins.alone):
        name, _, version = package.replace("==", "@").rpartition("@")
        yield f"{name} {version}"


def _pip(pins: Pins, folder: Path, _: tuple[Path, ...]) -> None:
    python = folder / "bin" / "python"
    if not python.exists():
        _do([sys.executable, "-m", "venv", folder], folder)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    if pins.packages:
        _do([*pip, *pins.packages], folder)
    if pins.alone:
        _do([*pip, "--no-deps", *pins.alone], folder)


def _npm(pins: Pins, folder: Path, before: tuple[Path, ...]) -> None:
    (folder / "package.json").write_text('{"private": true}\n', "utf-8")
    npm = ["npm", "install", "--save-exact", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    _do([*npm, *pins.packages], folder, before)


def _do(argv: list[str | Path], folder: Path, before: tuple[Path, ...] = ()) -> None:
    path = ":".join([*map(str, before), os.environ.get("PATH", "/usr/bin:/bin")])
    try:
        ran = subprocess.run(argv, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    except OSError as error:
        raise InstallError(f"{argv[0]}: {error.strerror}") from None
    if ran.returncode:
        said = (ran.stdout + ran.stderr).decode("utf-8", "replace").strip().splitlines()[-8:]
        raise InstallError(f"{' '.join(map(str, argv))}: exit code {ran.returncode}\n" + "\n".join(said))
