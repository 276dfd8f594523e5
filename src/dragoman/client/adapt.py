"""A request written again by what its refusal taught of the server (S3-15 to S3-18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.catalog.target import Target
from dragoman.client.send import Signed
from dragoman.dialect.model import override
from dragoman.errors import ApiError
from dragoman.explain import Asked, Lesson, lesson
from dragoman.types.request import Request
from dragoman.wire.base import Outgoing


class Written(msgspec.Struct, frozen=True):
    """A request as it is sent to a target: what is asked, in the wire's own form, and signed."""

    target: Target
    request: Request
    outgoing: Outgoing
    http: Signed

    @property
    def asked(self) -> Asked:
        """The same for whoever explains a refusal."""
        return Asked(request=self.request, wire=self.target.wire, dialect=self.target.dialect)


class Adapter:
    """Repairs one call's request. Each lesson helps once, so there are no more repairs than things that can be refused.

    `write` writes the request for a target; `keep` is told the facts once the server has taken the repaired request, and
    a model remembers them for its later calls.
    """

    def __init__(self, write: Callable[[Target], Written], keep: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._keep = keep
        self._taught: dict[tuple[str, str], Lesson] = {}

    def repaired(self, error: ApiError, written: Written) -> tuple[Written, Lesson] | None:
        """The request anew, and what was learned; None when the refusal teaches nothing that would change it.

        Raises LossyError where the model is strict and the repair would lose something.
        """
        target = written.target
        learned = lesson(error, written.http.body, target.wire, target.dialect, but=self._taught)
        if learned is None:
            return None
        again = self._write(replace(target, dialect=override(target.dialect, learned.facts)))
        if again.http.body == written.http.body:
            return None
        self._taught[learned.name, learned.quoted] = learned
        return again, learned

    def taken(self) -> None:
        """The server took the request."""
        for learned in self._taught.values():
            self._keep(learned.facts)
