"""Guards S1-22 and S0-48 in a storm of random models, cancels and kills; `tools/storm.py` makes a longer one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hazards.storm import one_run, storm

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.req("S1-22", "S0-48", "S4-34", "S4-35")
@pytest.mark.parametrize("part", range(10))
def test_whatever_a_model_says_a_run_ends_well_and_nothing_forbidden_ran(part: int, tmp_path: Path) -> None:
    seed = time.time_ns() % 10**9
    print("seed", seed)
    assert storm(seed + part * 10**9, 50, tmp_path) == []


@pytest.mark.parametrize("seed", [20262033])
def test_what_a_storm_once_found_stays_mended(seed: int, tmp_path: Path) -> None:
    """20262033: an early call whose place another block took had an output where the reply had no call."""
    assert one_run(seed, tmp_path) == []


@pytest.mark.req("I-08", "S0-65")
def test_a_run_that_was_killed_goes_on_and_no_call_runs_twice() -> None:
    """In a process of its own: it forks."""
    command = [sys.executable, str(ROOT / "tools" / "storm.py"), "--runs", "0", "--kills", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
