"""A conversation on disk that outlives the process: a file of lines that only ever grows, one entry a line.

A line is written whole, in one go, after what it tells of was decided and before anything is done about it. So a process
that is killed loses nothing but a half-written line. The disk is made to keep it (`fsync`) before a tool runs, when a run
is over, and when the file is closed: a power cut may take what models said since.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from dragoman.agent.entries import Began, Entry, Gave, Prompt, Said, Switched, Tale, Undone
from dragoman.errors import RemoteError, UsageError
from dragoman.history.rounds import rounds
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.types.save import MAX_DEPTH, Conversation, is_too_deep
from dragoman.types.tool import Tool

FORMAT = "dragoman.session"
VERSION = 1
BINARY = getattr(os, "O_BINARY", 0)  # a line ends the same on every system


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line. `created` is UTC, `parent` the session that this one was forked off, or where it came from."""

    format: str
    version: int
    id: str
    created: str
    parent: str | None = None


class Session:
    """A session that is open. `tale` is what its entries come to, `notes` what was wrong with the file.

    Only one process writes to a file: a second one gets UsageError with its first entry. On opening, a last line that is
    half written is dropped, with a note, and cut off when the next entry is written.
    """

    def __init__(self, path: Path, header: Header, entries: list[Entry], size: int, notes: tuple[Note, ...]) -> None:
        self.path = path
        self.header = header
        self.entries = entries
        self.tale = Tale(entries)
        self.notes = notes
        self._size = size  # of what is whole in the file
        self._file: int | None = None

    @classmethod
    def create(
        cls, path: Path | str, *, system: str | None = None, model: str | None = None, parent: str | None = None
    ) -> Session:
        """A new session in a new file, readable by its owner alone. Raises UsageError where there is one, or none can be."""
        path = _path(path)
        now = time.gmtime()
        id = f"{time.strftime('%Y%m%dT%H%M%S', now)}-{secrets.token_hex(3)}"
        header = Header(
            format=FORMAT, version=VERSION, id=id, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", now), parent=parent
        )
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
        except OSError as error:
            if isinstance(error, FileExistsError) and path.exists():
                raise UsageError("usage", f"there is a file {path} already: open it, or name another") from None
            raise UsageError("usage", f"no session can be made at {path}: {error.strerror}") from None
        line = _line(header)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        session = cls(path, header, [], len(line), ())
        if system is not None:
            session.append(Prompt(text=system))
        if model is not None:
            session.append(Switched(model=model))
        return session

    @classmethod
    def open(cls, path: Path | str) -> Session:
        """A session from its file. Raises UsageError for no such file, for a newer version, and for what is no session;
        RemoteError with the line for an entry that cannot be read.
        """
        path = _path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError("usage", f"{path}: {error.strerror}") from None
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        header = _header(path, lines[0] if lines else b"")
        entries = [_entry(path, number, line) for number, line in enumerate(lines[1:], 2) if line.strip()]
        notes: tuple[Note, ...] = ()
        if whole < len(data):
            reason = f"line {len(lines) + 1} of the session was half written ({len(data) - whole} bytes)"
            notes = (Note(path=("entries", len(entries)), action="dropped", reason=reason),)
        return cls(path, header, entries, whole, notes)

    def append(self, *entries: Entry) -> None:
        """Write entries. Raises UsageError where another process writes to this file, OSError where it cannot be written."""
        if not entries:
            return
        file = self._writing()
        data = b"".join(map(_line, entries))
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        self._size += len(data)
        if any(isinstance(entry, Began) for entry in entries):
            os.fsync(file)
        for entry in entries:
            self.entries.append(entry)
            self.tale.feed(entry)

    def settle(self) -> None:
        """Give every call that waits a result that says why there is none: what was interrupted can go on (S0-48)."""
        queued = [*self.tale.queued]
        self.append(*(Gave(result=result) for result in self.tale.missing), *(Said(message=item) for item in queued))

    def request(self, settings: Request | None = None) -> Request:
        """The whole conversation as a request, with the tools and settings of `settings`."""
        made = msgspec.structs.replace(settings or Request(), messages=self.tale.history)
        return made.with_system(self.tale.system)

    def undo(self) -> int:
        """Take back the last round of the conversation; how many messages that were. Nothing is undone that tools did."""
        messages = self.tale.history
        begins = rounds(messages)
        if not begins:
            return 0
        self.append(Undone(messages=begins[-1]))
        return len(messages) - begins[-1]

    def fork(self, path: Path | str, *, messages: int | None = None) -> Session:
        """A session in another file that begins with this conversation, or its first `messages`. This one is untouched."""
        made = Session.create(path, parent=self.header.id)
        made.append(*self.entries)
        made.settle()
        if messages is not None and messages < len(made.tale.messages):
            made.append(Undone(messages=messages))
        return made

    def export(self, *tools: Tool) -> Conversation:
        """The conversation in the form that `dragoman show` and `dragoman lint` read."""
        return Conversation(request=self.request(Request(tools=tools or None)), notes=tuple(self.tale.notes))

    def sync(self) -> None:
        """Make the disk keep what was written."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file; a later entry opens it again."""
        if self._file is not None:
            os.fsync(self._file)
            os.close(self._file)
            self._file = None

    def _writing(self) -> int:
        if self._file is None:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | BINARY)
            try:
                _lock(file, self.path)
                size = os.fstat(file).st_size
                os.lseek(file, self._size, os.SEEK_SET)
                more = os.read(file, max(size - self._size, 0))
                if size < self._size or b"\n" in more:
                    raise UsageError("usage", f"{self.path} was written to meanwhile: open it again")
                os.ftruncate(file, self._size)  # what is more is a line that was never finished
            except BaseException:
                os.close(file)
                raise
            self._file = file
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


def _line(value: Header | Entry) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _path(said: Any) -> Path:
    """A path as one. Raises UsageError for what cannot be the name of a file."""
    if not isinstance(said, (str, Path)) or "\0" in str(said):
        raise UsageError("usage", f"a session's path is {said!r}: pass the name of a file")
    return Path(said)


def _header(path: Path, line: bytes) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError("usage", f"{path} is no session: it does not begin with a {FORMAT} line") from None
    if header.format != FORMAT:
        raise UsageError("usage", f"{path} is no session: its format is {header.format!r}")
    if header.version > VERSION:
        said = f"{path} has version {header.version}, this library reads up to {VERSION}: upgrade it"
        raise UsageError("usage", said)
    return header


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        if line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_too_deep(msgspec.json.decode(line)):
            raise RecursionError
        return msgspec.json.decode(line, type=Entry)
    except RecursionError:  # which the parser raises itself where it is still deeper
        raise RemoteError("too_deep", f"{path}:{number}: more than {MAX_DEPTH} levels of nesting") from None
    except msgspec.ValidationError as error:
        raise RemoteError("bad_shape", f"{path}:{number}: {error}") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RemoteError("bad_json", f"{path}:{number}: {error}") from None


def _lock(file: int, path: Path) -> None:
    """Hold the file for this process, where the system can; the system lets go when the process ends, however it does."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError("usage", f"another process is writing to {path}: fork the session, or end that one") from None
