"""Whether a call may run, asked of whoever sits at the terminal; and the word to stop, which is Ctrl-C."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dragoman.agent import Gate, Question
from dragoman.cli.output import tell
from dragoman.transport.cancel import CancelToken

SHOWN = 10_000
KEYS = "[y]es, [a]lways, [n]o, or say what to do instead"


class Asker:
    """Asks at the terminal; where there is none nobody is asked, and `denied` are the rules that would have allowed it."""

    def __init__(self, gate: Gate, *, terminal: bool | None = None) -> None:
        self.gate = gate
        self.denied: list[str] = []
        self.asking = False
        self._terminal = sys.stdin.isatty() and sys.stderr.isatty() if terminal is None else terminal

    def __call__(self, question: Question) -> bool | str | None:
        """True, False, words for the model, or None where nobody could be asked."""
        if self.gate(question.call, question.arguments).verdict == "allow":
            return True  # a question before this one was answered with "always"
        grant = question.judgement.grant or question.call.name
        if not self._terminal:
            self.denied += [] if grant in self.denied else [grant]
            return None
        tell(f"{question.judgement.why}: {question.call.name} {shown(question.arguments)}")
        try:
            self.asking = True
            tell(f"{KEYS} ({grant}) ")
            said = sys.stdin.readline().strip()
        except KeyboardInterrupt:
            return False
        finally:
            self.asking = False
        if said.lower() in ("a", "always"):
            self.gate.allow(grant)
            return True
        return True if said.lower() in ("y", "yes") else False if said.lower() in ("", "n", "no") else said


def shown(arguments: dict[str, Any]) -> str:
    """The checked arguments, which are what would run: whole, and with what cannot be seen spelled out."""
    text = json.dumps(arguments, ensure_ascii=False)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… AND {len(text) - SHOWN} MORE CHARACTERS"


@contextmanager
def interruptible(token: CancelToken, asker: Asker) -> Generator[None]:
    """While in this context Ctrl-C pulls `token`, so that the run ends whole; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        again = token.cancelled
        token.cancel()
        if again or asker.asking:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
