"""The command as people run it: a process of its own, with an environment that is passed in and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

MAIN = "from dragoman.cli import main; main()"


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A home that is empty and stays so, and streams that are said to hold nothing but ASCII."""
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    return {**plain, "DRAGOMAN_LEDGER": "off", **(more or {})}


def dragoman(
    *arguments: str, home: Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, code: str = MAIN
) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        command(arguments, code),
        cwd=cwd or home,
        env=environment(home, env),
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def command(arguments: Sequence[str], code: str = MAIN) -> list[str]:
    """The argument list of the process."""
    return [sys.executable, "-W", "error", "-c", code, *arguments]
