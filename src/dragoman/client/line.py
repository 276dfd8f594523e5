"""What sync and async models share: where requests go, and how a call is made of a question."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Unpack, cast, get_args

import msgspec

from dragoman.caching import Caching
from dragoman.catalog import models
from dragoman.catalog.target import Target
from dragoman.client.adapt import Adapter, Written
from dragoman.client.arguments import check_arguments, check_target, told_of
from dragoman.client.call import Call, Here, LocalCall, Producer
from dragoman.client.completion import Purpose, tiered
from dragoman.client.compose import TEXT, Care, composed, composed_here
from dragoman.client.count import Counted, CountedHere, Counting, CountWire
from dragoman.client.form import Form, Rung
from dragoman.client.forward import Forward, heard, written
from dragoman.client.ladder import asked, rungs
from dragoman.client.named import Facts, Texted, settle
from dragoman.client.observe import observed
from dragoman.client.options import NOT_PLAIN, Messages, Options, Plain, question
from dragoman.client.options import request as request_of
from dragoman.client.plan import Plan, planned, planned_here
from dragoman.client.remote import Manner, RemoteCall
from dragoman.client.send import addressed, encode
from dragoman.client.structured import Ask, StructuredCall
from dragoman.dialect.model import BASE, override
from dragoman.errors import UsageError
from dragoman.passed import hold
from dragoman.transport.flow import Flow
from dragoman.types.events import StreamEvent
from dragoman.types.request import Request
from dragoman.wire import find as find_wire
from dragoman.wire.base import Wire

Spec: TypeAlias = str | Target | Producer


class Line:
    """One model and the way to it, settled once (S0-13)."""

    def __init__(
        self, spec: Spec, env: Mapping[str, str] | None, dialect: Facts | None, manner: Manner, care: Care
    ) -> None:
        check_arguments(env, dialect, manner, care)
        self._manner = manner
        self._care = care
        self.limits = manner.limits
        self.strict = care.strict
        self.target: Target | None = None
        self._producer: Producer | None = None
        self._wire: Wire | None = None
        self._refused: set[Rung] = set()  # ways to ask for a value that this service has refused
        where = os.environ if env is None else env
        found = settle(spec, where, dialect, template=care.template) if isinstance(spec, str) else spec
        self._owned = isinstance(spec, str)
        if care.cache not in get_args(Caching):
            raise UsageError("usage", f"cache is {care.cache!r}: one of {', '.join(get_args(Caching))}")
        if isinstance(found, Target):
            check_target(found)
            self.target, self._wire = found, find_wire(found.wire)
        elif isinstance(found, Texted):
            self.target, self._wire = found
        elif callable(getattr(found, "stream", None)):
            self._producer = found
        else:
            raise UsageError("unknown_model", f"a model is a name, a Target, or what has `stream`; {found!r} is none")

    def plan(self, messages: Messages, *, stream: bool = False, **options: Unpack[Options]) -> Plan:
        """What `chat`, or `stream`, would send for this, and what would be lost; nothing is sent, no key is shown. Of a local
        model it is what that would be asked, prompt and limits; it is not loaded.

        Raises UsageError for another object in this process, and what the call itself would raise before it is sent.
        """
        if (here := self._here) is not None:
            asked_for = self._asked(messages, options)
            with told_of(asked_for):
                sent, notes = composed_here(asked_for, self._care)
                turn = here.turn(sent)
            return planned_here(repr(here), turn.asked, (*notes, *turn.notes))
        target, wire = self._over_a_wire()
        written = self._write(self._asked(messages, options), target, wire=wire, stream=stream)
        return planned(written.http, written.outgoing.notes)

    def _call(self, messages: Messages, options: Options, *, stream: bool = False) -> tuple[Call, Flow[StreamEvent]]:
        """A call, and the way it goes."""
        request, form = question(messages, options)
        if form is None:
            return self._begun(request, stream=stream)
        begin = partial(self._begun, stream=stream)
        ask = Ask(request, form, self._rungs(form), self.target, begin, self._refused.add, stream)
        asking = StructuredCall(ask, self._manner.clock)
        return asking, asking.steps()

    def _completion(self, prompt: str, purpose: Purpose | None, options: Plain) -> tuple[Call, Flow[StreamEvent]]:
        """A call of one prompt: no history, no roles, no tools (S4-02)."""
        said: dict[str, Any] = {**options}
        if beyond := sorted(NOT_PLAIN & said.keys()):
            raise UsageError("usage", f"a completion is text in, text out: for {beyond[0]} use chat")
        asked_for, notes = tiered(request_of(prompt, cast(Options, options)), purpose)
        call, steps = self._begun(asked_for, stream=False)
        call.told.extend(notes)
        return call, steps

    def _counted(self, messages: Messages, options: Options) -> Counted:
        """A count of what `chat` would send."""
        if (here := self._here) is not None:
            asked_for = self._asked(messages, options)
            with told_of(asked_for):
                sent, notes = composed_here(asked_for, self._care)
            return CountedHere(partial(here.count, sent), notes)
        target, wire = self._over_a_wire()
        written = self._write(self._asked(messages, options), target, wire=wire, stream=False)
        call, body, notes = None, written.http.body, written.outgoing.notes
        if isinstance(wire, Counting):
            http = addressed(wire.count_request(written.outgoing.http), target, stream=False)
            call = RemoteCall(
                msgspec.structs.replace(written, http=http), cast(Wire, CountWire(wire, wire)), self._manner
            )
        return Counted(call, body, notes)

    def _forwarded(self, ask: Forward) -> tuple[Call, Flow[StreamEvent]]:
        """A call for somebody else's client, and the way it goes."""
        hold("ask", ask, Forward, "a Forward")
        call: Call
        if self._producer is not None:
            mended = heard(ask, sees=self._here is None or self._care.vision is True)
            clock = self._manner.clock
            call = LocalCall(self._producer, mended.request, clock, told=mended.notes, strict=self.strict)
        else:
            target, wire = self._over_a_wire()
            ask = self._read_by(target, ask)
            write = partial(written, ask, wire=wire, strict=self.strict)
            adapter = Adapter(write, self._learn) if self._manner.adapt else None
            call = RemoteCall(write(target), ask.listening or wire, self._manner, adapter)
        return call, observed(call, ask.request, self._manner.observers, self._manner.clock)

    def _forward_counted(self, ask: Forward) -> Counted:
        """A count of what would be forwarded: asked of the service only where the client speaks its own wire."""
        hold("ask", ask, Forward, "a Forward")
        if (here := self._here) is not None:
            mended = heard(ask, sees=self._care.vision is True)
            return CountedHere(partial(here.count, mended.request), mended.notes)
        if self._producer is not None:
            return Counted(None, msgspec.json.encode(ask.request), ask.notes)
        target, wire = self._over_a_wire()
        ask = self._read_by(target, ask)
        made = written(ask, target, wire=wire, strict=self.strict)
        call = None
        if ask.source.id == wire.id and isinstance(wire, Counting):
            http = addressed(wire.count_request(made.outgoing.http), target, stream=False)
            call = RemoteCall(msgspec.structs.replace(made, http=http), cast(Wire, CountWire(wire, wire)), self._manner)
        return Counted(call, made.http.body, made.outgoing.notes)

    def _asked(self, messages: Messages, options: Options) -> Request:
        """The request that a call begins with."""
        request, form = question(messages, options)
        if form is None:
            return request
        dialect = BASE if self._here is not None else self._over_a_wire()[0].dialect
        return asked(request, self._rungs(form)[0], form, dialect)

    def _rungs(self, form: Form) -> tuple[Rung, ...]:
        target = self.target
        facts = None if target is None else models.find(target.provider, target.model)
        return rungs(form, target, facts, frozenset(self._refused))

    def _begun(self, request: Request, *, stream: bool) -> tuple[Call, Flow[StreamEvent]]:
        call = self._made(request, stream=stream)
        return call, observed(call, request, self._manner.observers, self._manner.clock)

    def _made(self, request: Request, *, stream: bool) -> Call:
        if self._producer is not None:
            with told_of(request):
                sent, notes = (request, ()) if self._here is None else composed_here(request, self._care)
            return LocalCall(self._producer, sent, self._manner.clock, told=notes, strict=self.strict)
        target, wire = self._over_a_wire()
        write = partial(self._write, request, wire=wire, stream=stream)
        adapter = Adapter(write, self._learn) if self._manner.adapt else None
        return RemoteCall(write(target), wire, self._manner, adapter)

    def _write(self, request: Request, target: Target, *, wire: Wire, stream: bool) -> Written:
        stream = stream or bool(request.stream)
        with told_of(request):
            sent, notes = composed(request, target, self._care)
            outgoing = encode(sent, wire, target, stream=stream, strict=self.strict, told=notes)
        return Written(target, sent, outgoing, addressed(outgoing.http, target, stream=stream))

    def _read_by(self, target: Target, ask: Forward) -> Forward:
        return heard(ask, sees=self._care.vision is True) if target.wire == TEXT else ask

    def _learn(self, facts: dict[str, Any]) -> None:
        """Facts that this service taught are so for all later calls."""
        target, _ = self._over_a_wire()
        self.target = msgspec.structs.replace(target, dialect=override(target.dialect, facts))

    def _let_go(self) -> None:
        """What this model opened in this process is closed with it; what was passed in is its owner's."""
        close = getattr(self._producer, "close", None) if self._owned else None
        if close is not None:
            close()

    @property
    def _here(self) -> Here | None:
        """The model in this process that reads prompts, if it is one."""
        return self._producer if isinstance(self._producer, Here) else None

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
