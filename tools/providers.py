"""Who can be asked, over which wire, with which facts, and which of them were seen: docs/providers.md.

    python tools/providers.py            write the page
    python tools/providers.py --check    exit 1 if the page is stale, or a fact of a provider changes nothing
    python tools/providers.py --direct   count the code that one direct call of a chat service loads (S3-20)

A fact counts as seen when what is sent or read differs without it (tests/facts_seen.py).
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from dragoman.catalog import models  # noqa: E402
from dragoman.catalog.find import VARIABLE, find  # noqa: E402
from dragoman.catalog.provider import Provider, providers, signature  # noqa: E402
from dragoman.catalog.wires import PROTOCOLS, WIRES  # noqa: E402
from dragoman.dialect.find import rows as dialect_rows  # noqa: E402
from dragoman.dialect.model import Dialect  # noqa: E402
from facts_seen import UNSEEN, differing, seen  # noqa: E402

PAGE = ROOT / "docs" / "providers.md"
HEAD = """\
# Providers, their wires, and what was seen of their facts

Written by `make docs` from `src/dragoman/catalog/providers.toml`, `src/dragoman/dialect/rows.toml` and the code that
obeys them; do not edit. How to add or change a row: [configuration](configuration.md).

    dragoman providers              the same list, and whether your keys are set
    dragoman check openai/gpt-5.2   whether one can be reached

"""
PROTOCOL_HEAD = """
## Protocols by the names of another system

`PROVIDER/MODEL#ID` takes these ids too ([pi](architectures.md)); any other id is the wire that somebody registers under it.

| id | here |
|---|---|
"""
WIRE_HEAD = """
## Provider, wire, dialect, facts

Each line was called over a real socket on this machine (`tests/unit/catalog/test_exercised.py`), and each fact named in it
was taken back to the wire's base: what is sent or read differs then, or the fact would not stand here. A dash means that
the server is taken to be as the wire's own vendor documents it.

| provider | wire | address | key sent as | dialect | facts seen |
|---|---|---|---|---|---|
"""
PROVIDER_HEAD = """
## Names, keys, sources

| provider | also called | key, the first that is set | other address | models known | source |
|---|---|---|---|---|---|
"""


def unique() -> list[Provider]:
    """Every row once, by name."""
    return sorted({row.name: row for row in providers().values()}.values(), key=lambda row: row.name)


def dialect_of(row: Provider, wire: str) -> Dialect:
    """The facts that hold for a provider on a wire, whatever the model."""
    places = " ".join((row.base_url, *(place.base_url or "" for place in row.at.values())))
    return find(f"{row.name}/-#{wire}", dict.fromkeys(VARIABLE.findall(places), "x"), keyless=True).dialect


@cache
def facts(text: bytes, wire: str, provider: str) -> tuple[str, ...]:
    """The facts of a dialect that were seen; rows that share a dialect are looked at once."""
    return tuple(seen(msgspec.json.decode(text, type=Dialect), wire, provider))


def exercised(row: Provider, wire: str) -> tuple[list[str], list[str]]:
    """The facts of a provider that were seen, and those that change nothing."""
    dialect, name = dialect_of(row, wire), row.like or row.name
    bare = msgspec.structs.replace(dialect, name=name, source="")
    found = list(facts(msgspec.json.encode(bare), wire, name))
    lost = [fact for fact in differing(dialect) if fact not in found and (name, wire, fact) not in UNSEEN]
    return found, lost


def page() -> tuple[str, list[str]]:
    """The text of docs/providers.md, and what is wrong with what it tells."""
    known = Counter(fact.provider for fact in models.search())
    rows = unique()
    spoken = Counter(wire for row in rows for wire in row.wires)
    said = [f"**{len(rows)} providers** under {len(providers())} names"]
    said += [f"{spoken[wire]} speak {wire}" for wire in WIRES if spoken[wire]]
    said += [f"{sum(known.values()):,} models known", f"{len(dialect_rows())} dialects with a source each"]
    text, wrong = HEAD + "; ".join(said) + ".\n" + PROTOCOL_HEAD, []
    for name, protocol in PROTOCOLS.items():
        text += f"| `{name}` | {protocol.wire or f'known, not built: {protocol.instead}'} |\n"
    text += WIRE_HEAD
    for row in rows:
        for wire in row.wires:
            found, lost = exercised(row, wire)
            wrong += [f"{row.name} on {wire}: {fact} changes nothing that is sent or read" for fact in lost]
            text += _line(row, wire, found)
    text += PROVIDER_HEAD
    for row in rows:
        cells = (row.name, ", ".join(row.aliases), _code(row.key_env), _code(row.base_env), known[row.name] or "–")
        optional = " (optional)" if row.key == "optional" else ""
        text += f"| {cells[0]} | {cells[1]} | {cells[2]}{optional} | {cells[3]} | {cells[4]} | {row.source} |\n"
    return text, wrong


def _line(row: Provider, wire: str, found: list[str]) -> str:
    place = row.place(wire)
    header, form = signature(place.auth or WIRES[wire].auth)
    name = row.like or row.name
    dialect = f"`{name}.{wire}`" if (name, wire) in dialect_rows() else "base"
    sent = f"`{header}: {form.format('…')}`"
    return f"| {row.name} | {wire} | `{place.base_url}` | {sent} | {dialect} | {_code(found) or '–'} |\n"


def _code(words: Any) -> str:
    return ", ".join(f"`{word}`" for word in words)


def direct() -> str:
    """What one direct call loads: lines that are neither blank nor comment nor docstring, by the parts of the package."""
    code = (
        "import sys; from dragoman import Model; from dragoman.testing.fake import FakeProvider as F\n"
        "with F('chat') as f, Model(f.spec, env={}, transport='stdlib') as m: m.chat('hi')\n"
        "print(*(getattr(m, '__file__', None) or '' for n, m in sys.modules.items() if n.startswith('dragoman.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package = ROOT / "src" / "dragoman"
    files = [Path(name) for name in done.stdout.split() if name.endswith(".py")]
    counts: Counter[str] = Counter()
    for path in files:
        part = path.relative_to(package).parts[0].removesuffix(".py")
        if part != "testing":
            counts[part] += net(path.read_text(encoding="utf-8"))
    parts = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    return f"{sum(counts.values())} net lines: {parts}"


def net(text: str) -> int:
    """The lines of a module on which code stands."""
    tree = ast.parse(text)
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.end_lineno:
                prose.update(range(first.lineno, first.end_lineno + 1))
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in kinds:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def main(arguments: list[str]) -> int:
    """Write, or only compare, or only count."""
    if arguments == ["--direct"]:
        print(direct())
        return 0
    if arguments not in ([], ["--check"]):
        print(f"unknown argument {arguments[0]!r}: there are --check and --direct", file=sys.stderr)
        return 1
    text, wrong = page()
    if not arguments:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        wrong.append("docs/providers.md is stale: run `make docs` and commit it")
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
