"""Guards the weight of the library: what `import dragoman` loads, and how much a core install brings."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

HEAVY = ("httpx2", "httpcore2", "aiohttp", "anyio", "asyncio", "click", "rich", "jinja2", "xllamacpp")
MOST_DISTRIBUTIONS = 10


def loaded_by(statement: str) -> set[str]:
    """The names in `sys.modules` of a fresh interpreter after `statement`."""
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["dragoman", "dragoman.types", "dragoman.types.save", "dragoman.wire.base"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}").intersection(HEAVY) == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert loaded_by("import asyncio").intersection(HEAVY) == {"asyncio"}


def core_distributions(name: str) -> set[str]:
    """Every distribution that an install of `name` without extras brings, itself included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if current in found:
            continue
        found.add(current)
        needed = (Requirement(line) for line in requires(current) or ())
        waiting += [item.name for item in needed if item.marker is None or item.marker.evaluate({"extra": ""})]
    return found


def test_a_core_install_is_small() -> None:
    brought = core_distributions("dragoman")
    assert {"dragoman", "msgspec", "httpx2"} <= brought
    assert len(brought) <= MOST_DISTRIBUTIONS, sorted(brought)
