"""A peer's compliance suite against `dragoman serve`: docs/comply.md.

python tools/comply.py                     every protocol of the suite before every back end, in a table
python tools/comply.py --write             the same, and write the page
python tools/comply.py --protocol anthropic --backend local --json

The suite is another project's (PACKAGE), installed in a folder of its own. Behind the server stands a model that does what it
is asked (tests/obliging.py), once on each wire, and the local model where it is installed. The exit code is 0 if all passed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from dragoman.engine.store import DEFAULT, find_installed  # noqa: E402
from dragoman.testing import FakeProvider  # noqa: E402
from obliging import oblige  # noqa: E402

PACKAGE = "llm-comply==0.5.0"
VENV = ROOT / ".clients" / "comply"
PAGE = ROOT / "docs" / "comply.md"
BACKENDS = ("chat", "responses", "messages", "local")
# The suite's name of a protocol → what clients of it speak here, and a model's name with which it leaves nothing out.
PROTOCOLS = {
    "openai-chat": ("chat", "gpt-5-any"),
    "open-responses": ("responses", "gpt-5-any"),
    "anthropic": ("messages", "claude-opus-any"),
}
ADVISORY = ("compact-response", "compact-missing-model")  # an end that no service but one has; the suite takes a 404
# Of a model with 135 million parameters: that it speaks, not what it can.
SPEAKS = ("basic-response", "system-prompt", "multi-turn", "streaming-response", "streaming-usage", "error-handling")
HEAD = f"""\
# Another project's tests of the three protocols

Written by `python tools/comply.py --write`; no figure here is typed by hand.

`{PACKAGE}` tests a service from outside: whole replies against the vendors' published schemas, each event of a Responses
stream, usage, tools, images, reasoning, errors. Here it asks `dragoman serve`, behind which stands a model of each wire that
calls the tool it is offered, keeps to a schema, thinks when told to, and else says back what was said (`tests/obliging.py`);
last the model on this machine, for what a model of 135 million parameters can be asked.

    $ python tools/comply.py

"""
FOOT = """
*Advised*: what the suite points out and does not count.{advice}

`compact-response` and `compact-missing-model` ask for an end that keeps conversations on the server; the suite takes the 404 that
it gets here.
"""


class Result(NamedTuple):
    """One protocol of the suite before one back end. `failed` and `advised` are the suite's own words, by test."""

    protocol: str
    backend: str
    passed: int
    total: int
    failed: dict[str, list[str]]
    advised: dict[str, list[str]]
    skipped: list[str]


def suite(venv: Path) -> Path:
    """The suite's command, installed if it is not there."""
    command = venv / "bin" / "llm-comply"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, PACKAGE], check=True)
    return command


@contextmanager
def served(backend: str) -> Generator[str]:
    """`dragoman serve` before a back end, as a process of its own: its address."""
    if backend == "local":
        with _serving("local") as url:
            yield url
        return
    with FakeProvider(backend, script=oblige) as fake, _serving(fake.spec) as url:
        yield url


@contextmanager
def _serving(spec: str) -> Generator[str]:
    argv = [
        str(Path(sys.executable).with_name("dragoman")),
        "serve",
        "--model",
        spec,
        "--port",
        "0",
        "--json",
        "--no-ledger",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline() if server.stdout is not None else ""
            if not line:
                raise RuntimeError(f"dragoman serve --model {spec} did not start")
            yield json.loads(line)["url"]
        finally:
            server.terminate()


def run(command: Path, protocol: str, backend: str, url: str) -> Result:
    """The suite's tests of one protocol. Raises RuntimeError with its words where it gives no result."""
    wire, model = PROTOCOLS[protocol]
    argv = [str(command), "--json", "--format", protocol, "-u", f"{url}/v1", "-k", "any", "-m", model]
    if wire == "messages":
        argv += ["-H", "anthropic-version:2023-06-01", "--auth-header", "x-api-key", "--no-bearer"]
    if backend == "local":
        prefix = {"chat": "chat-", "messages": "anth-"}.get(wire, "")
        argv += ["-f", ",".join(prefix + name for name in SPEAKS)]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    try:
        said: dict[str, Any] = json.loads(ran.stdout)
    except ValueError:
        raise RuntimeError(f"{' '.join(argv)}: {ran.stdout[-500:]}{ran.stderr[-500:]}") from None
    tests = said["results"]
    return Result(
        protocol=protocol,
        backend=backend,
        passed=said["summary"]["passed"],
        total=said["summary"]["total"],
        failed={test["id"]: test["errors"] for test in tests if test["status"] == "failed"},
        advised={test["id"]: test["warnings"] for test in tests if test.get("warnings")},
        skipped=[test["id"] for test in tests if test["status"] == "skipped"],
    )


def results(options: argparse.Namespace) -> Iterator[Result]:
    """Every protocol before every back end that was asked for and is there."""
    command = suite(options.venv)
    for backend in options.backend or BACKENDS:
        if backend == "local" and find_installed(DEFAULT, os.environ) is None:
            print("the local model is not installed (dragoman local install): left out", file=sys.stderr)
            continue
        with served(backend) as url:
            for protocol in options.protocol or PROTOCOLS:
                yield run(command, protocol, backend, url)


def page(found: Sequence[Result]) -> str:
    """The page."""
    rows = ["| the suite's protocol | back end | passed | of | advised |", "|---|---|---|---|---|"]
    for each in found:
        told = sum(1 for test in each.advised if test not in ADVISORY)
        rows.append(f"| {each.protocol} | {each.backend} | {each.passed} | {each.total} | {told or '–'} |")
    failed = [f"- {each.protocol}, {each.backend}: `{test}`" for each in found for test in each.failed]
    words = [f"\n\n## Not passed\n\n{chr(10).join(failed)}\n"] if failed else []
    return HEAD + "\n".join(rows) + "\n" + FOOT.format(advice=_advice(found)) + "".join(words)


def _advice(found: Sequence[Result]) -> str:
    told: dict[str, list[str]] = {}
    for each in found:
        for test, words in each.advised.items():
            if test not in ADVISORY:
                for word in words:
                    told.setdefault(word.replace("|", "/"), []).append(test)
    lines = [f"- {word}: {', '.join(f'`{test}`' for test in dict.fromkeys(tests))}" for word, tests in told.items()]
    return "\n\n" + "\n".join(lines) if lines else ""


def main(argv: Sequence[str]) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", action="append", choices=PROTOCOLS, help="only this one")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="only this one")
    parser.add_argument("--venv", type=Path, default=VENV, help="where the suite is, or shall be, installed")
    parser.add_argument("--json", action="store_true", help="an object a line")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(argv)
    found: list[Result] = []
    for each in results(options):
        found.append(each)
        if options.json:
            print(json.dumps(each._asdict()), flush=True)
            continue
        print(f"{each.protocol:15} {each.backend:10} {each.passed:2} of {each.total}", flush=True)
        for test, words in each.failed.items():
            print(f"    {test}: {'; '.join(words)[:600]}", flush=True)
    if options.write:
        PAGE.write_text(page(found), "utf-8")
    return 0 if found and all(each.passed == each.total for each in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
