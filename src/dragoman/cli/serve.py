"""`dragoman serve`: any model, for clients of any wire, on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import SystemRandom
from time import gmtime, strftime
from typing import Any, TypedDict, Unpack

import click
import msgspec

from dragoman import AsyncModel, __version__
from dragoman.carriers import Carrier, MemoryStore
from dragoman.cli.accounts import Accounts
from dragoman.cli.output import say, tell
from dragoman.cli.settings import environment
from dragoman.client import Exchanged, Observer
from dragoman.errors import UsageError
from dragoman.secret import Secret

KEY_ENV = "DRAGOMAN_SERVE_KEY"
CARRIER_ENV = "DRAGOMAN_CARRIER_KEY"


class Said(TypedDict):
    """The options that say how, beside who answers and where."""

    template: Path | None
    key_env: str
    origins: tuple[str, ...]
    hosts: tuple[str, ...]
    retries: int
    strict: bool
    passthrough: bool
    call_first: bool
    ledger: bool
    max_body: int
    max_active: int
    drain: float


@click.command("serve")
@click.option("--model", "models", metavar="[NAME=]SPEC", multiple=True, required=True, help="Who answers.")
@click.option("--template", type=click.Path(path_type=Path), metavar="FILE", help="The chat template of URL#text:NAME.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8790, show_default=True, help="0: a free one.")
@click.option("--key-env", metavar="NAME", default=KEY_ENV, show_default=True, help="Where the clients' key is.")
@click.option("--cors", "origins", metavar="ORIGIN", multiple=True, help="A page that may ask; * for all.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Another name that clients call us by.")
@click.option("--retries", type=click.IntRange(0), default=0, show_default=True, help="Tries again, before a word.")
@click.option("--strict", is_flag=True, help="Refuse a request that would lose something.")
@click.option("--passthrough/--no-passthrough", default=True, help="Pass bytes untouched where nothing must change.")
@click.option("--call-first", is_flag=True, help="A turn begins with a call, for models too small to think of it.")
@click.option("--ledger/--no-ledger", default=True, help="Keep what it used and cost, never what was said.")
@click.option("--max-body", type=click.IntRange(1), default=64, show_default=True, help="Megabytes of a request.")
@click.option("--max-active", type=click.IntRange(1), default=1000, show_default=True, help="Requests at a time.")
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds that open answers have at its end.",
)
@click.option("--json", "as_json", is_flag=True, help="The startup line as JSON.")
def command(*, models: tuple[str, ...], host: str, port: int, as_json: bool, **options: Unpack[Said]) -> None:
    """Serve models to clients of any wire: OpenAI chat and Responses, Anthropic Messages, text completions, Ollama.

    One --model SPEC answers under whatever name a client asks for; several --model NAME=SPEC are picked by name. It listens
    on this machine alone unless --host says otherwise, and then wants a key of its clients. The first line on standard
    output says where. Ends with SIGTERM or SIGHUP (exit 0) or SIGINT (130), when what is open has come to its end; with a
    second SIGTERM or SIGINT at once.
    """
    run = _extra()
    from dragoman.gateway.alarm import Alarm

    env, alarm = environment(), Alarm(_alarmed)
    if options["template"] is not None and len(models) > 1:
        raise UsageError(
            "usage", "--template is for one model: of several, [templates] in dragoman.toml has each its own"
        )
    accounts = Accounts(env, wanted=options["ledger"], many=True)
    if accounts.told:
        tell(accounts.told)
    told = [_watched(each, alarm) for each in accounts.observers]

    def make(spec: str) -> AsyncModel:
        retry, strict = options["retries"], options["strict"]
        taught, by = options["template"], run.transport()
        return AsyncModel(spec, env=env, retry=retry, strict=strict, template=taught, observers=told, transport=by)

    try:
        app = _app(models, make, _guard(host, env, options), options, env, alarm)
        at = run.listen(host, port)
        _said(at.getsockname(), app, as_json=as_json)
        run.serve(app, at)
    finally:
        alarm.close()
        before = accounts.told
        accounts.close()
        if accounts.told != before:
            with suppress(OSError):  # a terminal that closed hears nothing more
                tell(accounts.told)


def _extra() -> Any:
    """The part that runs a server. Raises UsageError missing_extra where it is not installed."""
    try:
        return import_module("dragoman.gateway.run")
    except ModuleNotFoundError as error:
        said = f"serve needs the extra: pip install 'dragoman[gateway]' ({error.name} is missing)"
        raise UsageError("missing_extra", said) from None


def _app(models: tuple[str, ...], make: Any, guard: Any, options: Said, env: Mapping[str, str], alarm: Any) -> Any:
    from dragoman.gateway.app import App
    from dragoman.gateway.asking import Manner
    from dragoman.gateway.seats import Seats
    from dragoman.gateway.serving import Bounds

    key = env.get(CARRIER_ENV, "").encode() or SystemRandom().randbytes(32)
    carrier = Carrier(key=key, store=MemoryStore())
    manner = Manner(carrier, options["passthrough"], call_first=options["call_first"])
    bounds = Bounds(body=options["max_body"] * 1024 * 1024, active=options["max_active"], drain=options["drain"])
    return App(Seats.of(models, make), guard, manner, bounds, alarm)


def _alarmed(line: str) -> None:
    tell(f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {line}")


def _watched(observer: Observer, alarm: Any) -> Observer:
    """The observer; that it could not write goes to whoever runs the server, since a client cannot mend it."""

    def watch(seen: Exchanged) -> None:
        try:
            observer(seen)
        except UsageError as error:
            alarm.say(error.message)

    return watch


def _guard(host: str, env: Mapping[str, str], options: Said) -> Any:
    """Who may come in. Raises UsageError missing_key for an address that others can reach, without a key."""
    from dragoman.gateway.guard import LOOPBACK, Guard, is_loopback

    name = options["key_env"]
    said = env.get(name, "").strip()
    if name != KEY_ENV and not said:
        raise UsageError("missing_key", f"--key-env {name}: the variable is empty")
    if not (said.isascii() and said.isprintable()):
        raise UsageError("usage", f"{name}: no client can show this key: letters, digits and signs of ASCII alone")
    if not is_loopback(host) and not said:
        raise UsageError("missing_key", f"others can reach {host}: set {KEY_ENV} to a key that clients must show")
    hosts = frozenset({*LOOPBACK, host, *options["hosts"]}) if is_loopback(host) or options["hosts"] else None
    return Guard(hosts=hosts, key=Secret(said) if said else None, origins=frozenset(options["origins"]))


def _said(address: tuple[Any, ...], app: Any, *, as_json: bool) -> None:
    """The startup line: clients can knock from now on."""
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    url = f"http://{host}:{address[1]}"
    if as_json:
        said = {
            "url": url,
            "models": {name: repr(model) for name, model in app.seats.models.items()},
            "key": app.guard.key is not None,
            "pid": os.getpid(),
            "version": __version__,
        }
        say(msgspec.json.encode(said).decode())
        return
    say(url)
    tell(f"OpenAI clients: base URL {url}/v1; Anthropic clients: {url}; interrupt to stop", dim=True)
