"""Where sessions are, and which one a command goes on with."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.agent import Compacting, Session
from dragoman.agent.entries import Summed
from dragoman.cli.output import tell
from dragoman.engine.store import home
from dragoman.errors import UsageError
from dragoman.history.window import Cut, Window
from dragoman.types.note import Note, show_path

if TYPE_CHECKING:
    from dragoman.client import Model

SUFFIX = ".jsonl"


def folder(env: Mapping[str, str]) -> Path:
    """The folder of the sessions, in our data folder (DRAGOMAN_HOME, else the system's usual place)."""
    return home(env) / "sessions"


def all_paths(env: Mapping[str, str]) -> list[Path]:
    """The sessions of that folder, the one written last first."""
    found = folder(env).glob(f"*{SUFFIX}")
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)


def find(said: str, env: Mapping[str, str]) -> Path:
    """The file of a session by its path, or by its name or the beginning of it in our folder. Raises UsageError."""
    if Path(said).is_file():
        return Path(said)
    found = [path for path in all_paths(env) if path.stem.startswith(said)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError("usage", f"{len(found)} sessions begin with {said!r}: say more of the name")
    raise UsageError("usage", f"there is no session {said!r}; dragoman session list names those in {folder(env)}")


def new_path(env: Mapping[str, str]) -> Path:
    """A file for a new session."""
    return folder(env) / f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}{SUFFIX}"


def chosen(file: Path | None, env: Mapping[str, str], *, again: bool) -> Session:
    """The session of --session FILE (made where there is none), of --continue (the last one), or a new one."""
    if file is not None:
        return Session.open(file) if file.exists() else Session.create(file)
    if not again:
        return Session.create(new_path(env))
    paths = all_paths(env)
    if not paths:
        raise UsageError("usage", f"--continue: there is no session in {folder(env)} yet")
    return Session.open(paths[0])


def compacting(session: Session, model: Model, *, compact: bool = True) -> Compacting:
    """A model that goes on with a session: what is sent is cut as it was before, and each new cut is kept and told."""

    def keep(cut: Cut, note: Note) -> None:
        session.append(Summed(cut=cut, note=note))
        tell(note.reason)

    return Compacting(model, Window(tokens=window_of(model)), cut=session.tale.cut, compact=compact, on_cut=keep)


def window_of(model: Model) -> int | None:
    """How many tokens a model takes, where that is known."""
    from dragoman.catalog import models

    if model.target is None:
        return None
    facts = models.find(model.target.provider, model.target.model)
    return None if facts is None else facts.max_input or facts.context


def told(session: Session) -> list[str]:
    """What was wrong with the file, a line each."""
    return [f"note: {show_path(note.path)} {note.action}: {note.reason}" for note in session.notes]
