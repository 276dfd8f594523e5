"""How long `import dragoman` takes beside `import msgspec, msgspec.json`: best of seven, interleaved, in one run.

    python benchmarks/import_time.py

Read the ratio, not the milliseconds: both sides share the machine's mood.
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 7
STATEMENTS = {"nothing": "pass", "msgspec": "import msgspec, msgspec.json", "dragoman": "import dragoman"}


def milliseconds(statement: str) -> float:
    """One fresh interpreter's own measure of one import."""
    code = f"from time import perf_counter_ns as now; a = now()\n{statement}\nprint(now() - a)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e6


def main() -> None:
    """Measure and print."""
    taken: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(ROUNDS):
        for name, statement in STATEMENTS.items():
            taken[name].append(milliseconds(statement))
    best = {name: min(times) for name, times in taken.items()}
    print(*(f"{name} {time:.1f} ms" for name, time in best.items()), sep=" · ")
    print(f"dragoman / msgspec = {best['dragoman'] / best['msgspec']:.2f} (best of {ROUNDS})")


if __name__ == "__main__":
    main()
