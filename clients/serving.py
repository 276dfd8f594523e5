"""`dragoman serve` as its users start it: a process of its own, the installed command, one model under any name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

COMMAND = Path(sys.executable).parent / "dragoman"


@contextmanager
def serving(spec: str, *options: str, env: Mapping[str, str] | None = None) -> Generator[str]:
    """Its address, as long as the block lasts. Raises RuntimeError with its own words when it does not start."""
    argv = [COMMAND, "serve", "--model", spec, "--port", "0", "--json", "--no-ledger", "--drain", "0", *options]
    own = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    process = subprocess.Popen(
        argv, env={**own, "LANG": "C.UTF-8", **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"dragoman serve --model {spec}: {process.stderr.read().decode('utf-8', 'replace')}")
        yield json.loads(line)["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
