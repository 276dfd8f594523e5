"""How many answers a second `dragoman serve` gives, beside other gateways; and its memory over many of them.

    python benchmarks/serve.py [--peers DIR] [--turns 5] [--seconds 3] [--flat 100000] [--json FILE] [--docs]

One run, one machine: nginx as the upstream with a fixed answer, wrk as the load, each gateway one process with one worker.
nginx and wrk must be there (`apt-get install nginx-light wrk`); of the other gateways those are asked that are found in the
folder of `--peers`, and the others are named with the command that puts them there. `--flat 0` leaves the long part out.
`--docs` writes `docs/benchmarks-serve.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

from serve_load import Measured, load, memory, script
from serve_page import page
from serve_payloads import ENDS, asked, write
from serve_peers import GATEWAYS, INSTALL, KEY, STREAM, WHOLE, WRITTEN, At, Gateway, surroundings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-serve.md"
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages"}
WAIT = 90.0  # seconds in which a gateway must answer for the first time
FEW, LONGEST = 16, 30  # answers that a turn needs, seconds that it may take for them
STEP = 10_000  # answers between two looks at the memory
DIRECT = build_opener(ProxyHandler({}))


class Column(NamedTuple):
    """One kind of question."""

    name: str
    wire: str
    stream: bool
    connections: int


COLUMNS = (
    Column("chat → chat", "chat", False, 16),
    Column("chat → chat, streams", "chat", True, 8),
    Column("messages → chat", "messages", False, 16),
    Column("messages → chat, streams", "messages", True, 8),
)


class Running(NamedTuple):
    """A gateway that answers. `start` is the time it took to its first answer."""

    gateway: Gateway
    at: At
    pid: int
    start: float

    def asking(self, column: Column) -> tuple[str, Path]:
        """The address to ask and wrk's script."""
        body = asked(column.wire, STREAM if column.stream else WHOLE, stream=column.stream)
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        headers |= self.gateway.headers(self.at, column.stream)
        name = f"{self.at.port}-{column.wire}-{'stream' if column.stream else 'whole'}"
        prefix = "/stream" if column.stream and self.gateway.prefix else ""
        url = f"http://127.0.0.1:{self.at.port}{prefix}{PATHS[column.wire]}"
        return url, script(self.at.folder, name, body, headers)

    def answers(self, column: Column) -> str:
        """One question and its answer; "" where none came. Raises SystemExit for one that is not what the upstream said."""
        url, asking = self.asking(column)
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        headers |= self.gateway.headers(self.at, column.stream)
        try:
            with DIRECT.open(Request(url, asking.with_suffix(".json").read_bytes(), headers), timeout=WAIT) as answer:
                said: str = answer.read().decode()
        except (URLError, ConnectionError):
            return ""
        if ENDS["stream" if column.stream else "whole"] not in said:
            raise SystemExit(f"{url} answered something else: {said[:300]}")
        return said


@contextmanager
def scratch() -> Generator[Path]:
    """A folder for as long as it is needed."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)  # nginx reads as another user
        yield Path(made)


@contextmanager
def upstream(folder: Path) -> Generator[int]:
    """nginx with the fixed answers, and its port."""
    port = free_port()
    with subprocess.Popen(["nginx", "-c", str(write(folder, port))], stderr=subprocess.DEVNULL) as process:
        try:
            yield port
        finally:
            process.terminate()


@contextmanager
def running(gateway: Gateway, at: At) -> Generator[Running]:
    """A gateway while it runs. Raises SystemExit where it gives no answer in time."""
    log = at.folder / f"{at.port}.log"
    began = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            gateway.start(at), stdout=out, stderr=out, env=surroundings(gateway, at), cwd=at.folder
        )
    try:
        up = Running(gateway, at, process.pid, 0.0)
        while not up.answers(COLUMNS[0]):
            if process.poll() is not None or time.monotonic() - began > WAIT:
                raise SystemExit(f"{gateway.start(at)} does not answer: {log.read_text()[-2000:]}")
            time.sleep(0.02)
        yield up._replace(start=time.monotonic() - began)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def table(folder: Path, port: int, peers: Path, turns: int, seconds: float) -> dict[str, dict[str, Any]]:
    """What every gateway came to in each column in the middle of its turns, its memory and its start."""
    with ExitStack() as stack:
        up: dict[str, Running] = {}
        for name, gateway in GATEWAYS.items():
            if gateway.version(peers) is not None:
                at = At(free_port(), port, folder, peers)
                up[name] = stack.enter_context(running(gateway, at))
        found: dict[str, dict[str, Any]] = {name: {"start": each.start} for name, each in up.items()}
        for turn in range(turns):
            for column in COLUMNS:
                for name, each in rotated(list(up.items()), turn):
                    if column.wire in each.gateway.wires:
                        print(f"turn {turn + 1}: {column.name}: {name}", file=sys.stderr)
                        turn_of(found[name], column, each, seconds)
        for name, each in up.items():
            found[name] |= {
                column.name: middle(found[name][column.name]) for column in COLUMNS if column.name in found[name]
            }
            found[name]["memory"] = memory(each.pid)
    return found


def rotated(rows: list[tuple[str, Running]], turn: int) -> list[tuple[str, Running]]:
    """Each turn begins with another: what runs after a busy one may be treated otherwise than what runs after an idle one."""
    at = turn % len(rows)
    return rows[at:] + rows[:at]


def turn_of(row: dict[str, Any], column: Column, up: Running, seconds: float) -> None:
    """One turn of one gateway in one column; None where it has no answer to such a question."""
    if column.name not in row:
        row[column.name] = [] if up.answers(column) else None
    if row[column.name] is None:
        return
    url, asking = up.asking(column)
    load(url, asking, connections=column.connections, seconds=1, pid=up.pid)
    got = load(url, asking, connections=column.connections, seconds=seconds, pid=up.pid)
    while got.rate * seconds < FEW and seconds < LONGEST:  # too few to count
        seconds *= 4
        got = load(url, asking, connections=column.connections, seconds=seconds, pid=up.pid)
    row[column.name].append(got)


def middle(turns: list[Measured] | None) -> tuple[float, float] | None:
    """Answers a second and processor time, each in the middle: other work on the machine comes and goes."""
    return None if turns is None else (median(each.rate for each in turns), median(each.cpu for each in turns))


def alone(folder: Path, port: int, seconds: float) -> float:
    """The upstream without a gateway."""
    body = script(folder, "alone", asked("chat", WHOLE, stream=False), {"content-type": "application/json"})
    url = f"http://127.0.0.1:{port}{PATHS['chat']}"
    return load(url, body, connections=16, seconds=seconds, pid=os.getpid()).rate


def flat(folder: Path, port: int, peers: Path, count: int) -> Iterator[tuple[int, float]]:
    """The memory of `dragoman serve`, whose codecs read and write all, after so many answers."""
    with running(GATEWAYS[WRITTEN], At(free_port(), port, folder, peers)) as up:
        url, asking = up.asking(COLUMNS[0])
        done = 0
        yield 0, memory(up.pid)
        for mark in range(STEP, count + 1, STEP):
            while done < mark:
                got = load(url, asking, connections=16, seconds=1, pid=up.pid)
                done += round(got.rate)
            yield mark, memory(up.pid)


def missing(peers: Path) -> list[str]:
    """What is not there, and how it comes there; without nginx and wrk there is nothing to measure."""
    tools = [name for name in ("nginx", "wrk") if shutil.which(name) is None]
    if tools:
        raise SystemExit(f"missing: {' and '.join(tools)}; apt-get install -y nginx-light wrk")
    absent = [name for name, gateway in GATEWAYS.items() if gateway.version(peers) is None]
    return [f"{name}: {INSTALL.get(name, 'pip install dragoman[gateway]').format(peers=peers)}" for name in absent]


def versions(peers: Path) -> dict[str, str]:
    """Of everything that took part."""
    from importlib.metadata import version
    from platform import python_version

    said = {name: gateway.version(peers) for name, gateway in GATEWAYS.items() if "serve" not in name}
    said |= {name: version(name) for name in ("dragoman", "uvicorn", "httptools", "uvloop")}
    said["aiohttp"] = said.pop("raw passthrough")
    said["Python"] = python_version()
    for tool, flag in (("nginx", "-v"), ("node", "--version")):
        if shutil.which(tool):
            done = subprocess.run([tool, flag], capture_output=True, text=True, check=False)
            said[tool] = (done.stdout + done.stderr).strip().rpartition("/")[2].lstrip("v")
    return {name: each for name, each in said.items() if each is not None}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, default=Path("build/bench-peers"), help="the folder of other gateways")
    parser.add_argument("--turns", type=int, default=5, help="how often each gateway has its turn")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long a turn takes")
    parser.add_argument("--flat", type=int, default=100_000, help="answers over which memory is watched; 0: none")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    peers = options.peers.resolve()
    absent = missing(peers)
    for each in absent:
        print(f"not there, left out: {each}")
    with scratch() as folder, upstream(folder) as port:
        found: dict[str, Any] = {
            "machine": f"{os.cpu_count()} cores, {os.uname().machine}",
            "before": os.getloadavg()[0],
            "turns": options.turns,
            "versions": versions(peers),
            "absent": absent,
            "alone": alone(folder, port, options.seconds),
            "gateways": table(folder, port, peers, options.turns, options.seconds),
            "columns": [column.name for column in COLUMNS],
            "flat": [],
        }
        for count, megabytes in flat(folder, port, peers, options.flat) if options.flat else ():
            print(f"{count:>9,} answers: {megabytes:.1f} MB", flush=True)
            found["flat"].append((count, megabytes))
        found["load"] = os.getloadavg()[0]
    print(json.dumps(found, indent=2, ensure_ascii=False))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.docs:
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
