"""The command line: one file a command, imported on use."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """The `dragoman` command; ends the process with the exit code of `dragoman.cli.main`."""
    if find_spec("click") is None:
        sys.stderr.write("dragoman: the command line needs an extra: pip install 'dragoman[cli]'\n")
        sys.exit(2)
    from dragoman.cli.main import run

    sys.exit(run(sys.argv[1:]))
