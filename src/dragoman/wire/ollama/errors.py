"""Error bodies of this wire: `{"error": "text"}`, with a status or as a line of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError
from dragoman.wire import jsonio
from dragoman.wire.faults import OUR_STATUS, api_error
from dragoman.wire.refusals import decode_error as decode_error

HEADERS = (("content-type", "application/json"),)


def error_in(value: Mapping[str, Any]) -> ApiError | None:
    """The error inside a 200 (whole, or one line), when there is one."""
    error = value.get("error")
    return api_error(error, 0, {}, dict(value)) if error else None


def encode_error(error: ApiError, dialect: Dialect) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Status, headers and body for a client of this wire."""
    after = error.detail.retry_after
    headers = HEADERS if after is None else (*HEADERS, ("retry-after", f"{after:g}"))
    return error.detail.status or OUR_STATUS.get(error.code, 500), headers, jsonio.encode({"error": error.message})
