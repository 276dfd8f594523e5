"""Guards the shape of the house: who may import whom, how long things may be, and what may not be written where."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shape_rules as rules
from shape_rules import Source

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
PACKAGE = SRC / "dragoman"

# What each part of the package may import of the package. A new part needs a row; a new arrow needs a reason,
# given in docs/architecture.md.
VALUES = ("errors", "types", "dialect", "passed")
BELOW_CLIENT = (
    *VALUES,
    "secret",
    "wire",
    "carriers",
    "translate",
    "convert",
    "history",
    "explain",
    "caching",
    "catalog",
    "auth",
    "transport",
    "config",
)
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": ("types",),
    "types": ("errors",),
    "secret": (),
    "passed": ("errors",),
    "dialect": ("errors", "types"),
    "wire": VALUES,
    "history": (*VALUES, "wire"),
    "explain": (*VALUES, "wire", "history"),
    "carriers": (*VALUES, "wire"),
    "translate": (*VALUES, "wire", "history", "carriers"),
    "positions": (*VALUES, "wire"),
    "convert": (*VALUES, "wire", "translate", "carriers", "catalog"),
    "catalog": (*VALUES, "secret", "wire"),  # the wires of other packages are registered through it
    "auth": (*VALUES, "wire.base"),
    "transport": (*VALUES, "wire.base", "auth", "secret", "__version__"),  # the version: who we say we are
    "config": (*VALUES, "catalog"),
    "engine": (*VALUES, "wire", "transport", "config"),
    "tools": ("errors", "types", "history", "transport.cancel"),
    "client": (*BELOW_CLIENT, "tools", "engine"),
    "agent": (*VALUES, "history", "tools", "client", "transport"),
    "logs": (*VALUES, "wire", "history", "agent"),
    "caching": VALUES,
    "money": (*VALUES, "wire", "catalog", "client", "engine"),  # the engine: where our data folder is
    "doctor": (*VALUES, "wire", "money", "transport.recording"),
    "telemetry": (*VALUES, "client"),
    "gateway": (*BELOW_CLIENT, "engine", "client", "telemetry"),
    "inspector": VALUES,
    "testing": (*BELOW_CLIENT, "engine", "client"),
    "tinylangchain": (*BELOW_CLIENT, "secret", "client"),
    "cli": ("",),
    "__main__": ("cli",),
    "__init__": ("",),
}
PURE = (
    *("errors", "types", "dialect", "wire", "history", "carriers", "translate", "convert", "positions", "auth"),
    *("caching", "explain", "passed"),
)
LIBRARIES = frozenset(sys.stdlib_module_names) | {"msgspec"}  # all that the pure parts may use
OUTSIDE_WORLD = (
    *("socket", "ssl", "select", "selectors", "http", "urllib.request", "httpx2"),
    *("os", "pathlib", "shutil", "tempfile", "glob", "sqlite3", "logging"),
    *("time", "random", "secrets", "uuid"),
    *("asyncio", "anyio", "threading", "subprocess", "multiprocessing", "concurrent", "signal"),
)
VENDOR_SDKS = ("openai", "anthropic", "google", "mistralai", "cohere", "boto3", "litellm")

# The boundaries at which whatever goes wrong becomes an answer: a tool and an observer are anybody's code, and a
# command must not trace back.
MAY_CATCH_ALL = frozenset(
    {
        "tools/function.py",
        "agent/crew.py",
        "client/observe.py",
        "client/litellm.py",
        "gateway/app.py",
        "cli/__init__.py",
        "cli/main.py",
        "tinylangchain.py",
    }
)


def part(path: Path) -> str:
    """The part of the package that a file belongs to: its top folder, or its own name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> Source:
    return Source.read(path, SRC if path.is_relative_to(SRC) else ROOT)


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """The trees of all files are a lot to look through for garbage: not while they grow, and not by who looks for leaks
    next."""
    gc.disable()
    yield
    parsed.cache_clear()
    gc.enable()


def below(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


CODE = below("src/dragoman")
TESTS = below("tests")
BESIDE = below("tools", "benchmarks", "examples")
PURE_CODE = [path for path in CODE if part(path) in PURE]


def faults(rule: Callable[[Source], list[str]], paths: list[Path]) -> list[str]:
    """What a rule finds in files, each with its place. A rule of no file would find nothing: that is no finding."""
    assert paths
    return [f"{path.relative_to(ROOT)}: {fault}" for path in paths for fault in rule(parsed(path))]


@pytest.mark.req("S0-01", "S0-04")
def test_each_part_imports_only_what_the_plan_allows() -> None:
    new = {part(path) for path in CODE} - {*MAY_IMPORT}
    assert not new, f"{new} is new: give it a row in MAY_IMPORT"

    def border(source: Source) -> list[str]:
        own = part(source.path)
        return rules.border(source, tuple(f"dragoman.{name}".rstrip(".") for name in (*MAY_IMPORT[own], own)))

    assert faults(border, CODE) == []


@pytest.mark.req("S0-04")
def test_nothing_below_the_transport_touches_the_outside_world() -> None:
    assert faults(lambda source: rules.impure(source, OUTSIDE_WORLD), PURE_CODE) == []
    assert faults(lambda source: rules.only_from(source, LIBRARIES), PURE_CODE) == []


def test_no_vendor_sdk_in_the_package() -> None:
    assert faults(lambda source: rules.impure(source, VENDOR_SDKS), CODE) == []


@pytest.mark.req("S0-01")
def test_no_vendor_is_named_where_formats_and_loops_are_made() -> None:
    assert faults(rules.vendor_names, [path for path in CODE if part(path) in {"wire", "agent"}]) == []


def test_size_budget() -> None:
    assert faults(rules.too_long, [*CODE, *TESTS, *BESIDE]) == []


def test_parameters() -> None:
    assert faults(rules.too_many_parameters, [*CODE, *BESIDE]) == []


def test_public_signatures_name_what_they_take() -> None:
    assert faults(rules.open_keywords, CODE) == []


def test_nothing_is_caught_blindly() -> None:
    narrow = [path for path in CODE if path.relative_to(PACKAGE).as_posix() not in MAY_CATCH_ALL]
    assert faults(rules.broad_excepts, narrow) == []


def test_a_folder_is_one_sentence() -> None:
    assert faults(rules.no_sentence, [path for path in CODE if path.name == "__init__.py"]) == []


def test_each_test_file_says_what_it_guards() -> None:
    assert faults(rules.no_docstring, TESTS) == []


def test_public_names_are_sorted_and_complete() -> None:
    dragoman = importlib.import_module("dragoman")
    if not hasattr(dragoman, "__all__"):
        pytest.skip("dragoman has no public names yet")
    names = list(dragoman.__all__)
    assert names == sorted(set(names), key=_order)
    assert [name for name in names if not hasattr(dragoman, name)] == []
    assert [name for name in dir(dragoman) if _is_public(dragoman, name) and name not in names] == []


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the linter's own order."""
    bare = name.lstrip("_")
    return (0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2), name


def _is_public(module: ModuleType, name: str) -> bool:
    value: Any = getattr(module, name)
    home = getattr(value, "__module__", "") or ""
    return not name.startswith("_") and not isinstance(value, ModuleType) and home.startswith("dragoman")


def parameters(count: int, *, first: str = "") -> str:
    return ", ".join([*([first] if first else []), *(f"p{index}" for index in range(count))])


# One row a rule: what it must find fault with. A rule that finds nothing in anything guards nothing.
BROKEN: list[tuple[str, Any, str]] = [
    ("border", lambda s: rules.border(s, ("dragoman.types",)), "from dragoman.client import Model"),
    ("border, deep", lambda s: rules.border(s, ("dragoman.types",)), "def f():\n    import dragoman.gateway.app"),
    ("border, relative", lambda s: rules.border(s, ("dragoman.types",)), "from ..client import Model"),
    ("border, one module", lambda s: rules.border(s, ("dragoman.wire.base",)), "from dragoman.wire import find"),
    ("impure", lambda s: rules.impure(s, OUTSIDE_WORLD), "import asyncio"),
    ("impure, from", lambda s: rules.impure(s, OUTSIDE_WORLD), "from os import environ"),
    ("impure, dotted", lambda s: rules.impure(s, OUTSIDE_WORLD), "import urllib.request"),
    ("impure, clock", lambda s: rules.impure(s, ()), "from datetime import datetime\nx = datetime.now()"),
    ("libraries", lambda s: rules.only_from(s, LIBRARIES), "import pydantic"),
    ("sdk", lambda s: rules.impure(s, VENDOR_SDKS), "from openai import OpenAI"),
    ("vendor, identifier", rules.vendor_names, "def for_deepseek(): ..."),
    ("vendor, attribute", rules.vendor_names, "x = settings.OpenRouterKey"),
    ("vendor, string", rules.vendor_names, "if host == 'api.groq.com': ..."),
    ("vendor, bytes", rules.vendor_names, "x = b'x_groq'"),
    ("vendor, header", rules.vendor_names, "x = 'anthropic-organization'"),
    ("long file", rules.too_long, "x = 1\n" * 401),
    ("long function", rules.too_long, "def f():\n" + "    x = 1\n" * 60),
    ("parameters", rules.too_many_parameters, f"def f({parameters(7)}): ..."),
    ("parameters, by name", rules.too_many_parameters, f"def f(*, {parameters(7)}): ..."),
    ("parameters, click", rules.too_many_parameters, f"@click.option('--x')\ndef f({parameters(7)}): ..."),
    ("parameters, model", rules.too_many_parameters, f"class Model:\n    def f({parameters(7, first='self')}): ..."),
    ("parameters, other", rules.too_many_parameters, f"class A:\n    def f(self, *, {parameters(7)}): ..."),
    ("keywords", rules.open_keywords, "def f(**kwargs: Any): ..."),
    ("keywords, bare", rules.open_keywords, "class A:\n    def f(self, **options): ..."),
    ("catch all", rules.broad_excepts, "try: f()\nexcept Exception: pass"),
    ("catch all, bare", rules.broad_excepts, "try: f()\nexcept: return_()"),
    ("catch all, tuple", rules.broad_excepts, "try: f()\nexcept (ValueError, BaseException) as e: raise X from e"),
    ("suppress", rules.broad_excepts, "with contextlib.suppress(Exception): f()"),
    ("sentence, none", rules.no_sentence, "x = 1"),
    ("sentence, two", rules.no_sentence, "'''One. Two.'''"),
    ("sentence, no end", rules.no_sentence, "'''A heading'''"),
    ("docstring", rules.no_docstring, "import x\n'''Late.'''"),
]

# What must pass, so that no rule fits everything.
SOUND: list[tuple[str, Any, str]] = [
    ("border", lambda s: rules.border(s, ("dragoman.types",)), "import json\nfrom dragoman.types.note import Note"),
    ("impure", lambda s: rules.impure(s, OUTSIDE_WORLD), "import urllib.parse, json\nx = table.now()"),
    ("vendor", rules.vendor_names, "'''The OpenAI format.'''\nx = 'anthropic-version'  # Claude"),
    ("parameters, click", rules.too_many_parameters, f"@click.option('--x')\ndef f(ctx, *, {parameters(9)}): ..."),
    (
        "parameters, model",
        rules.too_many_parameters,
        f"class Model:\n    def chat(self, messages, *, {parameters(9)}): ...",
    ),
    ("keywords", rules.open_keywords, "def f(**facts: str): ...\ndef _g(**kwargs: Any): ..."),
    ("catch all", rules.broad_excepts, "try: f()\nexcept BaseException:\n    close()\n    raise"),
    ("sentence", rules.no_sentence, "'''One pure codec a format: bytes in, values out.'''"),
]


@pytest.mark.parametrize(("rule", "text"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_each_rule_finds_what_it_is_for(rule: Any, text: str) -> None:
    assert len(rule(Source.of(text))) == 1


@pytest.mark.parametrize(("rule", "text"), [row[1:] for row in SOUND], ids=[row[0] for row in SOUND])
def test_no_rule_finds_fault_with_sound_code(rule: Any, text: str) -> None:
    assert rule(Source.of(text)) == []
