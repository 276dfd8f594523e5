"""What a client is told when something fails: the status and the service's own words, in the client's shape, without ours.

A service's refusal keeps its status, its sentence and its `retry-after`. That the service did not take *our* key is no fault
of the client's key, so it becomes a 502 (GWY-021). Where the service is, what our library says of it and the hints we give to
whoever runs us are for them alone (see `behind`).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.dialect.model import BASE
from dragoman.errors import (
    ApiDetail,
    ApiError,
    DragomanError,
    LocalError,
    LossyError,
    RemoteError,
    TransportError,
    UsageError,
)
from dragoman.explain import explain
from dragoman.types.codes import ErrorCode
from dragoman.types.events import Failure
from dragoman.wire import find

Answered = tuple[int, tuple[tuple[str, str], ...], bytes]

OURS = frozenset({401, 403, 407})  # of a service: its word on the key that we have, not on the client's
SHOWN = 2000  # characters of a service's words
DASH, LATE = " — ", 4  # between a service's words and ours, which are among the last that a failure says
OURS_TO_MEND = "if it stays so, tell whoever runs this server"
UNREADABLE = (502, f"the model's service answered what cannot be read here: try again, and {OURS_TO_MEND}")
# What is said of a service that has not spoken itself, by what went wrong: the status, and what to do.
UNSAID: dict[ErrorCode, tuple[int, str]] = {
    "network": (
        502,
        f"the model's service cannot be reached from here, or the connection broke: try again, and {OURS_TO_MEND}",
    ),
    "timeout": (504, f"the model's service was silent for too long: try again, and {OURS_TO_MEND}"),
    "incomplete": (502, "the answer of the model's service broke off before its end: try again"),
    "too_large": (502, "the answer of the model's service is larger than this server reads: ask for less"),
    **dict.fromkeys(("bad_json", "bad_shape", "too_deep"), UNREADABLE),
}
NEVER_SAID = UNSAID.keys() - {"timeout", "too_large"}  # of which a service has no word of its own


class NoThreads(ApiError):
    """A conversation that the server is to keep. Its answer makes the SDKs of the messages wire send the whole history,
    as measured (carriers.md); a plain 400 would be the end."""

    def __init__(self) -> None:
        said = "this server keeps no threads: send the whole conversation"
        super().__init__("invalid_request", said, ApiDetail(status=400, param="thread"))


def written(error: ApiError, wire: str) -> Answered:
    """Status, headers and body for a client of `wire`."""
    status, headers, body = find(wire).encode_error(error, BASE)
    if isinstance(error, NoThreads):
        said = msgspec.json.decode(body)
        said["error"]["details"] = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
        body = msgspec.json.encode(said)
    return status, headers, body


def refusal(error: DragomanError) -> ApiError:
    """The error of a request that cannot be answered as it is: whoever sent it can mend it."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, UsageError) and error.code != "usage":
        return broken(error)
    path = getattr(error, "path", ())
    param = str(path[0]) if path else None
    code = "too_large" if error.code == "too_large" else "invalid_request"
    return ApiError(code, error.message, ApiDetail(status=413 if code == "too_large" else 400, param=param))


def broken(error: DragomanError) -> ApiError:
    """The error of a request that was taken and got no answer."""
    match error:
        case ApiError():
            return _of_service(error)
        case TransportError() | RemoteError():
            return _unsaid(error.code)
        case LossyError() | LocalError():  # the request itself is what cannot be written
            return refusal(error)
        case _:
            said = "this server cannot ask its model as it is set up: tell whoever runs it"
            return ApiError("server_error", said, ApiDetail(status=500))


def spoken(failure: Failure) -> Failure:
    """A stream's failure as a client is told of it."""
    error = broken(raised(failure))
    return replace(failure, code=error.code, message=error.message)


def raised(failure: Failure) -> DragomanError:
    """The failure of a stream as the error that it had been before the first word."""
    if (
        failure.retryable is not None and failure.code not in NEVER_SAID
    ):  # what we find out says nothing of trying again
        return _own_words(failure)
    kind = TransportError if failure.code in ("network", "timeout") else RemoteError
    return kind(failure.code, failure.message)


def _own_words(failure: Failure) -> ApiError:
    """What the service said, without what the client side adds for whoever runs it: what that means (see `explain`)."""
    detail = ApiDetail(status=failure.status or 0, retryable=failure.retryable)
    whole = ApiError(failure.code, failure.message, detail)
    parts = failure.message.rsplit(DASH, LATE)
    for at in range(1, len(parts)):
        own = ApiError(failure.code, DASH.join(parts[:at]), detail)
        known = explain(own)
        if known is not None and parts[at].startswith(known.cause):
            return own
    return whole


def bug(error: Exception) -> ApiError:
    """The error of a fault in us, or in a library: its own words may hold what nobody should read."""
    said = f"a fault in this server, not in the request: whoever runs it was told where ({type(error).__name__})"
    return ApiError("server_error", said, ApiDetail(status=500))


def _of_service(error: ApiError) -> ApiError:
    """A service's word, without what is only ours to know."""
    detail = error.detail
    if error.code in NEVER_SAID:
        return _unsaid(error.code)
    status = detail.status if 400 <= detail.status < 600 else 0
    if status in OURS or error.code == "auth":
        said = "the model's service does not take the key that this server has for it"
        return ApiError("server_error", said, ApiDetail(status=502))
    message = (detail.message or error.message)[:SHOWN]
    if message.lstrip().startswith("<"):  # a page for people, of whatever stood in between
        message = f"the model's service answered {status or 502}"
    kept = ApiDetail(
        status=status,
        retry_after=detail.retry_after,
        vendor_type=detail.vendor_type,
        param=detail.param,
        body=detail.body,
    )
    return ApiError(error.code, message, kept)


def _unsaid(code: ErrorCode) -> ApiError:
    """The error of a service that said nothing, or nothing that we understand."""
    status, said = UNSAID.get(code, UNREADABLE)
    told: ErrorCode = code if code in ("network", "timeout", "incomplete") else "server_error"
    return ApiError(told, said, ApiDetail(status=status))
