"""What an agent's loop costs beside a bare post of the same bytes and beside other agents', and what memory it holds.

    python benchmarks/agent.py [--peers PYTHON] [--calls N] [--memory TURNS] [--json FILE] [--docs | --from FILE]

One script for all (`scripted.py`): a call of one tool with each of 19 requests, then a text. Each loop runs in a process of its
own, in turn and round by round. With `--peers`, the interpreter of a venv that holds pydantic-ai-slim[openai] and
openai-agents, those run it too. `--memory` alone measures nothing else. `--docs` writes `docs/benchmarks-agent.md`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from loops import FOUND, LOOPS, ROUNDS, RULES, RUNS, TASK

from dragoman import Agent, Model, __version__, tool
from dragoman.agent import AgentEvent, Run, StepStart

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks-agent.md"
FLOOR, OURS = "httpx2", ("httpx2", "dragoman", "dragoman, sync")
CALLS, TURNS, SAMPLES = 19, 1000, 10


@contextmanager
def scripted(calls: int) -> Generator[int]:
    """The port of a server that plays so many calls."""
    command = [sys.executable, str(HERE / "scripted.py"), str(calls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def compared(peers: str | None, calls: int, turns: int) -> dict[str, dict[str, float]]:
    """The best of each loop's turns. Raises SystemExit with what a loop said when it failed."""
    names = [name for name in LOOPS if name in OURS or peers]
    best: dict[str, dict[str, float]] = {name: {} for name in names}
    with scripted(calls) as port:
        for _ in range(turns):
            for name in names:
                python = sys.executable if name in OURS else str(peers)
                command = [python, str(HERE / "loops.py"), name, str(port), str(calls)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}")
                for key, value in json.loads(done.stdout.splitlines()[-1]).items():
                    best[name][key] = min(value, best[name].get(key, value))
    return best


@tool
def look(path: str) -> str:
    """Look at a page."""
    return f"{path}: {FOUND}"


def held(turns: int) -> list[dict[str, int]]:
    """What one run of so many turns holds, at ten places on its way, in bytes as the interpreter counts them.

    `all` is everything that was allocated since it began and is there still, `own` the conversation itself: history and
    replies, each object once. `beyond` is the rest: what loop and client hold besides.
    """
    samples: list[dict[str, int]] = []
    every = max(turns // SAMPLES, 1)
    with scripted(turns - 1) as port, Model(f"http://127.0.0.1:{port}/v1#chat:m", env={}) as model:
        Agent(model, [look], max_steps=3).run(TASK)  # what is loaded once is no growth
        agent = Agent(model, [look], system=RULES, max_steps=turns)
        machine = agent.start(TASK)

        def watch(event: AgentEvent) -> None:
            if isinstance(event, StepStart) and event.number % every == 0:
                samples.append({"turn": event.number, **weighed(machine)})

        gc.collect()
        tracemalloc.start()
        try:
            result = agent.drive(machine, on_event=watch)
        finally:
            tracemalloc.stop()
    if (result.outcome, result.steps) != ("done", turns):
        raise SystemExit(f"the run ended after {result.steps} turns: {result.outcome} {result.detail or ''}")
    return samples


def weighed(machine: Run) -> dict[str, int]:
    """A sample."""
    gc.collect()
    everything = tracemalloc.get_traced_memory()[0]
    own = size(machine.history, machine.replies)
    return {"all": everything, "own": own, "beyond": everything - own}


def size(*values: object) -> int:
    """The bytes of these values and of all that they hold, each object once, and no class of theirs."""
    waiting, seen, found = list(values), set[int](), 0
    while waiting:
        value = waiting.pop()
        if id(value) not in seen and not isinstance(value, type | ModuleType | FunctionType):
            seen.add(id(value))
            found += sys.getsizeof(value)
            waiting += gc.get_referents(value)
    return found


def versions(peers: str | None) -> dict[str, str]:
    """Of everything that took part."""
    said = {"dragoman": __version__, "httpx2": version("httpx2"), "Python": platform.python_version()}
    if peers:
        names = ["pydantic-ai-slim", "openai-agents", "openai"]
        ask = f"import json, importlib.metadata as m; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
        done = subprocess.run([peers, "-c", ask], capture_output=True, text=True, check=True)
        said.update(json.loads(done.stdout))
    return said


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    loops, calls = found["loops"], found["calls"]
    floor, ours = loops[FLOOR]["cpu_ms"], loops["dragoman"]["cpu_ms"]
    rows = []
    for name, each in loops.items():
        over = each["cpu_ms"] - floor
        times = "" if name == FLOOR else f"{over / (ours - floor):.2f}"
        rows.append(f"| {name} | {each['cpu_ms']:.1f} | {over:+.1f} | {times} | {each['rss_mb']:.0f} |")
    first, last = found["memory"][0], found["memory"][-1]

    def each_turn(name: str) -> float:
        return (last[name] - first[name]) / (last["turn"] - first["turn"])

    kept = [
        f"| {each['turn']:,} | {each['own'] / 1e3:,.0f} | {each['beyond'] / 1e3:,.0f} |" for each in found["memory"]
    ]
    said = ", ".join(f"{name} {each}" for name, each in found["versions"].items())
    return f"""# What the loop costs

Generated by `python benchmarks/agent.py --peers PYTHON --docs`; no figure here is typed by hand. One machine
({found["machine"]}, load {found["load"]:.1f} of other work), everything on loopback. Compare the rows with each other; the figures of
another machine are others. `--json` has all that was measured.

## Time

One script for all: {calls} calls of one tool, one with each request, then a text: {calls + 1} requests a run. Milliseconds of the
processor for a whole run, the best of {found["turns"]} turns of {ROUNDS} rounds of {RUNS} runs, each loop in a process of its own. `httpx2` is the
floor: it posts the same bodies, written beforehand, and reads nothing of the answers. Replies are streamed, save where the
row says otherwise: this loop always streams. `times` is what a loop takes over the floor, in units of what `dragoman` does.

| loop | a run, ms | over the floor | times | MB |
|---|---|---|---|---|
{chr(10).join(rows)}

## Memory

One run of {last["turn"]:,} turns, in kB as the interpreter counts its own allocations. The conversation is what the run must
keep, history and replies, each object counted once; beyond it is all else that was allocated since the run began. A turn
adds {each_turn("own"):,.0f} bytes to the conversation and {each_turn("beyond"):.0f} to the rest, most of them in the steps of one set: that of the ids of
all calls, by which the run knows one that is used twice.

| turn | the conversation | beyond it |
|---|---|---|
{chr(10).join(kept)}

{said}.
"""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="the interpreter of a venv with pydantic-ai-slim[openai] and openai-agents")
    parser.add_argument("--turns", type=int, default=2, help="how often each loop has its turn")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls in a run; requests are one more")
    parser.add_argument("--memory", type=int, metavar="TURNS", help="only the memory of a run of so many turns")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--from", type=Path, dest="figures", help="measure nothing: the page of figures written before")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    if options.figures:
        PAGE.write_text(page(json.loads(options.figures.read_text())), encoding="utf-8")
        return
    found: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load": os.getloadavg()[1],
        "versions": versions(options.peers),
        "calls": options.calls,
        "turns": options.turns,
        "memory": held(options.memory or TURNS),
    }
    if options.memory is None:
        found["loops"] = compared(options.peers, options.calls, options.turns)
    print(json.dumps(found, indent=2))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    if options.docs and "loops" in found:
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
