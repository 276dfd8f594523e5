"""A row of the catalogue, and the conventions of each wire that a row need not repeat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec

from dragoman.errors import UsageError

Auth = Literal["bearer", "x-api-key"]


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider; the fields are explained at the head of providers.toml."""

    name: str
    label: str
    wires: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    base_url: str
    source: str
    base_env: tuple[str, ...] = ()
    key_env: tuple[str, ...] = ()
    key: Literal["required", "optional"] = "required"
    aliases: tuple[str, ...] = ()
    auth: Auth | None = None
    headers: dict[str, str] = {}
    dialect: dict[str, dict[str, Any]] = {}


class Convention(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a wire wherever it is spoken: how the key is sent, and what a base address must end with."""

    auth: Auth = "bearer"
    headers: dict[str, str] = {}
    base_ends: str = ""


WIRES: dict[str, Convention] = {
    "chat": Convention(),
    "responses": Convention(),
    # The vendor's SDK reads a base without the version and adds it; we take both spellings.
    # Source: https://platform.claude.com/docs/en/api/overview, "Authentication" and "Versions".
    "messages": Convention(auth="x-api-key", headers={"anthropic-version": "2023-06-01"}, base_ends="/v1"),
}


def load(text: str) -> dict[str, Provider]:
    """The rows of a TOML text by every name they answer to. Raises UsageError for a row that cannot be."""
    import tomllib

    try:
        rows = [msgspec.convert({"name": name, **row}, Provider) for name, row in tomllib.loads(text).items()]
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError) as error:
        raise UsageError("usage", f"providers: {error}") from None
    for row in rows:
        check_wires(row.wires, row.name)
    return {name: row for row in rows for name in (row.name, *row.aliases)}


def check_wires(wires: tuple[str, ...], where: str) -> None:
    """Raise UsageError unknown_wire unless each of `wires` is one we speak."""
    unknown = [wire for wire in wires if wire not in WIRES]
    if unknown:
        raise UsageError("unknown_wire", f"{where}: unknown wire {unknown[0]!r}: one of {', '.join(WIRES)}")


@cache
def providers() -> Mapping[str, Provider]:
    """The rows that come with the library."""
    return load((files("dragoman.catalog") / "providers.toml").read_text("utf-8"))
