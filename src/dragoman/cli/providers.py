"""`dragoman providers`: who can be asked, over which wires, where, and whether a key is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from dragoman import config
from dragoman.catalog.find import is_loopback
from dragoman.catalog.provider import Provider, plugged
from dragoman.cli.columns import columns
from dragoman.cli.output import say, tell
from dragoman.cli.settings import environment


@click.command("providers")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def command(words: tuple[str, ...], as_json: bool) -> None:
    """List the providers: those of the library, of installed packages and of your dragoman.toml.

    Each WORD must stand in a provider's name, aliases, wires or address. No key is shown, only whether one is set.
    """
    env = environment()
    for failed in plugged():
        tell(failed)
    said = config.load(env)
    rows = sorted({row.name: row for row in said.rows.values()}.values(), key=lambda row: row.name)
    found = [row for row in rows if all(word.lower() in _text(row) for word in words)]
    if as_json:
        say(msgspec.json.encode([told(row, env) for row in found]).decode())
    elif found:
        say("\n".join(columns([(row.name, ", ".join(row.wires), _key(row, env), row.base_url) for row in found])))
    else:
        tell(f"no provider of {len(rows)} goes by {' '.join(words)}")


def told(row: Provider, env: Mapping[str, str]) -> dict[str, Any]:
    """A row for --json: what is in it, and whether its key is set."""
    made = msgspec.to_builtins(row)
    kept = {
        key: made[key] for key in ("name", "label", "aliases", "wires", "base_url", "base_env", "key_env", "source")
    }
    state = "set" if _set(row, env) else "optional" if _optional(row) else "missing"
    places = {wire: place.base_url for wire, place in row.at.items() if place.base_url}
    return {**kept, "base_urls": places, "key": state, "key_found_in": _set(row, env)}


def _key(row: Provider, env: Mapping[str, str]) -> str:
    found = _set(row, env)
    if found:
        return f"{found} is set"
    return "needs no key" if _optional(row) else f"wants {row.key_env[0]}"


def _set(row: Provider, env: Mapping[str, str]) -> str | None:
    return next((name for name in row.key_env if env.get(name, "").strip()), None)


def _optional(row: Provider) -> bool:
    return row.key == "optional" or is_loopback(row.base_url)


def _text(row: Provider) -> str:
    return " ".join((row.name, row.label, *row.aliases, *row.wires, row.base_url)).lower()
