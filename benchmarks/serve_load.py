"""The load and the look at who bears it: wrk, and what the kernel tells of a process and its children."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")
SCRIPT = """\
wrk.method = "POST"
for name, value in pairs({{{headers}}}) do wrk.headers[name] = value end
local file = io.open("{body}"); wrk.body = file:read("*a"); file:close()
"""


class Measured(NamedTuple):
    """Answers a second, and microseconds of the gateway's processor time for each."""

    rate: float
    cpu: float


def script(folder: Path, name: str, body: bytes, headers: Mapping[str, str]) -> Path:
    """The script with which wrk asks one question."""
    said, at = folder / f"{name}.json", folder / f"{name}.lua"
    said.write_bytes(body)
    listed = ", ".join(f'["{key}"] = "{value}"' for key, value in headers.items())
    at.write_text(SCRIPT.format(headers=listed, body=said))
    return at


def load(url: str, asking: Path, *, connections: int, seconds: float, pid: int) -> Measured:
    """Ask for so long. Raises SystemExit where an answer is none."""
    before = spent(pid)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s", "-s", str(asking), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used = spent(pid) - before
    count = re.search(r"(\d+) requests in", done.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    wrong = re.search(r"Non-2xx.*|Socket errors.*", done.stdout)
    if count is None or rate is None or wrong is not None:
        raise SystemExit(f"{url}: {wrong[0] if wrong else done.stderr.strip() or done.stdout.strip()}")
    return Measured(float(rate[1]), used / max(int(count[1]), 1) * 1e6)


def family(pid: int) -> list[int]:
    """A process and all that it began."""
    parents: dict[int, list[int]] = {}
    for each in os.listdir("/proc"):
        if each.isdecimal() and (stat := _read(f"/proc/{each}/stat")):
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(each))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def spent(pid: int) -> float:
    """Seconds of processor time so far."""
    ticks = 0
    for each in family(pid):
        fields = _read(f"/proc/{each}/stat").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12]) if fields else 0
    return ticks / TICKS


def memory(pid: int) -> float:
    """Resident memory now, in megabytes."""
    found = (re.search(r"VmRSS:\s+(\d+)", _read(f"/proc/{each}/status")) for each in family(pid))
    return sum(int(each[1]) for each in found if each) / 1024


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # it has just ended
        return ""
