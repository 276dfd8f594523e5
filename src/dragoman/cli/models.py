"""`dragoman models`: what is known of models, and what they cost."""

from __future__ import annotations

from decimal import Decimal

import click
import msgspec

from dragoman.catalog.models import ModelFacts, search
from dragoman.cli.columns import columns
from dragoman.cli.output import say, tell

HEAD = ("", "context", "output", "reads", "$ in", "$ cached", "$ out")
UNLISTED = "a model that is not listed can be asked for all the same: PROVIDER/MODEL"


@click.command("models")
@click.option(
    "--search", "text", metavar="TEXT", default="", help="Those whose provider and name hold each word of it."
)
@click.option("--json", "as_json", is_flag=True, help="A JSON array of all that is known.")
def command(text: str, as_json: bool) -> None:
    """List the models that something is known of. Prices are US dollars for a million tokens."""
    found = list(search(text))
    if as_json:
        say(msgspec.json.Encoder(decimal_format="number").encode(found).decode())
        return
    if not found:
        tell(f"no model is known by {text}; {UNLISTED}")
        return
    say("\n".join(columns([HEAD, *(row(facts) for facts in found)], right=(1, 2, 4, 5, 6))))
    dates = sorted({f"{facts.prices.source} ({facts.prices.date})" for facts in found if facts.prices})
    tell(f"{len(found)} models; prices: {', '.join(dates) or 'none known'}; {UNLISTED}", dim=True)


def row(facts: ModelFacts) -> tuple[str, ...]:
    """A model as the cells of a line; what is not known stays empty."""
    prices = facts.prices
    rates = (prices.input, prices.cache_read, prices.output) if prices else (None, None, None)
    limits = (facts.context, facts.max_output)
    return (
        f"{facts.provider}/{facts.id}",
        *("" if limit is None else f"{limit:,}" for limit in limits),
        ", ".join(facts.inputs),
        *(dollars(rate) for rate in rates),
    )


def dollars(rate: Decimal | None) -> str:
    """A rate as people read it: two places, four where it has more, and four figures of one that is smaller still."""
    if rate is None:
        return ""
    places = -int(rate.as_tuple().exponent)
    return f"{rate:.2f}" if places <= 2 else f"{rate:.4f}".rstrip("0") if rate >= Decimal("0.001") else f"{rate:.4g}"
