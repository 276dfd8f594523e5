"""From the name of a model to its Target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from dragoman.catalog.provider import Place, Provider, plugged, providers
from dragoman.catalog.target import Secret, Target
from dragoman.catalog.wires import WIRES, canonical
from dragoman.catalog.wires import known as known_wire
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import Dialect, override
from dragoman.errors import UsageError

KEY_ENV = "DRAGOMAN_API_KEY"  # the key of an address that no provider of the catalogue has
FORMS = "PROVIDER/MODEL (openai/gpt-5, anthropic/claude-sonnet-5), PROVIDER/MODEL#WIRE, http://HOST:PORT/v1#WIRE:MODEL"
VARIABLE = re.compile(r"\{([A-Z_]+)\}")
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Spec(NamedTuple):
    """A name taken apart: a provider or an address, the wire if it was said, the model."""

    provider: str | None
    url: str | None
    wire: str | None
    model: str


def parse(spec: str) -> Spec:
    """Take a name apart. Raises UsageError unknown_model with the forms there are."""
    head, mark, tail = spec.strip().partition("#")
    if head.startswith(("http://", "https://")):
        wire, _, model = tail.partition(":")
        if not wire or not model:
            raise UsageError(
                "unknown_model", f"{_shown(head)} names no wire and model: write {_shown(head)}#chat:MODEL"
            )
        return Spec(None, head, wire, model)
    provider, _, model = head.partition("/")
    if not provider or not model or (mark and not tail):
        raise UsageError("unknown_model", f"unknown model {spec!r}: the forms are {FORMS}")
    return Spec(provider.lower(), None, tail or None, model)


def find(
    spec: str,
    env: Mapping[str, str],
    *,
    rows: Mapping[str, Provider] | None = None,
    dialect: Dialect | Mapping[str, Any] | None = None,
    keyless: bool = False,
) -> Target:
    """The target a name stands for; `env` is read here and never again (S0-13).

    `rows` are providers beside those of the catalogue (a row of the same name wins), `dialect` replaces the row's facts
    (a Dialect) or changes some of them (a mapping). A provider that nobody knows is looked for among those of installed
    packages. Raises UsageError: unknown_model, unknown_wire, and missing_key when a key is needed and no variable holds
    it (S0-70): an address on this machine needs none, and with `keyless` nobody asks.
    """
    asked = parse(spec)
    row = _row(asked, rows or {})
    wire = known_wire(asked.wire or row.wires[0], spec.strip())
    if asked.url is None and wire not in map(canonical, row.wires):
        raise UsageError("unknown_wire", f"{row.label} does not speak {wire}: it speaks {', '.join(row.wires)}")
    convention, place = WIRES[wire], row.place(wire)
    base_env, base = _first(row.base_env, env)
    base_url = _base(base or _filled(place.base_url or "", row, env), convention.base_ends, base_env or row.name)
    return Target(
        provider=row.name,
        label=row.label,
        wire=wire,
        model=asked.model,
        base_url=base_url,
        key=_key(row, base_url, env, needed=not keyless),
        auth=place.auth or convention.auth,
        headers=tuple({**convention.headers, **row.headers}.items()),
        dialect=_dialect(row, wire, asked.model, dialect),
        key_env=row.key_env[0] if row.key_env else "",
        base_env=base_env or (row.base_env[0] if row.base_env else ""),
    )


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _row(asked: Spec, rows: Mapping[str, Provider]) -> Provider:
    if asked.url is not None:
        return _at(asked.url, {**providers(), **rows}.values())
    name = asked.provider or ""
    row = rows.get(name) or providers().get(name)
    if row is not None:
        return row
    failed = plugged()
    row = providers().get(name)
    if row is None:
        near = get_close_matches(name, {**providers(), **rows}, n=3)
        meant = f": did you mean {' or '.join(near)}?" if near else ";"
        also = f" ({'; '.join(failed)})" if failed else ""
        said = f"{meant} `dragoman providers` lists them; an address is http://…/v1#WIRE:MODEL"
        raise UsageError("unknown_model", f"unknown provider {name!r}{said}{also}")
    return row


def _at(url: str, rows: Iterable[Provider]) -> Provider:
    """The row of an address: of a known provider's host what holds there, its key included; else a row of its own."""
    split = _split(url)
    host = "" if split is None else split.netloc.rpartition("@")[2]
    fields: dict[str, Any] = {"name": host, "label": host, "key_env": (KEY_ENV,)}
    there = [row for row in rows if split is not None and urlsplit(row.base_url)[:2] == split[:2]]
    if there:
        row = max(there, key=lambda row: len(row.base_url) if url.startswith(row.base_url) else 0)
        fields = {"name": row.name, "label": row.label, "key_env": row.key_env, "key": row.key, "like": row.like}
        at = {wire: Place(auth=place.auth) for wire, place in row.at.items()}
        fields.update(auth=row.auth, headers=row.headers, dialect=row.dialect, at=at)
    return Provider(wires=("chat",), base_url=url, source="the address given", **fields)


def _filled(url: str, row: Provider, env: Mapping[str, str]) -> str:
    """An address with the values of the variables it names, each one part of a host or path."""

    def value(found: re.Match[str]) -> str:
        said = env.get(found[1], "").strip().removeprefix("https://").rstrip("/")
        if not PART.fullmatch(said):
            other = f", or {' or '.join(row.base_env)} to the whole address" if row.base_env else ""
            what = f"{found[1]} cannot be a part of it" if said else f"set {found[1]}"
            raise UsageError("usage", f"{row.label}: its address {url} wants more: {what}{other}")
        return said

    return VARIABLE.sub(value, url)


def _base(url: str, ends: str, where: str) -> str:
    """A base address in its one form: no slash at its end, and the version where the wire's own clients leave it out."""
    parts = _split(url.strip())
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("usage", f"{f'{where}: ' if where else ''}{_shown(url)!r} is not an http or https address")
    if parts.username is not None or parts.password is not None:
        raise UsageError("usage", f"{where}: an address must not hold a user or password; put the key in {KEY_ENV}")
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(ends) else path + ends, fragment=""))


def _key(row: Provider, base_url: str, env: Mapping[str, str], *, needed: bool) -> Secret | None:
    name, value = _first(row.key_env, env)
    if value is None:
        if needed and row.key == "required" and not is_loopback(base_url):
            wanted = " or ".join(row.key_env) or KEY_ENV
            raise UsageError("missing_key", f"no key for {row.label}: set {wanted}")
        return None
    key = value.strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError("missing_key", f"{name} holds a space, a line break or a letter that no key has")
    return Secret(key)


def _dialect(row: Provider, wire: str, model: str, change: Dialect | Mapping[str, Any] | None) -> Dialect:
    if isinstance(change, Dialect):
        return change
    known = find_dialect(row.like or row.name, wire, model)
    facts = {"name": row.name, "source": known.source or row.source, **row.dialect.get(wire, {})}
    return override(known, {**facts, **(change or {})})


def _first(names: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, str | None]:
    return next(((name, env[name]) for name in names if env.get(name, "").strip()), ("", None))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None  # reading the port checks it
    except ValueError:
        return None


def _shown(url: str) -> str:
    """An address for an error: what stands before an @ or after a ? may be a secret."""
    scheme, mark, rest = url.partition("?")[0].rpartition("//")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
