"""How many tokens a request has: the service's own count where its wire has one, else an estimate that says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from dragoman.client.call import Call
from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.history.weigh import weight
from dragoman.transport.flow import Flow, Pull
from dragoman.types.events import StreamEvent
from dragoman.types.message import assistant
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Stop, Usage
from dragoman.wire.base import Decoded, Exchange, Http, StreamDecoder, Wire

NO_COUNT = frozenset({404, 405, 410, 501})  # what servers say that speak the wire and do not count


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """`tokens` of a request: by the `service` itself, or the model where it runs in this process, or an `estimate` of ours,
    off by a third either way at times.

    `why` says for an estimate why it is one.
    """

    tokens: int
    source: Literal["service", "estimate"]
    why: str = ""
    notes: tuple[Note, ...] = ()


@runtime_checkable
class Counting(Protocol):
    """A wire that has a question for the count of a request."""

    def count_request(self, http: Http) -> Http: ...
    def decode_count(self, body: bytes) -> int: ...


class CountWire:
    """A wire whose reply is a count: so that a count goes over the same road as any call."""

    def __init__(self, wire: Wire, counting: Counting) -> None:
        self._wire = wire
        self._counting = counting

    def decode_reply(self, body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
        """The count as the usage of an empty reply."""
        usage = Usage(input=self._counting.decode_count(body))
        return Decoded(value=Reply(message=assistant(), stop=Stop(reason="end"), usage=usage))

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        """See Wire."""
        return self._wire.stream_decoder(dialect, exchange)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError:
        """See Wire."""
        return self._wire.decode_error(status, headers, body, dialect)


class Counted:
    """One count on its way; `count` once its steps have run. `call` asks the service, None where it cannot be asked."""

    def __init__(self, call: Call | None, body: bytes, notes: tuple[Note, ...]) -> None:
        self.count = Count(tokens=estimate(body), source="estimate", why="this wire has no count", notes=notes)
        self._call = call

    def steps(self) -> Flow[StreamEvent]:
        """Ask, where there is someone to ask. Raises what a call raises, save that the service does not count."""
        if self._call is None:
            return
        try:
            yield from self._call.steps()
        except ApiError as error:
            if error.status not in NO_COUNT:
                raise
            why = f"the service does not count ({error.status})"
            self.count = msgspec.structs.replace(self.count, why=why)
            return
        usage = self._call.outcome().reply.usage
        if usage is not None and usage.input is not None:
            self.count = Count(tokens=usage.input, source="service", notes=self.count.notes)


class CountedHere(Counted):
    """A count by a model in this process: `count` is its own question. Raises what that raises."""

    def __init__(self, count: Callable[[], int], notes: tuple[Note, ...]) -> None:
        super().__init__(None, b"{}", notes)
        self._ask = count

    def steps(self) -> Flow[StreamEvent]:
        """See Counted."""
        tokens = yield Pull(iter(self._ask, None))
        self.count = Count(tokens=tokens, source="service", notes=self.count.notes)


def estimate(body: bytes) -> int:
    """About how many tokens a request's body has: its texts and names, by the letters; media by the piece."""
    return math.ceil(weight(msgspec.json.decode(body)))
