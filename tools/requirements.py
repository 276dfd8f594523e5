"""Which test asserts which requirement.

    python tools/requirements.py            print id → test and the ids without one; write docs/requirements.md
    python tools/requirements.py --check    exit 1 if that page is stale or a mark names no requirement

Reads `@pytest.mark.req("ID")` in tests/ without importing them, and the sentences in tools/requirements.toml.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "requirements.md"
SENTENCES = ROOT / "tools" / "requirements.toml"
SOURCE = ROOT.parent / "shared" / "requirements.md"

HEAD = """\
# Requirements, and the tests that assert them

Written by `make docs` from `tools/requirements.toml` and the `@pytest.mark.req` marks in `tests/`; do not edit.
A dash means that no test asserts the item yet.

"""


class Part(NamedTuple):
    """One chapter of the requirements."""

    title: str
    items: dict[str, str]


def parts() -> list[Part]:
    """The chapters of tools/requirements.toml."""
    return [Part(**part) for part in tomllib.loads(SENTENCES.read_text(encoding="utf-8"))["part"]]


def marks(kind: str = "req") -> dict[str, list[str]]:
    """id → `file::test` of every test that names it by a mark of `kind`, in the order of the files."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for owner, item in sorted(_marked(ast.parse(path.read_text(encoding="utf-8")), kind=kind)):
            tests = found.setdefault(item, [])
            if f"{name}::{owner}" not in tests:
                tests.append(f"{name}::{owner}")
    return found


def _marked(tree: ast.AST, owner: str = "", kind: str = "req") -> Iterator[tuple[str, str]]:
    """Each mark with the test, class or name that it stands on; marks within tables belong to the name around them."""
    for node in ast.iter_child_nodes(tree):
        here = owner
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            here = f"{owner}::{node.name}" if owner else node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            here = target.id if isinstance(target, ast.Name) else owner
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == kind:
            yield from ((owner, arg.value) for arg in node.args if isinstance(arg, ast.Constant))
        yield from _marked(node, here, kind)


def page(chapters: list[Part], tests: dict[str, list[str]]) -> str:
    """The text of docs/requirements.md."""
    text = HEAD
    for title, items in chapters:
        rows = (f"| {item} | {said} | {_cell(tests.get(item, []))} |\n" for item, said in items.items())
        text += f"## {title}\n\n| id | requirement | asserted by |\n|---|---|---|\n{''.join(rows)}\n"
    return text.rstrip("\n") + "\n"


def _cell(tests: list[str]) -> str:
    return "<br>".join(f"`{test}`" for test in tests) or "–"


def faults(known: set[str], tests: dict[str, list[str]]) -> list[str]:
    """Marks that name no requirement, and requirements of the source document that have no sentence."""
    unknown = [f"{found[0]}: {item!r} is no requirement" for item, found in tests.items() if item not in known]
    asked: set[str] = set()
    if SOURCE.is_file():
        asked = set(re.findall(r"\*\*((?:S\d|[IC])-\d\d)\b", SOURCE.read_text(encoding="utf-8")))
    return unknown + [f"{item} has no sentence in tools/requirements.toml" for item in sorted(asked - known)]


def main(arguments: list[str]) -> int:
    """Print and write, or only compare."""
    chapters, tests = parts(), marks()
    ids = [item for part in chapters for item in part.items]
    text = page(chapters, tests)
    wrong = faults(set(ids), tests)
    if arguments == ["--check"]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            wrong.append("docs/requirements.md is stale: run `make docs` and commit it")
    elif arguments:
        wrong.append(f"unknown argument {arguments[0]!r}: there is only --check")
    else:
        PAGE.write_text(text, encoding="utf-8")
        for item in ids:
            print(*(f"{item}  {test}" for test in tests.get(item, [])), sep="\n", end="\n" if item in tests else "")
        print("without a test:", *(item for item in ids if item not in tests))
        print(f"{sum(item in tests for item in ids)} of {len(ids)} have a test")
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
