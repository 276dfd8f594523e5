"""Broken inputs for as long as you like: `python tools/fuzz.py --minutes 30 [--seed N]`. Finds go to tests/fuzz/found/."""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import takewhile
from pathlib import Path
from random import Random

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from fuzz.run import Find, Input, broken, check, handmade, recorded  # noqa: E402


def main() -> int:
    """Run, say how it went, and keep one input for each place that broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end, count = time.monotonic() + options.minutes * 60, 0

    def counted(one: Input) -> bool:
        nonlocal count
        count += 1
        return time.monotonic() < end

    seeds, finds = [*handmade(), *recorded()], dict[str, Find]()
    print(f"{len(seeds)} seeds, seed {options.seed}", file=sys.stderr)
    for find in check(takewhile(counted, broken(Random(options.seed), seeds))):
        if find.place not in finds:
            finds[find.place] = find
            print(f"{find.place}  {find.error[:100]}", flush=True)
            keep(find)
    print(f"{count} inputs in {options.minutes:g} minutes, {len(finds)} places that broke")
    return 1 if finds else 0


def keep(find: Find) -> None:
    """Write a find where the tests will read it."""
    one = find.input
    name = find.place.replace("/", "-").replace(".py:", "-") + ".json"
    said = {"op": one.op, "from": one.source, "to": one.target, "body": one.body.decode("utf-8", "surrogatepass")}
    (TESTS / "fuzz" / "found" / name).write_text(json.dumps(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
