"""When the parts of an answer came, by a clock that is handed in."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.transport.clock import Clock
from dragoman.types.content import Refusal, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, KeepAlive, Start, StreamEvent
from dragoman.types.reply import Reply, Timing


def later(timing: Timing | None, seconds: float) -> Timing | None:
    """The same times, counted from a moment that was so many seconds earlier."""
    if timing is None:
        return None
    names = timing.__struct_fields__
    return Timing(**{name: said + seconds for name in names if (said := getattr(timing, name)) is not None})


class Stopwatch:
    """Sees the events of one call as they arrive, before any is held back; `timing` is what it has read (S3-37)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = 0.0
        self._texts: set[int] = set()
        self.timing: Timing | None = None

    def begin(self) -> None:
        """The call begins now."""
        self._began = self._clock.now()

    def see(self, event: StreamEvent) -> None:
        """Take note of an event. A Start begins anew: what came before it was given up for another try."""
        if isinstance(event, KeepAlive):
            return
        now = self._clock.now() - self._began
        if isinstance(event, Start):
            self._texts.clear()
            self.timing = Timing(first_event=now)
            return
        seen = self.timing or Timing(first_event=now)
        if seen.first_text is None and self._shows_text(event):
            seen = replace(seen, first_text=now)
        if seen.first_call is None and isinstance(event, BlockStart) and isinstance(event.block, ToolCall):
            seen = replace(seen, first_call=now)
        self.timing = replace(seen, total=now) if isinstance(event, Finish | Failure) else seen

    def whole(self, reply: Reply) -> None:
        """An answer came in one piece."""
        now = self._clock.now() - self._began
        text = call = None
        for block in reply.message.content:
            if isinstance(block, ToolCall):
                call = now
            elif isinstance(block, Text) and block.text:
                text = now
        self.timing = Timing(first_event=now, first_text=text, first_call=call, total=now)

    def ended(self) -> Timing:
        """The times of a call that has ended, however it did."""
        seen = self.timing or Timing()
        return seen if seen.total is not None else replace(seen, total=self._clock.now() - self._began)

    def _shows_text(self, event: StreamEvent) -> bool:
        match event:
            case BlockStart(block=Text() | Refusal() as block):
                self._texts.add(event.index)
                return block.text != ""
            case Delta(field="text"):
                return event.text != "" and event.index in self._texts
            case BlockEnd(block=Text() | Refusal() as block):
                return block.text != ""
            case _:
                return False
