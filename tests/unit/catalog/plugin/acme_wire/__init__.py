"""A package of somebody else: a wire of its own, and two providers that speak it."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.catalog import Convention, Provider
from dragoman.dialect.model import Dialect
from dragoman.types.request import Request
from dragoman.wire import find
from dragoman.wire.base import Exchange, Outgoing


class Acme:
    """Chat under another path; whatever is not said here is said as chat says it."""

    id = "acme-talk"
    convention = Convention(auth="x-acme: {}", headers={"x-acme-version": "7"})

    def encode_request(self, request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
        made = find("chat").encode_request(request, dialect, exchange)
        return msgspec.structs.replace(made, http=msgspec.structs.replace(made.http, path="talk"))

    def __getattr__(self, name: str) -> Any:
        return getattr(find("chat"), name)


wire = Acme()
providers = [
    Provider(
        name=name,
        label=name.title(),
        wires=("acme-talk",),
        base_url=f"https://{name}.example/v3",
        key_env=("ACME_KEY",),
        source=f"https://{name}.example/docs",
    )
    for name in ("acme", "acme-eu")
]
