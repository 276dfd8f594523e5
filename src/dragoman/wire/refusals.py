"""Error bodies of the form `{"error": {message, type, param, code}}`, which the chat and Responses wires share."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError, RemoteError
from dragoman.types.codes import ErrorCode
from dragoman.wire import jsonio
from dragoman.wire.faults import OUR_STATUS, api_error

# Our code → (type, code) as the vendor's page of error codes writes them.
WORDS: dict[ErrorCode, tuple[str, str | None]] = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "context_overflow": ("invalid_request_error", "context_length_exceeded"),
    "auth": ("invalid_request_error", "invalid_api_key"),
    "permission": ("invalid_request_error", "forbidden"),
    "not_found": ("invalid_request_error", "model_not_found"),
    "content_filter": ("invalid_request_error", "content_filter"),
    "overloaded": ("server_error", "overloaded"),
    "server_error": ("server_error", None),
    "timeout": ("server_error", "timeout"),
    "network": ("server_error", "upstream_unreachable"),
    "incomplete": ("server_error", "upstream_incomplete"),
}


def decode_error(status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError:
    """What a service answered with a status of 400 or more, or inside a 200; never raises."""
    try:
        value, _ = jsonio.decode(body)
    except RemoteError:
        value = body.decode("utf-8", "replace").strip()
    error = value.get("error", value) if isinstance(value, dict) else value
    return api_error(error, status, headers, value)


def encode_error(error: ApiError, dialect: Dialect) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Status, headers and body for a client of this wire."""
    kind, code = WORDS.get(error.code, ("invalid_request_error", None))
    detail = error.detail
    body = {"error": {"message": error.message, "type": kind, "param": detail.param, "code": code}}
    headers: list[tuple[str, str]] = [("content-type", "application/json")]
    if detail.retry_after is not None:
        headers.append(("retry-after", f"{detail.retry_after:g}"))
    return detail.status or OUR_STATUS.get(error.code, 500), tuple(headers), jsonio.encode(body)
