"""What a client is told when something fails: the status and the service's own words, in the client's shape, without ours.

A service's refusal keeps its status, its sentence and its `retry-after`. That the service did not take *our* key is no fault
of the client's key, so it becomes a 502 (GWY-021); the hints we give to whoever runs us are for them alone.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.dialect.model import BASE
from dragoman.errors import ApiDetail, ApiError, DragomanError, RemoteError, TransportError, UsageError
from dragoman.types.events import Failure
from dragoman.wire import find

Answered = tuple[int, tuple[tuple[str, str], ...], bytes]

OURS = frozenset({401, 403, 407})  # of a service: its word on the key that we have, not on the client's
SHOWN = 2000  # characters of a service's words


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
        case TransportError():
            status = 504 if error.code == "timeout" else 502
            return ApiError(error.code, error.message, ApiDetail(status=status))
        case RemoteError():
            said = f"the model's service answered what cannot be read: {error.message}"
            return ApiError("server_error", said, ApiDetail(status=502))
        case UsageError() if error.code == "usage":
            return ApiError("invalid_request", error.message, ApiDetail(status=400))
        case _:
            return ApiError("server_error", error.message, ApiDetail(status=500))


def spoken(failure: Failure) -> Failure:
    """A stream's failure as a client is told of it."""
    error = in_stream(failure)
    return replace(failure, code=error.code, message=error.message)


def in_stream(failure: Failure) -> ApiError:
    """The error of a stream that failed before a word of it was said."""
    detail = ApiDetail(status=failure.status or 0, retryable=failure.retryable, message=failure.message)
    return _of_service(ApiError(failure.code, failure.message, detail))


def bug(error: Exception) -> ApiError:
    """The error of a fault in us, or in a library: its own words may hold what nobody should read."""
    return ApiError("server_error", f"a fault in this server: {type(error).__name__}", ApiDetail(status=500))


def _of_service(error: ApiError) -> ApiError:
    """A service's word, without what is only ours to know."""
    detail = error.detail
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
