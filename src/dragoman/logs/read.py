"""From the bytes of a log to the entries of a session."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import msgspec

from dragoman.agent.entries import Entry, Prompt, Remark, Said, Spent, Summed
from dragoman.agent.session import Session
from dragoman.errors import RemoteError, UsageError
from dragoman.history.window import Cut
from dragoman.logs import claude, codex
from dragoman.logs.part import Gathered, stored
from dragoman.types.note import Note

KINDS: tuple[ModuleType, ...] = (codex, claude)


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A log that was read: whose it is, and what a session of ours holds of it."""

    origin: str
    entries: tuple[Entry, ...]
    notes: tuple[Note, ...] = ()


def read(data: bytes) -> Log:
    """Read a session log of Claude Code or Codex. Nothing is asked of anybody, and no tool runs.

    Raises UsageError for what is neither, RemoteError with the line for what cannot be read.
    """
    lines, half = _lines(data)
    kind = next((kind for kind in KINDS if kind.is_log(lines)), None)
    if kind is None:
        raise UsageError("usage", "this is no session log of Claude Code or Codex, as far as it can be told")
    gathered: Gathered = kind.gather(lines)
    if half:
        gathered.note("the last line was half written")
    entries: list[Entry] = [] if gathered.system is None else [Prompt(text=gathered.system)]
    count = 0
    for part in gathered.parts:
        messages = stored(part.messages, gathered) if part.messages else []
        entries += [Said(message=message) for message in messages]
        count += len(messages)
        if part.summary is not None:
            note = Note(
                path=("messages",), action="substituted", reason=f"{gathered.origin} summed up {count} messages"
            )
            entries.append(Summed(cut=Cut(upto=count, summary=part.summary), note=note))
    for reply in gathered.replies:
        entries.append(Spent(stop=reply.stop.reason, model=reply.model, usage=reply.usage))
    entries += [Remark(note=note) for note in gathered.notes]
    return Log(origin=gathered.origin, entries=tuple(entries), notes=tuple(gathered.notes))


def write(log: Log, session: Session) -> None:
    """Put what was read into a session."""
    session.append(*log.entries)
    session.settle()


def _lines(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The objects of the lines, and whether the last one is half written."""
    found: list[dict[str, Any]] = []
    raw = data.split(b"\n")
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            value: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            if number == len(raw):
                return found, True
            raise RemoteError("bad_json", f"line {number}: {error}") from None
        if isinstance(value, dict):
            found.append(value)
    return found, False
