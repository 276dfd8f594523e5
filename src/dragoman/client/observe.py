"""Those who are told of each call: a ledger, a trace, a doctor of prompt caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from dragoman.catalog.target import Target
from dragoman.client.attempts import Attempt
from dragoman.client.call import Call
from dragoman.errors import Cancelled, DragomanError
from dragoman.transport.clock import Clock
from dragoman.transport.flow import Flow
from dragoman.types.events import StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply, Timing
from dragoman.types.request import Request


class Exchanged(msgspec.Struct, frozen=True, kw_only=True):
    """One call that has ended, however it did.

    `request` is what was asked, `http_body` the exact bytes that were sent last; both, and `reply`, are the user's own
    words. `target` and `http_body` are None for a model in this process. `reply` is what arrived, None when nothing
    did; `error` None says it came to its end. A cancelled call has the error Cancelled. `notes`, `attempts` and
    `timing` are the call's own, `started` the time of its first request.
    """

    request: Request
    target: Target | None
    http_body: bytes | None
    reply: Reply | None
    error: DragomanError | None
    notes: tuple[Note, ...]
    attempts: tuple[Attempt, ...]
    timing: Timing
    started: datetime


Observer: TypeAlias = Callable[[Exchanged], object]


def observed(call: Call, request: Request, observers: Sequence[Observer], clock: Clock) -> Flow[StreamEvent]:
    """The steps of `call`; when they have ended each observer is told, once: success, failure or cancel.

    A stream that nobody began to read has sent nothing and is no call. An observer that fails breaks no call: it
    becomes a note, and where the call failed too, a line beside its error.
    """
    return _told(call, request, observers, clock) if observers else call.steps()


def _told(call: Call, request: Request, observers: Sequence[Observer], clock: Clock) -> Flow[StreamEvent]:
    started = datetime.fromtimestamp(clock.date(), UTC)
    raised: DragomanError | None = None
    try:
        yield from call.steps()
    except DragomanError as error:
        raised = error
        raise
    except Exception as error:
        raised = DragomanError("server_error", f"{type(error).__name__}: {error}")
        raise
    finally:
        timing = call.stopwatch.ended()
        seen = Exchanged(
            request=request,
            target=call.target,
            http_body=call.sent,
            reply=None if timing.first_event is None else call.reply,
            error=raised or call.error or (None if call.ended else Cancelled()),
            notes=call.notes,
            attempts=call.attempts,
            timing=timing,
            started=started,
        )
        for observer in observers:
            _tell(observer, seen, call, raised)


def _tell(observer: Observer, seen: Exchanged, call: Call, raised: DragomanError | None) -> None:
    try:
        observer(seen)
    except Exception as error:  # noqa: BLE001 - anybody's code, and the answer is paid for
        name = getattr(observer, "__name__", type(observer).__name__)
        said = f"the observer {name} failed: {type(error).__name__}: {error}"
        call.told.append(Note(path=(), action="dropped", reason=said, loss=False))
        if raised is not None:
            raised.add_note(said)
