"""Guards what a long run holds: the conversation, and beyond it a little that does not grow, as the interpreter counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "agent.py"


def test_beyond_its_conversation_a_run_holds_no_more_at_its_end_than_at_its_beginning() -> None:
    command = [sys.executable, "-W", "error", str(BENCHMARK), "--memory", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    samples = json.loads(done.stdout)["memory"]
    own, beyond = ([each[name] for each in samples] for name in ("own", "beyond"))
    assert [each["turn"] for each in samples] == list(range(6, 61, 6))
    assert own[-1] > 8 * own[0]
    assert max(beyond) - min(beyond) < own[-1] / 10
