"""What a call would send, and what would be lost on the way: nothing is sent."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.secret import HIDDEN, NAMED
from dragoman.transport.redact import Redaction
from dragoman.types.note import Note
from dragoman.wire.base import Http


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it would be sent: `url`, `headers` and `body` without any key, the body's bytes else exact.

    A model in this process is sent nothing: `url` is its name, `method` is empty, and `body` is what it would be asked,
    prompt and limits, as JSON. `notes` are what conversion would change; those with `loss` are what `strict` refuses.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    notes: tuple[Note, ...] = ()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return msgspec.json.decode(self.body)

    @property
    def lost(self) -> tuple[Note, ...]:
        """The notes that tell of a loss."""
        return tuple(note for note in self.notes if note.loss)


def planned(http: Http, notes: tuple[Note, ...]) -> Plan:
    """The plan of a request that is ready to be sent."""
    keys = Redaction(http)
    shown = ((name, HIDDEN if NAMED.search(name) else value) for name, value in http.headers)
    return Plan(
        method=http.method,
        url=keys.url(http.path),
        headers=tuple(shown),
        body=keys.body(http.body),
        notes=notes,
    )


def planned_here(name: str, asked: Any, notes: tuple[Note, ...]) -> Plan:
    """The plan of what a model in this process would be asked."""
    return Plan(method="", url=name, headers=(), body=msgspec.json.encode(asked), notes=notes)
