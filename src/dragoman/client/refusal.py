"""What people are told when a service refuses."""

from __future__ import annotations

import msgspec

from dragoman.catalog.target import Target
from dragoman.errors import ApiDetail, ApiError, TransportError
from dragoman.transport.flow import Head
from dragoman.types.events import Failure
from dragoman.wire.base import Wire

SHOWN = 500  # characters of the service's own words (S0-67)
ONE_LINE = dict.fromkeys(range(32), " ")

HINTS = {
    401: "check {key_env}",
    404: "check the model id {model} and the base URL {base_url}{base_env}",
}


def refused(target: Target, wire: Wire, head: Head, body: bytes) -> ApiError:
    """The error of an answer that is no reply: `"{Label} API error {status}: {the body, cut at 500}"`, then a hint.

    The hint is a clue and never stands instead of the service's own words (S0-67, S0-68, S0-69). The key is taken out
    of whatever the service quotes.
    """
    text = target.hidden(body.decode("utf-8", "replace"))
    read = wire.decode_error(head.status, head.headers, text.encode(), target.dialect)
    message = f"{target.label} API error {head.status}: {text[:SHOWN].translate(ONE_LINE)}{_hint(target, head.status)}"
    detail = read.detail if read.status else msgspec.structs.replace(read.detail, status=head.status)
    return ApiError(read.code, message, detail)


def empty(target: Target, head: Head) -> ApiError:
    """The error of a success without a body (S0-67)."""
    message = f"{target.label} API error {head.status}: the answer has no body"
    return ApiError("incomplete", message, ApiDetail(status=head.status))


def failed(target: Target | None, failure: Failure) -> ApiError:
    """The error of a stream that failed, for callers who wait for a whole reply."""
    label = "local model" if target is None else f"{target.label} API"
    detail = ApiDetail(retryable=failure.retryable, body=failure.message)
    return ApiError(failure.code, f"{label} error: {failure.message}", detail)


def inside(target: Target, error: ApiError) -> ApiError:
    """The error inside a success, without the key."""
    body = error.detail.body
    said = msgspec.json.encode(body).decode()
    hidden = target.hidden(said)
    detail = error.detail if hidden == said else msgspec.structs.replace(error.detail, body=msgspec.json.decode(hidden))
    return ApiError(error.code, target.hidden(error.message), detail)


def told(why: str, attempts: int) -> str:
    """What follows an error: why it was not tried again, and how often it was."""
    times = f" (after {attempts} attempts)" if attempts > 1 else ""
    return f"{f' — {why}' if why else ''}{times}"


def added(error: ApiError | TransportError, why: str, attempts: int) -> ApiError | TransportError:
    """The error with that told."""
    message = error.message + told(why, attempts)
    if message == error.message:
        return error
    if isinstance(error, ApiError):
        return ApiError(error.code, message, error.detail)
    return TransportError(error.code, message)


def _hint(target: Target, status: int) -> str:
    if status not in HINTS or (status == 401 and not target.key_env):
        return ""
    hint = HINTS[status].format(
        key_env=target.key_env,
        model=target.model,
        base_url=target.base_url.partition("?")[0],
        base_env=f" ({target.base_env})" if target.base_env else "",
    )
    return f" — {hint}"
