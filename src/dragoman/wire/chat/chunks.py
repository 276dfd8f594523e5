"""What a chat stream and a stream of text completions share: chunks with one head, usage when asked for, [DONE]."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.types.events import Failure, Raw, Start
from dragoman.types.message import Message
from dragoman.types.opaque import Bag
from dragoman.types.reply import Usage
from dragoman.wire import jsonio, sse
from dragoman.wire.base import Exchange, own
from dragoman.wire.chat.errors import encode_error
from dragoman.wire.chat.reply import whole
from dragoman.wire.emitting import EventEncoder
from dragoman.wire.ids import made_id


class ChunkEncoder(EventEncoder):
    """An encoder whose wire is `wire`, its chunks of the kind `kind`, and the ids that nobody said begin with `id`."""

    wire: str
    kind: str
    id: str

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(dialect, exchange)
        self._head: Bag = {}
        self._first: Bag = {}  # what the reply's beginning said beside its head
        self._message = Message(role="assistant", content=())

    def begin(self, event: Start) -> None:
        """The head of all chunks: one id, one time and one model throughout."""
        self._notes.leftovers(event.opaque, self.wire, ())
        self._message = Message(role="assistant", content=(), origin=event.origin)
        self._first = own(event.opaque, self.wire)
        created = event.created if event.created is not None else self._exchange.now
        self._head = {
            "id": event.id or made_id(self.id, self._exchange.seed),
            "object": self.kind,
            "created": whole(created),
            "model": event.model or self._exchange.model or "",
        }

    def chunk(self, choice: Bag, beside: Bag) -> bytes:
        """A chunk of one choice; its head wins over what is said beside it."""
        return sse.write(jsonio.encode({**beside, **self._head, "choices": [choice]}))

    def tail(self) -> bytes:
        """What comes after the finish: usage when it was asked for, and the marker of the end."""
        out = b""
        if self._usage is not None and (self._exchange.include_usage or self._dialect.usage_in_stream == "always"):
            out = sse.write(jsonio.encode({**self._head, "choices": [], "usage": self.counted(self._usage)}))
        elif self._usage is not None:
            self._notes.add(("usage",), "dropped", "this client did not ask for usage in the stream", loss=False)
        return out + (sse.write(b"[DONE]") if self._dialect.done_marker else b"")

    def counted(self, usage: Usage) -> Bag:
        """Usage as this wire says it."""
        raise NotImplementedError

    def failure(self, event: Failure) -> bytes:
        _, _, body = encode_error(ApiError(event.code, event.message), self._dialect)
        return sse.write(body)

    def raw(self, event: Raw) -> bytes:
        """A further choice goes on as it came."""
        if event.wire == self.wire and event.name == "choice":
            return self.chunk(event.payload, {})
        return super().raw(event)
