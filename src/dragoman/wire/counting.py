"""How many tokens a request has, asked of the service: the same question and answer on each wire that has one."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from dragoman.wire import jsonio
from dragoman.wire.base import Http
from dragoman.wire.jsonio import refuse


def question(http: Http, path: str, taken: Collection[str]) -> Http:
    """The question, for a request as it would be sent; what is not in `taken` would be refused. Raises RemoteError for a
    body that is no object."""
    body, _ = jsonio.decode_object(http.body)
    asked = {key: value for key, value in body.items() if key in taken}
    return replace(http, path=path, body=jsonio.encode(asked))


def decode_count(body: bytes) -> int:
    """The answer. Raises RemoteError for one without a count."""
    said, _ = jsonio.decode_object(body)
    count = said.get("input_tokens")
    if type(count) is not int:
        refuse("expected a count (a whole number)", "input_tokens")
    return count
