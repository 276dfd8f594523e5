"""What sync and async models share: where requests go, and how a call is made of a question."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, Unpack

from dragoman.catalog.target import Target
from dragoman.client.call import Call, LocalCall, Producer
from dragoman.client.compose import Care, composed
from dragoman.client.named import Facts, settle
from dragoman.client.observe import observed
from dragoman.client.options import Messages, Options
from dragoman.client.options import request as request_of
from dragoman.client.plan import Plan, planned
from dragoman.client.remote import Manner, RemoteCall
from dragoman.client.send import Signed, addressed, encode
from dragoman.errors import UsageError
from dragoman.transport.flow import Flow
from dragoman.types.events import StreamEvent
from dragoman.types.request import Request
from dragoman.wire import find as find_wire
from dragoman.wire.base import Outgoing, Wire

Spec: TypeAlias = str | Target | Producer


class Line:
    """One model and the way to it, settled once (S0-13)."""

    def __init__(
        self, spec: Spec, env: Mapping[str, str] | None, dialect: Facts | None, manner: Manner, care: Care
    ) -> None:
        self._manner = manner
        self._care = care
        self.limits = manner.limits
        self.strict = care.strict
        self.target: Target | None = None
        self._producer: Producer | None = None
        self._wire: Wire | None = None
        where = os.environ if env is None else env
        found = settle(spec, where, dialect) if isinstance(spec, str) else spec
        if isinstance(found, Target):
            self.target, self._wire = found, find_wire(found.wire)
        else:
            self._producer = found

    def plan(self, messages: Messages, *, stream: bool = False, **options: Unpack[Options]) -> Plan:
        """What `chat`, or `stream`, would send for this, and what would be lost; nothing is sent, no key is shown.

        Raises UsageError for a model in this process, and what the call itself would raise before it is sent.
        """
        request = request_of(messages, options)
        outgoing, http = self._written(request, stream=stream)
        return planned(http, outgoing.notes)

    def _call(self, messages: Messages, options: Options, *, stream: bool = False) -> tuple[Call, Flow[StreamEvent]]:
        """A call, and the way it goes."""
        request = request_of(messages, options)
        call = self._made(request, stream=stream)
        return call, observed(call, request, self._manner.observers, self._manner.clock)

    def _made(self, request: Request, *, stream: bool) -> Call:
        if self._producer is not None:
            return LocalCall(self._producer, request, self._manner.clock)
        target, wire = self._over_a_wire()
        outgoing, http = self._written(request, stream=stream)
        return RemoteCall(target, wire, outgoing, http, self._manner)

    def _written(self, request: Request, *, stream: bool) -> tuple[Outgoing, Signed]:
        """A question as it is sent."""
        target, wire = self._over_a_wire()
        stream = stream or bool(request.stream)
        sent, notes = composed(request, target, self._care)
        outgoing = encode(sent, wire, target, stream=stream, strict=self.strict, told=notes)
        return outgoing, addressed(outgoing.http, target, stream=stream)

    def _over_a_wire(self) -> tuple[Target, Wire]:
        if self.target is None or self._wire is None:
            raise UsageError("usage", "a model in this process sends nothing")
        return self.target, self._wire

    def _recorded(self, folder: Path | str | None) -> Path | str | None:
        if folder is not None and self.target is None:
            raise UsageError("usage", "record keeps what goes over a wire; a model in this process sends nothing")
        return folder

    def __repr__(self) -> str:
        if self.target is None:
            return f"{type(self).__name__}({self._producer!r})"
        at = self.target
        return f"{type(self).__name__}({at.provider}/{at.model}, {at.wire} at {at.base_url.partition('?')[0]})"
