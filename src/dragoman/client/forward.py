"""A request that somebody else's client made, answered by a model as if the model had been asked itself."""

from __future__ import annotations

import os
import time

import msgspec
from msgspec.structs import replace

from dragoman.caching import cached
from dragoman.catalog import models
from dragoman.catalog.target import Target
from dragoman.client.adapt import Written
from dragoman.client.compose import TEXT, rules_of
from dragoman.client.effort import fitted
from dragoman.client.send import addressed
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import LossyError
from dragoman.history.repair import repair
from dragoman.history.vision import without_images
from dragoman.translate import Options, onward, passes
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.wire.base import Exchange, Http, Notes, Outgoing, Wire
from dragoman.wire.keeping import unkept, with_state


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request on its way.

    `request` is what was read of it, carriers undone, `source` the wire it came on, `notes` what was told of it. `http` are
    its bytes: sent untouched but for the model's name where nothing must change (`translate.passes`); its `path` is
    relative to a base address, and its headers are those alone that may go on. None: it is always written anew. `exchange`
    is the client's own. `listening` is the wire that reads the answer, where somebody wants to hear it too.
    """

    request: Request
    source: Wire
    exchange: Exchange
    notes: tuple[Note, ...] = ()
    http: Http | None = None
    listening: Wire | None = None


def written(ask: Forward, target: Target, *, wire: Wire, strict: bool) -> Written:
    """The request as `target` gets it. Raises LossyError when `strict` and something would be lost.

    Where both wires are one its sender said what he wants of the service; on another one the effort is brought to what the
    model takes, prompt caches are made use of, and nothing is kept that the client's own wire would not keep.
    """
    if ask.http is not None and passes(ask.http, ask.source, wire, Options(target=facts(target.dialect))):
        http = wire.readdress(ask.http, target.model, target.dialect)
        outgoing = Outgoing(http=http, exchange=_stamped(ask.exchange), notes=ask.notes)
        return Written(target, ask.request, outgoing, addressed(http, target, stream=ask.exchange.stream))
    request, told = ask.request, ask.notes
    if request.model != target.model:
        request = replace(request, model=target.model)
    if ask.source.id != wire.id:
        knows, notes = models.find(target.provider, target.model), Notes()
        fit = fitted(unkept(request, ask.source.id, wire.id, target.dialect, notes), target, knows)
        request, told = cached(fit.request, target.wire, target.dialect), (*told, *notes.done(), *fit.notes)
        request = with_state(request, wire.id) if knows is not None and knows.reasoning else request
    now, stream = _stamped(ask.exchange), bool(request.stream)
    provider = Exchange(provider=target.provider, model=target.model, stream=stream, seed=now.seed, now=now.now)
    outgoing = onward(request, ask.source, wire, Options(target=target.dialect, provider=provider))
    outgoing = replace(outgoing, notes=(*told, *outgoing.notes)) if told else outgoing
    if strict and (losses := [note for note in outgoing.notes if note.loss]):
        raise LossyError(losses)
    return Written(target, request, outgoing, addressed(outgoing.http, target, stream=stream))


def _stamped(exchange: Exchange) -> Exchange:
    """The client's exchange, of some moment: that of his request where he has one."""
    return exchange if exchange.seed else replace(exchange, seed=os.urandom(8).hex(), now=int(time.time()))


def facts(dialect: Dialect) -> Dialect:
    """What a dialect says of its server, whatever its name: BASE where the server does not deviate at all."""
    return replace(dialect, name=BASE.name, source=BASE.source)


def heard(ask: Forward, *, sees: bool) -> Forward:
    """The request as a model gets it that no service stands before: mended, since nobody will say what is wrong with it
    (C-28), and without images where it does not see them (C-32)."""
    mended = repair(ask.request, rules_of(TEXT), BASE)
    request, blind = (mended.request, ()) if sees else without_images(mended.request)
    return replace(ask, request=request, notes=(*ask.notes, *mended.notes, *blind), http=None)
