"""Every error this library raises.

DragomanError(code, message)
├── UsageError        you asked for something that cannot be: an unknown wire, a missing key or extra
├── WireError         bytes that cannot be read or written, with the place in the body
│   ├── LocalError      ours to mend: what we were given to encode
│   └── RemoteError     theirs: what came over the wire
├── LossyError        strict mode refused a conversion; `.notes` are the losses
├── ApiError          the service said no: status, its own words, whether a retry may help
├── OutputError       a reply came, and its answer is not what was asked for; `.reply` is what came
│   ├── TruncatedError  it was cut off by a limit
│   └── RefusedError    the model would not, or a filter did not let it
├── TransportError    no answer at all: address, connection, time limit
└── Cancelled         the caller's own cancel token
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.types.codes import RETRYABLE, ErrorCode
from dragoman.types.note import Note, Path, show_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.types.reply import Reply


class DragomanError(Exception):
    """The base of all our errors: `code` is one of the closed list, `message` one line for people."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message


class UsageError(DragomanError):
    """The caller asked for something that cannot be."""


class WireError(DragomanError):
    """A body that cannot be read or written. `path` is the place in the wire's own body, `()` for all of it."""

    def __init__(self, code: ErrorCode, message: str, path: Path = ()) -> None:
        super().__init__(code, f"{show_path(path)}: {message}" if path else message)
        self.path = path


class LocalError(WireError):
    """We were asked to write what this wire cannot hold."""


class RemoteError(WireError):
    """The other side sent what this wire does not allow."""


class LossyError(DragomanError):
    """strict=True, and something would have been lost."""

    def __init__(self, notes: Sequence[Note]) -> None:
        first = notes[0]
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        super().__init__("lossy", f"{show_path(first.path)} would be {first.action}: {first.reason}{more}")
        self.notes = tuple(notes)


class ApiDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What else a service said with its refusal.

    `status` is the HTTP status, or the one that an error inside a 200 or a stream names (0: none); `retry_after`
    seconds; `vendor_code`, `vendor_type` and `param` the service's own words, `message` its sentence alone; `tokens` and
    `limit` what it says of a conversation that is too long; `body` its decoded error object or text.
    """

    status: int = 0
    retry_after: float | None = None
    retryable: bool | None = None
    vendor_code: str | None = None
    vendor_type: str | None = None
    param: str | None = None
    message: str = ""
    tokens: int | None = None
    limit: int | None = None
    body: Any = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a refusal means: `cause` and `fix` for people, `path` the place in the middle format, `()` for none found.

    `name` is the row of the table of causes, `source` what the row rests on.
    """

    name: str
    cause: str
    fix: str
    path: Path = ()
    source: str = ""

    def __str__(self) -> str:
        at = f" ({show_path(self.path)})" if self.path else ""
        return f"{self.cause}{at}: {self.fix}"


class ApiError(DragomanError):
    """What a service answered instead of a reply. `retryable` follows the service's word, else our table.

    `explanation` says what its words mean, where the client knew them.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        detail: ApiDetail | None = None,
        explanation: Explanation | None = None,
    ) -> None:
        super().__init__(code, message)
        self.detail = detail or ApiDetail()
        self.explanation = explanation
        said = self.detail.retryable
        self.retryable: bool = code in RETRYABLE if said is None else said

    @property
    def status(self) -> int:
        """The HTTP status, or the one an error inside a 200 or a stream names; 0 when it names none."""
        return self.detail.status


class OutputError(DragomanError):
    """A reply came, and its answer is not of the form that was asked for: nothing is wrong with the exchange itself.
    `reply` is what came, whole."""

    def __init__(self, code: ErrorCode, message: str, reply: Reply) -> None:
        super().__init__(code, message)
        self.reply = reply


class TruncatedError(OutputError):
    """The answer was cut off by a limit of tokens: it is never read as if it were whole (S4-08)."""


class RefusedError(OutputError):
    """The model would not answer, or a filter did not let it."""


class TransportError(DragomanError):
    """No answer: the address could not be reached, the connection broke, or a time limit passed."""


class Cancelled(DragomanError):
    """The caller's cancel token was pulled."""

    def __init__(self, message: str = "cancelled") -> None:
        super().__init__("cancelled", message)
