"""How commands speak: answers on stdout, everything about them on stderr, one line a thing."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from dragoman.types.note import Note, show_path

DIM, RESET = "\x1b[2m", "\x1b[0m"
CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def use_utf8() -> None:
    """Both streams as UTF-8 whatever the locale says, so that no answer dies on its way out. A stream that was closed
    before we began (`>&-`) is an empty one: Python has None in its place."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(
                sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w", encoding="utf-8")
            )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def typed(text: str) -> str:
    """What was typed, read as UTF-8 where the locale could not read it."""
    unread = any("\ud800" <= letter <= "\udfff" for letter in text)
    return os.fsencode(text).decode("utf-8", "replace") if unread else text


def say(text: str, *, end: str = "\n", dim: bool = False) -> None:
    """A part of the answer, on stdout and at once. On a terminal it cannot steer the terminal."""
    text = plain(text) if sys.stdout.isatty() else text
    sys.stdout.write((dimmed(text, sys.stdout) if dim else text) + end)
    sys.stdout.flush()


def tell(text: str, *, dim: bool = False) -> None:
    """One line about the answer, on stderr."""
    sys.stderr.write((dimmed(one_line(text), sys.stderr) if dim else one_line(text)) + "\n")
    sys.stderr.flush()


def note_lines(notes: Iterable[Note]) -> Iterator[str]:
    """A line for each loss, and one for all that was told in the same words and lost nothing: at its first place."""
    listed = list(notes)
    alike = Counter((note.action, note.reason) for note in listed if not note.loss)
    for note in listed:
        line = f"note: {show_path(note.path)} {note.action}: {note.reason}"
        if note.loss:
            yield line
        elif times := alike.pop((note.action, note.reason), 0):
            yield f"{line} (no loss{f'; {times - 1} more like it' if times > 1 else ''})"


def dimmed(text: str, stream: TextIO) -> str:
    """`text` in a weaker colour where `stream` is a terminal that wants colours; no meaning rests on it."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"{DIM}{text}{RESET}" if wanted else text


def plain(text: str) -> str:
    """`text` without control characters: what a model or a file says must not move the cursor or set the title."""
    return text.translate(CONTROLS)


def one_line(text: str, width: int | None = None) -> str:
    """`text` on one line without control characters, cut at `width` characters."""
    line = plain(" ".join(text.split()))
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all. It is readable by its owner only. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
