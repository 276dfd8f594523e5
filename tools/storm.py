"""Random models over the agent's loop, as many as you like: `python tools/storm.py [--runs N] [--kills N] [--seed N]`.

Every run must end with a named outcome, whatever the model said and whenever it was cancelled; nothing that was not
permitted may run; every history must be fit to be sent on every wire without repair. Killed runs are taken up again from
their last checkpoint, and no call may run twice. Killed sessions are opened again, as files that end at any byte are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from hazards.storm import storm
from hazards.storm_kills import storm_of_kills
from hazards.storm_sessions import storm_of_sessions


def main() -> int:
    """Run, and print what did not hold; the exit code is 1 if anything did not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(
        f"seed {options.seed}: {options.runs} runs, {options.kills} killed, {options.kills} sessions", file=sys.stderr
    )
    with tempfile.TemporaryDirectory() as name:
        begun = time.monotonic()
        wrong = storm_of_kills(options.seed, options.kills, Path(name))
        wrong += storm_of_sessions(options.seed, options.kills, options.kills // 10, Path(name))
        middle = time.monotonic()
        wrong += storm(options.seed, options.runs, Path(name))
        ended = time.monotonic()
    for fault in wrong:
        print(fault)
    spent = f"{middle - begun:.0f} s killed, {ended - middle:.0f} s run"
    print(f"{len(wrong)} faults in {options.runs} runs and twice {options.kills} kills ({spent})", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
