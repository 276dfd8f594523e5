"""Error bodies of the messages wire, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError, RemoteError
from dragoman.types.codes import ErrorCode
from dragoman.wire import jsonio
from dragoman.wire.faults import OUR_STATUS, WORDS, api_error

# Our code → type and status, as the vendor's page of errors pairs them (dialects §1.3).
TYPES: dict[ErrorCode, tuple[str, int]] = {
    "rate_limit": ("rate_limit_error", 429),
    "quota": ("billing_error", 402),
    "overloaded": ("overloaded_error", 529),
    "too_large": ("request_too_large", 413),
    "auth": ("authentication_error", 401),
    "permission": ("permission_error", 403),
    "not_found": ("not_found_error", 404),
    "timeout": ("timeout_error", 504),
    "network": ("api_error", 502),
    "incomplete": ("api_error", 502),
    "server_error": ("api_error", 500),
}
INVALID = "invalid_request_error"


def decode_error(status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> ApiError:
    """What a service answered with a status of 400 or more, or inside a 200; never raises."""
    try:
        value, _ = jsonio.decode(body)
    except RemoteError:
        value = body.decode("utf-8", "replace").strip()
    return _read(value, status, headers)


def error_in(value: Mapping[str, Any]) -> ApiError | None:
    """The error inside a 200 (whole or one event), when there is one."""
    return _read(dict(value), 0, {}) if value.get("type") == "error" or value.get("error") else None


def encode_error(error: ApiError, dialect: Dialect) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Status, headers and body for a client of this wire; the request's id is kept where this wire said one."""
    kind, status = TYPES.get(error.code, (INVALID, OUR_STATUS.get(error.code, 500)))
    detail = error.detail
    said = detail.vendor_type or ""
    if said.endswith("_error") and WORDS.get(said) == error.code:
        kind = said
    body: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": error.message}}
    if isinstance(detail.body, dict) and isinstance(detail.body.get("request_id"), str):
        body["request_id"] = detail.body["request_id"]
    headers: list[tuple[str, str]] = [("content-type", "application/json")]
    if detail.retry_after is not None:
        headers.append(("retry-after", f"{detail.retry_after:g}"))
    return detail.status or status, tuple(headers), jsonio.encode(body)


def _read(value: Any, status: int, headers: Mapping[str, str]) -> ApiError:
    """The inner object is the error; its telling code stands in `details.error_code`."""
    error = value.get("error", value) if isinstance(value, dict) else value
    details = error.get("details") if isinstance(error, dict) else None
    if isinstance(details, dict) and "code" not in error and isinstance(details.get("error_code"), str):
        error = {**error, "code": details["error_code"]}
    return api_error(error, status, headers, value)
