"""A recording: a folder with a file an exchange, the exact bytes of both sides and when they came; no keys.

`000001.jsonl` holds one exchange, numbered as they were sent, a JSON object a line: the request, the head of the answer,
each piece of its body as it arrived, and how it ended. `docs/recording.md` shows one. An empty file is an exchange that is
not over, or whose process died. Files are written whole, readable by their owner alone (I-11).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from dragoman.errors import UsageError
from dragoman.transport.base import Headers
from dragoman.types.codes import ErrorCode
from dragoman.wire.base import Http

VERSION, SUFFIX = 1, ".jsonl"
# The ends of paths by which a wire is told: all that a transport sees of it.
WIRES = {
    "/chat/completions": "chat",
    "/completions": "completions",  # after the longer end
    "/messages": "messages",
    "/responses": "responses",
    "/api/chat": "ollama",
}

How: TypeAlias = Literal["done", "drained", "left", "failed"]


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of an answer's body, as they arrived; `at` in seconds since the request was sent."""

    at: float
    data: bytes


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended: all of it came (`done`), all that was wanted did (`drained`), the caller went (`left`), or it `failed`
    with this code and message."""

    at: float
    how: How = "done"
    code: ErrorCode | None = None
    message: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange. `request.path` is the absolute address; `date` is seconds since the epoch, when it was sent.

    `status` is 0, and `began` None, where no answer began. Keys are `***`, in both bodies and the address.
    """

    number: int
    date: float
    request: Http
    end: End
    status: int = 0
    headers: Headers = ()
    began: float | None = None
    pieces: tuple[Piece, ...] = ()

    @property
    def wire(self) -> str | None:
        """The wire of the request, told by its path; None for another kind of request."""
        path = urlsplit(self.request.path).path.rstrip("/")
        return next((wire for end, wire in WIRES.items() if path.endswith(end)), None)

    @property
    def asked(self) -> Any:
        """The body of the request as JSON; None where it is none."""
        return _json(self.request.body)

    @property
    def body(self) -> bytes:
        """The body of the answer, whole."""
        return b"".join(piece.data for piece in self.pieces)


def read(folder: Path | str) -> list[Recorded]:
    """All exchanges of a recording, in the order in which they were sent; those that are not over are left out.

    Raises UsageError where the folder holds no recording, and for a file that is none, with its name and line; OSError
    for a folder that cannot be read.
    """
    found = [parse(data, path) for path in files(Path(folder)) if (data := path.read_bytes())]
    if not found:
        raise UsageError("usage", f"{folder} holds no recording: a model makes one with record={str(folder)!r}")
    return found


def files(folder: Path) -> list[Path]:
    """The files of a recording, in order."""
    return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.stem.isdecimal())


def parse(data: bytes, path: Path) -> Recorded:
    """One exchange out of its file. Raises UsageError, see `read`."""
    lines = list(_parsed(data, path))
    match lines:
        case [_Request() as asked, _Head() as head, *came, _End() as end]:
            pass
        case [_Request() as asked, _End() as end]:
            head, came = None, []
        case _:
            raise UsageError("usage", f"{path} is no whole recording: a request, an answer and an end were expected")
    if asked.version > VERSION:
        raise UsageError("usage", f"{path} has format {asked.version} and was written by a newer dragoman")
    return Recorded(
        number=int(path.stem),
        date=asked.date,
        request=Http(method=asked.method, path=asked.url, headers=asked.headers, body=_meant(asked)),
        end=End(at=end.at, how=end.how, code=end.code, message=end.message),
        status=head.status if head else 0,
        headers=head.headers if head else (),
        began=head.at if head else None,
        pieces=tuple(Piece(at=piece.at, data=_meant(piece)) for piece in came if isinstance(piece, _Piece)),
    )


def dump(recorded: Recorded) -> bytes:
    """One exchange as its file holds it."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in _lines(recorded))


def prepare(folder: Path) -> None:
    """Make the folder of a recording, its owner's alone, where there is none."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def reserve(folder: Path, after: int) -> tuple[int, Path]:
    """The next free number of a recording beyond `after`, and its file, empty now: no other process takes it."""
    number = after or max((int(path.stem) for path in files(folder)), default=0)
    while True:
        number += 1
        path = folder / f"{number:06}{SUFFIX}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return number, path


def write(recorded: Recorded, path: Path) -> None:
    """Fill the file of an exchange, whole or not at all."""
    part = path.with_suffix(".part")
    with open(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        file.write(dump(recorded))
    os.replace(part, path)


class _Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="request"):
    """The first line."""

    version: int
    date: float
    method: str
    url: str
    headers: Headers = ()
    text: str | None = None
    base64: bytes | None = None


class _Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="head"):
    """The second line, where an answer began."""

    at: float
    status: int
    headers: Headers = ()


class _Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="piece"):
    """A line a piece of the answer's body."""

    at: float
    text: str | None = None
    base64: bytes | None = None


class _End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="end"):
    """The last line."""

    at: float
    how: How
    code: ErrorCode | None = None
    message: str = ""


_Line: TypeAlias = _Request | _Head | _Piece | _End
_read = msgspec.json.Decoder(_Line).decode


def _lines(recorded: Recorded) -> Iterator[_Line]:
    asked, end = recorded.request, recorded.end
    yield _Request(
        version=VERSION,
        date=recorded.date,
        method=asked.method,
        url=asked.path,
        headers=asked.headers,
        **_said(asked.body),
    )
    if recorded.began is not None:
        yield _Head(at=recorded.began, status=recorded.status, headers=recorded.headers)
    for piece in recorded.pieces:
        yield _Piece(at=piece.at, **_said(piece.data))
    yield _End(at=end.at, how=end.how, code=end.code, message=end.message)


def _parsed(data: bytes, path: Path) -> Iterator[_Line]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line:
            try:
                yield _read(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise UsageError("usage", f"{path} line {number} is no line of a recording: {error}") from None


def _said(data: bytes) -> dict[str, Any]:
    """Bytes as text, or as base64 where they are no UTF-8 by themselves."""
    try:
        return {"text": data.decode()} if data else {}
    except UnicodeDecodeError:
        return {"base64": data}


def _meant(line: _Request | _Piece) -> bytes:
    return line.base64 or (line.text or "").encode()


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
