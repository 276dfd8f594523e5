"""What a caller has seen of an answer: it decides whether another may still take its place."""

from __future__ import annotations

from dragoman.types.content import Content, HostedCall, HostedResult, Reasoning, Refusal, Text, ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Patch, StreamEvent


class Shown:
    """`anything`: content or a call was shown. `may_have_run`: a call is whole, or the service ran something itself."""

    def __init__(self) -> None:
        self.anything = False
        self.may_have_run = False
        self._calls: set[int] = set()

    def see(self, event: StreamEvent) -> bool:
        """Take note of an event; whether it shows something of the answer itself."""
        shows = False
        match event:
            case Delta():
                shows = event.text != ""
            case Patch():
                shows = True
            case BlockStart():
                shows = _says_something(event.block)
                self.may_have_run |= isinstance(event.block, HostedCall | HostedResult)
                if isinstance(event.block, ToolCall):
                    self._calls.add(event.index)
            case BlockEnd():
                shows = event.block is not None and _says_something(event.block)
                self.may_have_run |= event.index in self._calls
            case _:
                pass
        self.anything |= shows
        return shows


def _says_something(block: Content) -> bool:
    match block:
        case Text() | Refusal():
            return block.text != ""
        case Reasoning():
            return bool(block.text or any(block.summary or ()))
        case _:
            return True
