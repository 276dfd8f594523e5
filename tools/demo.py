"""What `make demo` prints, shortened, between the marks of README.md.

python tools/demo.py          run the demo, with the real model, and write the page
python tools/demo.py FILE     the same of what a demo printed into FILE

All of the steps is shown that is in STEPS; what is left out is a line of its own: …
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "README.md"
MARKS = ("<!-- demo: written by `make readme` -->\n", "<!-- end of the demo -->\n")
GAP = "…"
STEP = re.compile(r"^== (\d) of \d: .*\n", re.MULTILINE)
TABLE = re.compile(
    r"^ +chat +messages +responses$.*?^\d+ of \d+ stand elsewhere than in chat$", re.MULTILINE | re.DOTALL
)
FOLDERS = re.compile(r"(?<=[\s'\"])/\S*/(?=[^\s/])|^/\S*/(?=[^\s/])")  # of this machine: a name is enough


def main(arguments: list[str]) -> int:
    """Write the page; the exit code is the demo's own where it failed."""
    if arguments:
        shown = Path(arguments[0]).read_text(encoding="utf-8")
    else:
        done = subprocess.run(
            ["make", "--no-print-directory", "demo"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        shown = done.stdout
        if done.returncode:
            print(shown, end="", file=sys.stderr)
            return done.returncode
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), shown), encoding="utf-8")
    return 0


def written(page: str, shown: str) -> str:
    """The page with what the demo printed between its marks."""
    before, start, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not start or not end:
        raise SystemExit(f"{PAGE.name} has no {MARKS[0].strip()} … {MARKS[1].strip()}")
    return f"{before}{start}```\n{shortened(shown)}```\n{end}{after}"


def shortened(shown: str) -> str:
    """The demo for a first look. Ends the program where a step is missing, or prints nothing of what is shown of it."""
    _, *parts = STEP.split(shown.replace("\\\n", ""))
    steps = dict(zip(parts[::2], parts[1::2], strict=True))
    lines = ["$ make demo", GAP]
    for number, (name, keep) in STEPS.items():
        command, _, said = steps.get(number, "").partition("\n")
        kept = keep(said.rstrip("\n"))
        if name not in command or not kept:
            raise SystemExit(f"step {number} of the demo is not {name}, or printed nothing of what is shown of it")
        lines += [f"$ {_typed(command)}", *kept]
    return "".join(f"{line.rstrip()}\n" for line in _joined(lines))


def _whole(said: str) -> list[str]:
    return said.splitlines()


def _table(said: str) -> list[str]:
    """Where the parts of the conversation stand, without the bodies themselves."""
    found = TABLE.search(said)
    return [GAP, *found[0].splitlines(), GAP] if found else []


def _last(said: str) -> list[str]:
    return [GAP, said.splitlines()[-1]] if said else []


# Step of the demo → the program that it runs, and what is shown of what that prints.
STEPS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "2": ("dragoman run", _whole),
    "3": ("dragoman show", _table),
    "4": ("five.py", _last),
}


def _typed(command: str) -> str:
    """A command as one types it beside the files: without folders of this machine."""
    alone = re.sub(r"^cd \S+ && ", "", command)
    return " ".join(FOLDERS.sub("", alone).split())


def _joined(lines: Iterable[str]) -> list[str]:
    """A gap once, where two meet."""
    out: list[str] = []
    for line in lines:
        if line != GAP or out[-1:] != [GAP]:
            out.append(line)
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
