"""What a call costs beside a bare post of the same bytes, what an event of a stream costs, and what is left of cancels.

    python benchmarks/overhead.py [--peers PYTHON] [--json FILE] [--docs]

One run, all clients against the same server on loopback, each in a process of its own, in turn and round by round. With
`--peers`, the interpreter of a venv that holds openai, litellm and pydantic-ai, those make the same calls. `--docs` writes
`docs/benchmarks-transport.md`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from clients import CALLS, CLIENTS, STREAMS
from upstream import EVENTS, RATE

from dragoman import AsyncModel, Model, __version__
from dragoman.errors import Cancelled
from dragoman.transport.cancel import CancelToken
from dragoman.types import Delta, Request, user

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks-transport.md"
OURS = ("httpx2", "dragoman")
SPEC = "http://127.0.0.1:{}/v1#chat:m"
CANCELS, AT_ONCE = 1000, 50


@contextmanager
def upstream() -> Generator[int]:
    """The port of the server."""
    with subprocess.Popen([sys.executable, str(HERE / "upstream.py")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def measured(python: str, name: str, what: str, port: int) -> dict[str, float]:
    """One client in one process; raises SystemExit with what it said when it failed."""
    command = [python, str(HERE / "clients.py"), name, what, str(port), str(EVENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} {what} failed: {done.stderr.strip().splitlines()[-1:]}")
    said: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return said


def compared(peers: str | None, port: int, turns: int) -> dict[str, dict[str, float]]:
    """The best of each client's turns."""
    names = [name for name in CLIENTS if name in OURS or peers]
    best: dict[str, dict[str, float]] = {name: {} for name in names}
    for _ in range(turns):
        for name in names:
            python = sys.executable if name in OURS else str(peers)
            for what in ("call", "stream"):
                for key, value in measured(python, name, what, port).items():
                    best[name][f"{what}_{key}"] = min(value, best[name].get(f"{what}_{key}", value))
    return best


def left(port: int) -> dict[str, int]:
    """What is open now: files of this process, its threads, and connections as the server counts them."""
    gc.collect()
    for _ in range(100):  # the server notices a closed connection in its time
        with urlopen(f"http://127.0.0.1:{port}/open") as answer:
            connections = int(answer.read())
        if connections == 0:
            break
        threading.Event().wait(0.02)
    return {
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "connections": connections,
    }


async def cancelled_tasks(port: int, count: int) -> dict[str, int]:
    """Streams that are cancelled after their first word, by task, token or closing; what is left while the model is open."""

    async def one(model: AsyncModel, number: int) -> None:
        token = CancelToken() if number % 3 == 1 else None
        stream = model.stream("Hello", cancel=token)
        async for event in stream:
            if isinstance(event, Delta):
                if token is not None:
                    token.cancel()
                elif number % 3 == 2:
                    await stream.close()
                    return
                else:
                    await asyncio.sleep(60)

    async def batch(model: AsyncModel, first: int) -> None:
        tasks = [asyncio.create_task(one(model, number)) for number in range(first, first + AT_ONCE)]
        await asyncio.sleep(0.4)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async with AsyncModel(SPEC.format(port), env={}) as model:
        for first in range(0, count, AT_ONCE):
            await batch(model, first)
        await asyncio.sleep(0.1)  # the loop closes the streams whose readers were cancelled elsewhere
        return {"tasks": len(asyncio.all_tasks()) - 1, **left(port)}


def cancelled_threads(port: int, count: int) -> dict[str, int]:
    """The same for sync calls, whole replies and streams, each in a thread, cancelled from this one."""
    talk = (user("Hello"),)

    def one(model: Model, token: CancelToken, number: int) -> bool:
        try:
            if number % 2:
                model.chat(Request(messages=talk, stream=True), cancel=token)
            else:
                return list(model.stream(talk, cancel=token))[-1:] != []
        except Cancelled:
            return True
        return False

    with Model(SPEC.format(port), env={}) as model, ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(0, count, AT_ONCE):
            tokens = [CancelToken() for _ in range(AT_ONCE)]
            calls = [pool.submit(one, model, token, number) for number, token in enumerate(tokens)]
            threading.Event().wait(0.3)
            for token in tokens:
                token.cancel()
            if not all(call.result() for call in calls):
                raise SystemExit("a call ended before it was cancelled")
        pool.shutdown()
        return left(port)


def cancels(port: int) -> dict[str, int]:
    """What is left of many cancelled calls, beside what is left of a few: 0 of each."""

    def after(count: int) -> list[dict[str, int]]:
        return [asyncio.run(cancelled_tasks(port, count)), cancelled_threads(port, count)]

    few, many = after(AT_ONCE), after(CANCELS // 2)
    found = dict.fromkeys(("connections", "tasks", "threads", "files"), 0)
    for less, more in zip(few, many, strict=True):
        for name, value in more.items():
            # the server's own count is none of ours to subtract from
            found[name] += value if name == "connections" else value - less[name]
    return {"calls": CANCELS, **found}


def versions(peers: str | None) -> dict[str, str]:
    """Of everything that took part."""
    said = {"dragoman": __version__, "httpx2": version("httpx2"), "Python": platform.python_version()}
    if peers:
        ask = "import json, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in N}))"
        names = ["openai", "litellm", "pydantic-ai-slim", "httpx2"]
        done = subprocess.run([peers, "-c", f"N = {names!r}; {ask}"], capture_output=True, text=True, check=True)
        said |= {
            name if name != "httpx2" else "httpx2 of the peers": each for name, each in json.loads(done.stdout).items()
        }
    return said


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    floor = found["clients"]["httpx2"]
    rows = []
    for name, each in found["clients"].items():
        over = each["call_cpu_us"] - floor["call_cpu_us"]
        times = each["stream_cpu_us_per_event"] / floor["stream_cpu_us_per_event"]
        rows.append(
            f"| {name} | {each['call_cpu_us']:,.0f} | {over:+,.0f} "
            f"| {each['stream_cpu_us_per_event']:.1f} | {times:.2f} | {each['stream_rss_mb']:.0f} |"
        )
    rest = ", ".join(f"{name} {found['cancels'][name]}" for name in ("connections", "tasks", "threads", "files"))
    said = ", ".join(f"{name} {each}" for name, each in found["versions"].items())
    return f"""# What the road costs

Generated by `python benchmarks/overhead.py --peers PYTHON --docs`; no figure here is typed by hand. One run, one machine
({found["machine"]}), everything on loopback, best of {found["turns"]} turns in which the clients took their part one after the other.
Microseconds are of the processor, not of the clock: other work ran beside it (load {found["load"]:.1f}). Compare the rows with
each other; the figures of another machine are others. `--json` has all that was measured.

- *A call* is a request of 12 messages and 8 tools and a whole reply, {CALLS} at a time over one connection. `httpx2` is
  the floor: it posts the same body and reads nothing of the answer.
- *A stream*: {STREAMS} at once, {RATE} events a second each, {EVENTS} events long. `httpx2` hands on the raw bytes.

| client | call, µs | over the floor | stream, µs an event | × floor | MB |
|---|---|---|---|---|---|
{chr(10).join(rows)}

Of {found["cancels"]["calls"]:,} calls that were cancelled (by task, by token from another thread, by closing the stream), these
are left: {rest}.

{said}.
"""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="the interpreter of a venv with openai, litellm and pydantic-ai-slim")
    parser.add_argument("--turns", type=int, default=3, help="how often each client has its turn")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    with upstream() as port:
        left_over = cancels(port)
        found = {
            "machine": machine,
            "load": os.getloadavg()[1],
            "turns": options.turns,
            "versions": versions(options.peers),
            "clients": compared(options.peers, port, options.turns),
            "cancels": left_over,
        }
    print(json.dumps(found, indent=2))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    if options.docs:
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
