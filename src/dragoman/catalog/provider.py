"""A row of the catalogue, and the rows there are: those that come with the library and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec

from dragoman.catalog.wires import ID, WIRES
from dragoman.errors import UsageError

__all__ = ["WIRES", "Place", "Provider", "load", "plugged", "providers", "register_provider", "signature"]

GROUP = "dragoman.providers"
AUTH = {"bearer": "authorization: Bearer {}", "x-api-key": "x-api-key: {}"}
AUTH_FORM = r"^(bearer|x-api-key|[A-Za-z0-9-]+: ([^{}\r\n]* )?\{\})$"
NAME_FORM = r"^[^\s/#:]+$"

Auth = Annotated[str, msgspec.Meta(pattern=AUTH_FORM)]
Name = Annotated[str, msgspec.Meta(pattern=NAME_FORM)]
WireId = Annotated[str, msgspec.Meta(pattern=f"^{ID.pattern}$")]


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is another one on one wire of a provider."""

    base_url: str | None = None
    auth: Auth | None = None


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider; the fields are explained at the head of providers.toml.

    A wire may be any id: whether somebody brings it is asked when it is used (S3-22).
    """

    name: Name
    label: str
    wires: Annotated[tuple[WireId, ...], msgspec.Meta(min_length=1)]
    base_url: str
    source: str
    base_env: tuple[str, ...] = ()
    key_env: tuple[str, ...] = ()
    key: Literal["required", "optional"] = "required"
    aliases: tuple[Name, ...] = ()
    auth: Auth | None = None
    headers: dict[str, str] = {}
    at: dict[str, Place] = {}
    like: str | None = None
    dialect: dict[str, dict[str, Any]] = {}

    def place(self, wire: str) -> Place:
        """Where and how this wire is spoken: what `at` says of it, else what the row says."""
        said = self.at.get(wire, Place())
        return Place(base_url=said.base_url or self.base_url, auth=said.auth or self.auth)


def signature(auth: str) -> tuple[str, str]:
    """The header that holds a key, and its value with `{}` in the key's place."""
    name, _, form = AUTH.get(auth, auth).partition(": ")
    return name.lower(), form


def load(text: str) -> dict[str, Provider]:
    """The rows of a TOML text by every name they answer to. Raises UsageError for a row that cannot be."""
    import tomllib

    try:
        rows = [msgspec.convert({"name": name, **row}, Provider) for name, row in tomllib.loads(text).items()]
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError) as error:
        raise UsageError("usage", f"providers: {error}") from None
    return by_name(rows)


def by_name(rows: Iterable[Provider]) -> dict[str, Provider]:
    """Rows by their names and aliases. Raises UsageError for a name that two have."""
    found: dict[str, Provider] = {}
    for row in rows:
        for name in (row.name, *row.aliases):
            if found.setdefault(name.lower(), row) != row:
                raise UsageError(
                    "usage", f"providers: {row.name}: {found[name.lower()].name} answers to {name} already"
                )
    return found


_added: list[Provider] = []


@cache
def _own() -> Mapping[str, Provider]:
    return load((files("dragoman.catalog") / "providers.toml").read_text("utf-8"))


def providers() -> Mapping[str, Provider]:
    """The rows that come with the library and those that were registered, by every name."""
    return _own() if not _added else {**by_name(_added), **_own()}


def register_provider(row: Provider) -> None:
    """Add a provider for this process. The same row may come twice.

    Raises UsageError for a name that another row has: a package must not take over where somebody's key is sent.
    """
    if row not in _added:
        by_name([*_own().values(), *_added, row])
        _added.append(row)


@cache
def plugged() -> tuple[str, ...]:
    """Register what the entry points `dragoman.providers` of the installed packages bring: a Provider or several.

    They are asked once, and only when a name is unknown or all are wanted. Returns what could not be loaded, a line each.
    """
    from importlib.metadata import entry_points

    failed: list[str] = []
    for point in entry_points(group=GROUP):
        try:
            said = point.load()
            for row in (said,) if isinstance(said, Provider) else tuple(said):
                register_provider(row)
        except (ImportError, AttributeError, TypeError, UsageError) as error:
            failed.append(f"the providers of {point.value}: {error}")
    return tuple(failed)
