"""Fetching a Python package with the user's own pip: from the index, proxy and mirror that it is set up for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from dragoman.engine.store import Progress
from dragoman.errors import TransportError, UsageError

TICK = 0.2
NO_PIP = f"pip is missing in this Python ({sys.executable}): `python -m ensurepip` adds it"


def pip_download(package: str, into: Path, progress: Progress | None = None) -> None:
    """The wheel of `package`, without its dependencies, into the folder `into`; pip's own files stay there as well.

    Raises UsageError when this Python has no pip, TransportError with pip's last words when it fails. An interrupt ends
    pip too.
    """
    if importlib.util.find_spec("pip") is None:
        raise UsageError("missing_extra", NO_PIP)
    arguments = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet", "--dest", str(into)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *arguments, package]
    scratch = {name: str(into) for name in ("TMPDIR", "TEMP", "TMP")}
    process = subprocess.Popen(
        command,
        env={**os.environ, **scratch},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    with process:
        try:
            words = _wait(process, into, progress)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise TransportError("network", f"pip could not fetch {package}: {_last_error(words)}")


def _wait(process: subprocess.Popen[str], into: Path, progress: Progress | None) -> str:
    while True:
        try:
            return process.communicate(timeout=TICK if progress else None)[1]
        except subprocess.TimeoutExpired:
            if progress:
                progress(_size(into))


def _size(place: Path) -> int:
    size = 0
    for path in place.rglob("*"):
        try:
            size += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # pip has moved it in the meantime
    return size


def _last_error(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it said nothing"])[-1]
