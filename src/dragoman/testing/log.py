"""What the fake provider keeps of a request: all but the keys in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dragoman.secret import HIDDEN, NAMED, hidden, hidden_query, sent
from dragoman.wire.base import Http


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it arrived: header names in lower case, the body as JSON where it is, and what was done with it."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    quirks: tuple[str, ...]
    status: int


def redacted(http: Http, number: int, quirks: tuple[str, ...], status: int) -> Received:
    """A request for the log. What was sent as a key is taken out of the body and the path as well."""
    secrets = [secret for secret in sent(http.path, http.headers) if len(secret) > 1]
    text = hidden(http.body.decode("utf-8", "replace"), secrets)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    return Received(
        number=number,
        method=http.method,
        path=hidden(hidden_query(http.path), secrets),
        headers={name.lower(): HIDDEN if NAMED.search(name) else value for name, value in http.headers},
        body=body,
        quirks=quirks,
        status=status,
    )
