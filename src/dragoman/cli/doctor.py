"""`dragoman doctor`: what moved in the prefix of consecutive requests, why, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.output import one_line, say
from dragoman.doctor import Exam, Finding, examine, load
from dragoman.errors import UsageError
from dragoman.types.note import show_path

FOUND = 1


@click.command("doctor")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
def command(*, path: Path, as_json: bool) -> int:
    """Find what keeps a prompt cache from being hit.

    PATH is a folder of recorded exchanges, a file of request bodies as JSON lines (a line may hold `request` and `usage`),
    or a saved conversation. Exit 0 when every request began with the one before it, 1 when one did not.
    """
    exam = examine(load(path))
    if not exam.requests:
        raise UsageError("usage", f"{path} holds no request to a model")
    if as_json:
        say(msgspec.json.encode(_told(exam)).decode())
    else:
        say("\n".join(lines(exam)))
    return FOUND if exam.findings else 0


def lines(exam: Exam) -> list[str]:
    """What people read of an exam: four lines a finding, and one of all."""
    return [*(line for finding in exam.findings for line in _lines(finding)), _summary(exam)]


def _lines(finding: Finding) -> list[str]:
    place = f" {show_path(finding.path)}" if finding.path else ""
    return [
        one_line(f"{finding.request} (turn {finding.turn}, after {finding.before}) {finding.cause}{place}"),
        f"  {one_line(finding.seen)}",
        f"  {_cost(finding)}",
        f"  {finding.advice}",
    ]


def _cost(finding: Finding) -> str:
    if finding.hit is None:
        return f"about {finding.tokens:,} tokens were to be read anew (estimated)"
    before, now = finding.hit
    return f"{finding.tokens:,} tokens were read anew: the hit went from {before:,} to {now:,}"


def _summary(exam: Exam) -> str:
    counts = f"{_many(exam.requests, 'request')} in {_many(exam.conversations, 'conversation')}"
    if not exam.findings:
        return f"{counts}: each began with the whole of the one before it"
    return f"{counts}: {_many(len(exam.findings), 'finding')}, {_many(exam.tokens, 'token')} read anew"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _told(exam: Exam) -> dict[str, Any]:
    findings = [
        msgspec.to_builtins(each) | {"path": show_path(each.path) if each.path else None} for each in exam.findings
    ]
    return {
        "requests": exam.requests,
        "conversations": exam.conversations,
        "tokens": exam.tokens,
        "findings": findings,
    }
