"""What all stream encoders share: a method for each kind of event, usage gathered, nothing after the end."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.collect import merge_usage
from dragoman.types.events import (
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Patch,
    Raw,
    Start,
    StreamEvent,
    UsageUpdate,
)
from dragoman.types.note import Note
from dragoman.types.reply import Usage
from dragoman.wire import sse
from dragoman.wire.base import Exchange, Notes


class EventEncoder:
    """Events in, bytes of a stream out; a wire says what each kind of event is there, and what it cannot say is noted.

    After a Finish, a Failure or `close` nothing more is written, whatever comes.
    """

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        self._dialect = dialect
        self._exchange = exchange
        self._notes = Notes()
        self.notes: list[Note] = self._notes.taken  # what the stream so far could not say
        self._usage: Usage | None = None
        self._ended = False

    def encode(self, event: StreamEvent) -> bytes:
        """The wire's bytes for one event; empty when it adds nothing here, or waits."""
        if self._ended:
            return b""
        match event:
            case Delta():
                return self.delta(event)
            case BlockStart():
                return self.block_start(event)
            case BlockEnd():
                return self.block_end(event)
            case Patch():
                return self.patch(event)
            case Start():
                self.count(event)
                return self.start(event)
            case UsageUpdate():
                self.count(event)
                return b""
            case Finish():
                self.count(event)
                self._ended = True
                return self.finish(event)
            case Failure():
                self._ended = True
                return self.failure(event)
            case Raw():
                return self.raw(event)
            case KeepAlive():
                return self.alive()

    def close(self) -> bytes:
        """The end of the events; a stream that was cut stays cut."""
        self._ended = True
        return b""

    def start(self, event: Start) -> bytes:
        """The head of the reply."""
        raise NotImplementedError

    def block_start(self, event: BlockStart) -> bytes:
        """A block begins, with what it holds already."""
        raise NotImplementedError

    def delta(self, event: Delta) -> bytes:
        """A piece of a block: most of a stream is that."""
        raise NotImplementedError

    def block_end(self, event: BlockEnd) -> bytes:
        """A block ends; its final value may say what no piece did."""
        raise NotImplementedError

    def patch(self, event: Patch) -> bytes:
        """A citation or a leftover of a block that came after its start."""
        raise NotImplementedError

    def finish(self, event: Finish) -> bytes:
        """Why the reply ended, usage, and the wire's last signal."""
        raise NotImplementedError

    def failure(self, event: Failure) -> bytes:
        """The error with which the stream breaks off, where the wire has a form for it."""
        raise NotImplementedError

    def raw(self, event: Raw) -> bytes:
        """An event of a wire that nobody modelled: this wire's own as it came, which is for it to do; others have no place."""
        self._notes.add(("events",), "dropped", f"event {event.name!r} of the {event.wire} wire has no place here")
        return b""

    def alive(self) -> bytes:
        """A sign of life."""
        return sse.COMMENT

    def count(self, event: Start | UsageUpdate | Finish) -> None:
        """Usage as far as it is known; figures that come later count instead."""
        self._usage = merge_usage(self._usage, event.usage)
