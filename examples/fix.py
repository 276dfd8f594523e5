"""Fix the failing test of `examples/dateparse`, some times over: how often does a model do it, and at what cost?

    python examples/fix.py MODEL [RUNS]

Each run has a copy of the project, a seed of its own, and four tools. It may change the project's Python files and run its
tests: two rules say so, and nothing else is allowed. Whether it is fixed says nobody but the tests, run again afterwards
over the tests as they were.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from dragoman import Model
from dragoman.agent import Agent, Policy, RunResult
from dragoman.money import Ledger, Totals
from dragoman.money.prices import PriceOf, catalogued
from dragoman.tools.coding import TOOLS
from dragoman.types import Request, Sampling

PROJECT = Path(__file__).resolve().parent / "dateparse"
NAMES = ("read", "grep", "edit", "shell")
PYTEST = shlex.join([sys.executable, "-m", "pytest"])
ALLOWED = ("edit:dateparse.py", f"shell:{sys.executable} -m pytest*")
RULES = f"Work in the current folder. Run the tests with `{PYTEST}`. Stop when they pass, and say what was wrong."
TASK = "A test of dateparse fails. Find out why and fix it."


class Score(NamedTuple):
    """One run: whether the tests pass now, how it ended, and what it took. Nobody's price is no price: None."""

    passed: bool
    outcome: str
    requests: int
    tokens: int
    dollars: float | None
    seconds: float

    def __str__(self) -> str:
        cost = "price unknown" if self.dollars is None else f"${self.dollars:.4f}"
        end = "passed" if self.passed else "failed"
        return f"{end}  {self.outcome}, {self.requests} requests, {self.tokens} tokens, {cost}, {self.seconds:.1f} s"


def copied(folder: Path) -> Path:
    """The project as it was given, in `folder`."""
    return Path(shutil.copytree(PROJECT, folder / "dateparse", ignore=shutil.ignore_patterns("__pycache__")))


def fix(model: Model, project: Path, *, seed: int = 1) -> RunResult:
    """Let the model at it."""
    tools = [TOOLS[name](project) for name in NAMES]
    settings = Request(sampling=Sampling(seed=seed))
    return Agent(model, tools, system=RULES, policy=Policy.of(allow=ALLOWED), settings=settings).run(TASK)


def passes(project: Path) -> bool:
    """The oracle: the tests as they were given, over the code as it is now."""
    shutil.copy(PROJECT / "test_dateparse.py", project)
    return subprocess.run([*shlex.split(PYTEST)], cwd=project, capture_output=True, check=False).returncode == 0


def score(name: str, seed: int, price_of: PriceOf = catalogued) -> Score:
    """One run over a copy of its own, by the model of that name."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger(Path(folder) / "ledger.db", price_of=price_of) as ledger,
        Model(name, observers=[ledger]) as model,
    ):
        project, began = copied(Path(folder)), time.monotonic()
        result = fix(model, project, seed=seed)
        seconds = time.monotonic() - began
        (spent,) = ledger.totals() or [Totals(name="none")]
        dollars = None if spent.unpriced else spent.cost / 1e9
        return Score(passes(project), result.outcome, spent.calls, spent.input + spent.output, dollars, seconds)


if __name__ == "__main__":
    scores = [score(sys.argv[1], seed) for seed in range(1, int((*sys.argv, "3")[2]) + 1)]
    print(*scores, sep="\n")
    print(f"{sum(each.passed for each in scores)} of {len(scores)} passed")
