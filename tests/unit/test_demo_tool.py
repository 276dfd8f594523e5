"""Guards the first thing in README.md: what `make demo` printed, shortened by a program and by nobody's hand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import script

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
GAP = "…\n"
OUTPUT = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


tool = script("demo")


def block() -> str:
    """What README.md shows."""
    return PAGE.partition(tool.MARKS[0])[2].partition(tool.MARKS[1])[0].removeprefix("```\n").removesuffix("```\n")


def recipe() -> str:
    """What `make demo` would say of itself on its way: its headings and its commands."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    asked = [make, "--dry-run", "--no-print-directory", "--old-file", ".venv/.all", "demo"]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return re.sub(r'^echo "(== .*)"$', r"\1", said, flags=re.MULTILINE)


def demo(outputs: dict[str, str]) -> str:
    """A demo whose steps print this."""
    head, *parts = tool.STEP.split(recipe())
    steps = ""
    for number, said in zip(parts[::2], parts[1::2], strict=True):
        lines = said.replace("\\\n", "\\\0").splitlines()
        command = lines[0].replace("\0", "\n")
        steps += f"== {number} of 4: a heading\n{command}\n{outputs.get(number, GAP)}"
    return head + steps


def test_what_is_shown_is_what_the_program_makes_of_such_a_demo() -> None:
    shown = OUTPUT.findall(block())
    assert [command.split(" --")[0].split(' "')[0] for command, _ in shown] == [
        "make demo",
        "dragoman run",
        "dragoman show hello.json",
        "python five.py",
    ]
    said = {str(step): output for step, (_, output) in enumerate(shown, 1)}
    table, count = (said[step].removeprefix(GAP).removesuffix(GAP) for step in "34")
    said["3"] = f"/x/hello.json: a talk\n\n{table}\n== chat: POST x\n{{}}\n"
    said["4"] = f"right  one\n       read a\n{count}"
    assert tool.shortened(demo(said)) == block()
    assert tool.written(PAGE, demo(said)) == PAGE


def test_the_figures_under_the_table_are_those_of_the_table() -> None:
    rows = [cells[1:] for line in block().splitlines() if len(cells := re.split(" {2,}", line)) == 4 and cells[0]]
    places = [[cell.partition(" (")[0] for cell in row] for row in rows if set(row) != {"-"}]
    differ = [first not in others for first, *others in places]
    assert f"\n{sum(differ)} of {len(differ)} stand elsewhere than in chat\n" in block()


def test_nothing_of_the_machine_is_shown() -> None:
    assert re.findall(r"(?:^|[\s\"'])/\w.*", block()) == []


@pytest.mark.parametrize("gone", ["2", "3", "4"])
def test_a_demo_that_stopped_short_changes_nothing(gone: str) -> None:
    table = f"{'chat':>26}   messages   responses\n1 of 1 stand elsewhere than in chat\n"
    with pytest.raises(SystemExit, match=f"step {gone} of the demo"):
        tool.shortened(demo({"2": "a\n", "3": table, "4": "5 of 5 right\n", gone: ""}))
