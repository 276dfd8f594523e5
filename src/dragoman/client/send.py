"""From a request to the HTTP that is sent: encoded for its wire, addressed, and signed with the key."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

import msgspec

from dragoman.catalog.provider import signature
from dragoman.catalog.target import Target
from dragoman.errors import LossyError
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.wire.base import Exchange, Http, Outgoing, Wire


class Signed(Http, frozen=True, kw_only=True):
    """A request with its key in it: its headers are shown to nobody, traceback or log."""

    def __repr__(self) -> str:
        return f"Signed({self.method} {self.path.partition('?')[0]}, {len(self.body)} bytes)"


def encode(
    request: Request, wire: Wire, target: Target, *, stream: bool, strict: bool, told: tuple[Note, ...] = ()
) -> Outgoing:
    """The request for this target: its model is the target's, whatever the request said. `told` is what was changed before.

    Raises LossyError when `strict` and something would be lost. Equal requests give equal bytes (S0-16): clock and seed
    are for the answer only.
    """
    notes = told
    if request.model not in (None, target.model):
        said = f"this model is {target.model}, the request was made for {request.model}"
        notes = (
            *notes,
            Note(path=("model",), action="substituted", reason=said, loss=False),
        )
    asked = target.dialect.usage_in_stream == "asked"
    exchange = Exchange(stream=stream, model=target.model, provider=target.provider, include_usage=(stream and asked))
    sent = msgspec.structs.replace(request, model=target.model, stream=True if stream else request.stream)
    outgoing = wire.encode_request(sent, target.dialect, exchange)
    notes = (*notes, *outgoing.notes)
    losses = [note for note in notes if note.loss]
    if strict and losses:
        raise LossyError(losses)
    return answered(outgoing, notes)


def answered(outgoing: Outgoing, notes: tuple[Note, ...]) -> Outgoing:
    """`outgoing` with these notes, and whose answer gets ids and times that nobody said from this moment and no other."""
    answers = msgspec.structs.replace(outgoing.exchange, seed=os.urandom(8).hex(), now=int(time.time()))
    return msgspec.structs.replace(outgoing, exchange=answers, notes=notes)


def addressed(http: Http, target: Target, *, stream: bool) -> Signed:
    """`http` with its absolute address, the headers of the target, and the key. What the codec said wins."""
    headers = {"content-type": "application/json", "accept": "text/event-stream" if stream else "application/json"}
    headers |= {name.lower(): value for name, value in (*target.headers, *http.headers)}
    if target.key is not None:
        name, form = signature(target.auth)
        headers[name] = form.format(target.key.reveal())
    path = _join(target.base_url, http.path)
    return Signed(method=http.method, path=path, headers=tuple(headers.items()), body=http.body)


@lru_cache(maxsize=64)  # a model asks the same address again and again
def _join(base: str, path: str) -> str:
    at, _, query = path.partition("?")
    parts = urlsplit(base)
    queries = "&".join(part for part in (parts.query, query) if part)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{at.lstrip('/')}", query=queries))
