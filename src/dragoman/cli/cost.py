"""`dragoman cost`: what calls used and cost, out of the ledger."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_args

import click
import msgspec

from dragoman.cli.columns import columns
from dragoman.cli.output import say
from dragoman.errors import UsageError
from dragoman.money.ledger import ENV, By, Ledger, path_of
from dragoman.money.show import dollars, percent, times
from dragoman.money.totals import Totals, told

HEAD = ("", "calls", "tokens in", "cached", "tokens out", "cost", "", "uncached")
NUMBERS = (1, 2, 3, 4, 5, 7)  # the columns whose cells end together
LABELS = {
    "reported": "reported: the services' own figures",
    "derived": "derived: tokens that the services reported, at list prices",
    "estimated": "estimated: some tokens or prices are guesses; --json with --by turn says which",
}


class CostOptions(TypedDict):
    """The options of `dragoman cost`."""

    by: By
    session: str | None
    since: datetime | None
    ledger: Path | None
    as_json: bool


@click.command("cost")
@click.option("--by", type=click.Choice(get_args(By)), default="model", show_default=True, help="What to sum up by.")
@click.option("--session", metavar="NAME", help="The calls of one session only.")
@click.option("--since", metavar="DAY", type=click.DateTime(["%Y-%m-%d"]), help="The calls since a day, of UTC, only.")
@click.option("--ledger", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Another ledger.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
def command(**options: Unpack[CostOptions]) -> None:
    """What calls used and cost.

    Each sum says how far it is to be trusted: reported by the services, derived from their tokens and list prices, or
    estimated. `uncached` is what the same tokens cost where nothing is cached. A turn is one call of its session.
    """
    path = options["ledger"] or path_of(os.environ)
    if path is None:
        raise UsageError("usage", f"{ENV} is off: --ledger FILE names one")
    since = options["since"]
    day = None if since is None else since.replace(tzinfo=UTC)
    rows: list[Totals] = []
    whole: list[Totals] = []
    said: list[dict[str, Any]] = []
    if options["ledger"] is not None or path.exists():
        with Ledger(path, create=False) as ledger:
            rows = ledger.totals(options["by"], session=options["session"], since=day)
            whole = ledger.totals(session=options["session"], since=day)
            if options["as_json"] and options["by"] == "turn":
                said = [msgspec.to_builtins(entry) for entry in ledger.entries(session=options["session"], since=day)]
    if options["as_json"]:
        total = told(whole[0]) if whole else None
        out = {"ledger": str(path), "by": options["by"], "rows": [told(row) for row in rows], "total": total}
        say(msgspec.json.encode(out | ({"calls": said} if said else {})).decode())
    elif whole:
        say("\n".join([*table(rows, whole[0]), "", *remarks(whole[0], alone=options["session"] is not None)]))
    else:
        say(f"no calls in {path}")


def table(rows: Sequence[Totals], whole: Totals) -> list[str]:
    """The sums in columns, and below them the whole where it is more than one of them."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    if len(rows) > 1:
        lines.append(_cells(msgspec.structs.replace(whole, name="all")))
    return columns(lines, right=NUMBERS)


def remarks(whole: Totals, *, alone: bool) -> list[str]:
    """What the figures mean, a line a thing; only what is to be said. `alone`: they are of one session."""
    lines = [LABELS[whole.label]] if whole.label else []
    if whole.output_share is not None:
        lines.append(f"output is {percent(whole.output_share)} of the cost")
    if alone and whole.resent_ratio is not None and whole.calls > 1:
        lines.append(f"{times(whole.resent_ratio, 1)} the last call's input was sent in all")
    if whole.attempts > whole.calls:
        lines.append(f"{whole.attempts} requests were sent for {whole.calls} calls; what failed ones cost is not known")
    if whole.failed:
        lines.append(f"{whole.failed} of {whole.calls} calls did not come to their end")
    if whole.unpriced:
        lines.append(f"what {whole.unpriced} of {whole.calls} calls cost is not known: the sum is without them")
    return lines


def _cells(row: Totals) -> tuple[str, ...]:
    cost = dollars(row.cost) if row.label else "?"
    full = f"{dollars(row.full)} {times(row.full_ratio)}" if row.full_ratio is not None else ""
    counts = (row.calls, row.input, row.cache_read, row.output)
    return (row.name, *(f"{count:,}" for count in counts), cost, row.label or "", full)
