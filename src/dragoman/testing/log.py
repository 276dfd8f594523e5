"""What the fake provider keeps of a request: all but the keys in it."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from dragoman.wire.base import Http

SECRET = "***"
KEYS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"})
QUERY_KEY = re.compile(r"([?&](?:key|api[-_]key|token|access_token)=)[^&]*", re.IGNORECASE)


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
    """A request for the log. A key that stands in a header is taken out of the body and the path as well."""
    headers = {name.lower(): value for name, value in http.headers}
    text, path = http.body.decode("utf-8", "replace"), QUERY_KEY.sub(rf"\1{SECRET}", http.path)
    for name in KEYS & headers.keys():
        secret = headers[name].rpartition(" ")[2]
        if secret:
            text, path = text.replace(secret, SECRET), path.replace(secret, SECRET)
        headers[name] = SECRET
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    return Received(
        number=number, method=http.method, path=path, headers=headers, body=body, quirks=quirks, status=status
    )
