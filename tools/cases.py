"""Which test guards against which failure of real users.

    python tools/cases.py            print id → test and the ids without one; write docs/cases.md
    python tools/cases.py --check    exit 1 if that page is stale or a mark names no case

Reads `@pytest.mark.case("ID")` in tests/ without importing them, and the failures in tools/cases.toml.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from requirements import marks  # noqa: E402

PAGE = ROOT / "docs" / "cases.md"
TABLE = ROOT / "tools" / "cases.toml"
SOURCE = ROOT.parent / "shared" / "cases" / "cases.jsonl"

HEAD = """\
# Failures of real users, and the tests of their kind

Written by `make docs` from `tools/cases.toml` and the `@pytest.mark.case` marks in `tests/`; do not edit.

Each failure was met by users of systems like this one. A test named here is of its whole kind, and asserts what should
have happened. *Passes* says yes where a test stands: `make test` fails unless each of them passes, and none may be marked
as expected to fail. A dash means that no test guards the case yet; *waits* names what it needs first.

"""


class Area(NamedTuple):
    """The failures of one area; `part` is which of five parts builds it, `waits` what a case needs first."""

    title: str
    part: str
    cases: dict[str, str]
    waits: dict[str, str]


def areas() -> list[Area]:
    """The areas of tools/cases.toml."""
    return [Area(**{"waits": {}, **area}) for area in tomllib.loads(TABLE.read_text(encoding="utf-8"))["area"]]


def page(chapters: list[Area], tests: dict[str, list[str]]) -> str:
    """The text of docs/cases.md."""
    text = HEAD + "| area | part of five | cases | with a test | waiting |\n|---|---|---|---|---|\n"
    for title, part, cases, waits in chapters:
        tested = sum(item in tests for item in cases)
        waiting = sum(item in waits and item not in tests for item in cases)
        text += f"| [{title}](#{title}) | {part} | {len(cases)} | {tested} | {waiting} |\n"
    for title, _, cases, waits in chapters:
        rows = (f"| {item} | {_prose(said)} | {_row(item, tests, waits)} |\n" for item, said in cases.items())
        text += f"\n## {title}\n\n| id | what went wrong | test | passes |\n|---|---|---|---|\n{''.join(rows)}"
    return text


def _row(item: str, tests: dict[str, list[str]], waits: dict[str, str]) -> str:
    if item in tests:
        return "<br>".join(f"`{test}`" for test in tests[item]) + " | yes"
    return f"– | waits for {waits[item]}" if item in waits else "– | –"


def _prose(text: str) -> str:
    """A title as a cell of a table: what looks like a tag is text, in code and beside it."""
    pieces = text.replace("|", "\\|").split("`")
    return "`".join(piece if at % 2 else piece.replace("<", "&lt;") for at, piece in enumerate(pieces))


def faults(chapters: list[Area], tests: dict[str, list[str]]) -> list[str]:
    """Marks that name no case, cases of the source that have no row, and tests that are expected to fail."""
    known = {item for area in chapters for item in area.cases}
    wrong = [f"{found[0]}: {item!r} is no case" for item, found in tests.items() if item not in known]
    if SOURCE.is_file():
        asked = {json.loads(line)["id"] for line in SOURCE.read_text(encoding="utf-8").splitlines()}
        wrong += [f"{item} has no row in tools/cases.toml" for item in sorted(asked - known)]
    files = sorted({test.partition("::")[0] for found in tests.values() for test in found})
    hopeless = (file for file in files if "xfail" in (ROOT / file).read_text(encoding="utf-8"))
    return wrong + [f"{file}: a guard of a case may not be expected to fail" for file in hopeless]


def main(arguments: list[str]) -> int:
    """Print and write, or only compare."""
    chapters, tests = areas(), marks("case")
    text, wrong = page(chapters, tests), faults(chapters, tests)
    if arguments == ["--check"]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            wrong.append("docs/cases.md is stale: run `make docs` and commit it")
    elif arguments:
        wrong.append(f"unknown argument {arguments[0]!r}: there is only --check")
    else:
        PAGE.write_text(text, encoding="utf-8")
        _tell(chapters, tests)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def _tell(chapters: list[Area], tests: dict[str, list[str]]) -> None:
    for area in chapters:
        for item in area.cases:
            print(*(f"{item}  {test}" for test in tests.get(item, [])), sep="\n", end="\n" if item in tests else "")
    for area in chapters:
        missing = [item for item in area.cases if item not in tests and item not in area.waits]
        waiting = [f"{item} ({why})" for item, why in area.waits.items() if item not in tests]
        tested = sum(item in tests for item in area.cases)
        print(f"{area.title}: {tested} of {len(area.cases)} have a test; without:", *(missing or ["none"]))
        if waiting:
            print("  waiting:", *waiting)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
