"""`dragoman check`: is there a key, does the address answer, and what can the model do. Nothing is asked of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import click
import msgspec

from dragoman.catalog import models
from dragoman.catalog.models import ModelFacts
from dragoman.catalog.target import Target
from dragoman.cli.main import FAILED, WRONG_USAGE
from dragoman.cli.models import dollars
from dragoman.cli.output import one_line, say
from dragoman.cli.settings import environment
from dragoman.client.named import Texted, settle
from dragoman.client.send import addressed
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import TransportError, UsageError
from dragoman.transport.base import Limits
from dragoman.transport.choose import choose
from dragoman.transport.line import Line
from dragoman.wire.base import Http

SHOWN = 200  # characters of what a service says
LIST = 4 * 1024 * 1024  # bytes of a list of models, more is not read
NO_LIST = (404, 405, 501)  # what services answer that keep no list of models

State = Literal["ok", "no list", "key refused", "refused", "no answer", "not asked"]


class Answered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of asking for the list of models. `listed`: whether ours is in it, None where there is none, or where
    it goes on beyond the page that was read."""

    state: State
    status: int | None = None
    count: int | None = None
    listed: bool | None = None
    said: str | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that was found out."""

    model: str
    ok: bool
    provider: str
    label: str
    wire: str
    address: str
    key: Literal["set", "missing", "not needed"]
    key_env: str
    dialect: str
    source: str
    deviations: dict[str, Any]
    answer: Answered
    facts: ModelFacts | None = None


@click.command("check")
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0.1), default=10.0, show_default=True)
def command(model: str, as_json: bool, timeout: float) -> int:
    """Check whether MODEL can be reached: its key, its address, and what is known of it.

    The address is asked for its list of models, which costs nothing. [exit code 1: no answer, or a refusal; 2: no key]
    """
    env = environment()
    settled = settle(model, env, keyless=True)
    found = settled.target if isinstance(settled, Texted) else settled
    if not isinstance(found, Target):
        said = {"model": model, "ok": True, "in_this_process": repr(found)}
        say(msgspec.json.encode(said).decode() if as_json else f"{model} is in this process: {found!r}")
        return 0
    key = "set" if found.key else "missing" if _wanted(model, env) else "not needed"
    answer = Answered(state="not asked") if key == "missing" else asked(found, timeout)
    ok = answer.state in ("ok", "no list")
    checked = Checked(
        model=model,
        ok=ok,
        provider=found.provider,
        label=found.label,
        wire=found.wire,
        address=found.base_url.partition("?")[0],
        key=key,
        key_env=found.key_env,
        dialect=found.dialect.name,
        source=found.dialect.source,
        deviations=deviations(found.dialect),
        answer=answer,
        facts=models.find(found.provider, found.model),
    )
    encode = msgspec.json.Encoder(decimal_format="number").encode
    say(encode(checked).decode() if as_json else "\n".join(lines(checked)))
    return 0 if ok else WRONG_USAGE if key == "missing" else FAILED


def asked(target: Target, seconds: float) -> Answered:
    """What the address says when it is asked for its models."""
    http = addressed(Http(method="GET", path="models"), target, stream=False)
    limits = Limits(connect=seconds, idle=seconds, request=seconds, body=LIST)
    transport = choose(None)
    line = Line()
    line.within(seconds)
    try:
        with transport.open(http, limits, line) as answer:
            body = b""
            for chunk in answer.chunks:
                body += chunk[: LIST - len(body)]
            status = answer.status
    except TransportError as error:
        return Answered(state="no answer", said=target.hidden(error.message))
    finally:
        transport.close()
    said = one_line(target.hidden(body.decode("utf-8", "replace")), SHOWN)
    if status in (401, 403):
        return Answered(state="key refused", status=status, said=said)
    if status in NO_LIST:
        return Answered(state="no list", status=status)
    if status >= 300:
        return Answered(state="refused", status=status, said=said)
    names = _names(body)
    if names is None:
        return Answered(state="no list", status=status)
    listed = target.model in names
    return Answered(
        state="ok", status=status, count=len(names), listed=listed if listed or not _goes_on(body) else None
    )


def deviations(dialect: Dialect) -> dict[str, Any]:
    """The facts in which a dialect differs from its wire's base, as they are written in a row."""
    said = msgspec.to_builtins(dialect)
    names = (name for name in Dialect.__struct_fields__ if name not in ("name", "source"))
    return {name: said.get(name) for name in names if getattr(dialect, name) != getattr(BASE, name)}


def lines(checked: Checked) -> list[str]:
    """What people read, a line a thing."""
    key = {
        "set": f"{checked.key_env} is set",
        "missing": f"missing: set {checked.key_env}",
        "not needed": "none is set, and none is needed here",
    }[checked.key]
    said = [
        ("provider", f"{checked.label} over the {checked.wire} wire"),
        ("address", checked.address),
        ("key", key),
        ("answer", _answer(checked.answer)),
        ("dialect", f"{checked.dialect}: {_facts(checked.deviations)}"),
        *_known(checked.facts),
    ]
    return [f"{checked.model}: {'can be asked' if checked.ok else 'cannot be asked'}"] + [
        f"  {name:9} {text}" for name, text in said
    ]


def _answer(answer: Answered) -> str:
    if answer.state == "ok":
        said = {True: "this model is one of them", False: "this model is none of them", None: "and more than these"}
        models = f"{answer.count} model{'s' * (answer.count != 1)}"
        return f"{answer.status}: it lists {models}, {said[answer.listed]}"
    words = {
        "no list": f"{answer.status}: it answers and keeps no list of models, so the key was not tried",
        "key refused": f"{answer.status}: it does not take the key: {answer.said}",
        "refused": f"{answer.status}: {answer.said}",
        "no answer": answer.said or "",
        "not asked": "not asked without a key",
    }
    return words[answer.state]


def _known(facts: ModelFacts | None) -> list[tuple[str, str]]:
    if facts is None:
        return [("known", "nothing of its limits and prices; it can be asked all the same")]
    sizes = (("in all", facts.context), ("to ask", facts.max_input), ("to answer", facts.max_output))
    limits = ", ".join(f"{size:,} tokens {what}" for what, size in sizes if size)
    able = [word for word in ("tools", "schema", "reasoning") if getattr(facts, word)]
    said = [("limits", limits), ("reads", ", ".join(facts.inputs)), ("can", ", ".join(able))]
    if facts.prices is not None:
        rates = (("in", facts.prices.input), ("cached", facts.prices.cache_read), ("out", facts.prices.output))
        amounts = ", ".join(f"${dollars(rate)} {what}" for what, rate in rates if rate is not None)
        said.append(("prices", f"{amounts} a million tokens ({facts.prices.source}, {facts.prices.date})"))
    return [(name, text) for name, text in said if text]


def _facts(deviations: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name} {msgspec.json.encode(value).decode()}" for name, value in deviations.items())
    return shown or "as the wire's own vendor documents it"


def _names(body: bytes) -> frozenset[str] | None:
    """The ids in a list of models, by either key that services use; None for a body that is no list."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    rows = said.get("data", said.get("models")) if isinstance(said, dict) else said
    if not isinstance(rows, list):
        return None
    return frozenset(str(row.get("id") or row.get("name")) for row in rows if isinstance(row, dict))


def _goes_on(body: bytes) -> bool:
    """Whether a list has a next page, as those say that give a few at a time.

    Source: https://platform.claude.com/docs/en/api/models-list (has_more).
    """
    said = msgspec.json.decode(body)
    return isinstance(said, dict) and bool(said.get("has_more"))


def _wanted(model: str, env: Mapping[str, str]) -> bool:
    """Whether a call would fail for want of a key."""
    try:
        settle(model, env)
    except UsageError as error:
        return error.code == "missing_key"
    return False
