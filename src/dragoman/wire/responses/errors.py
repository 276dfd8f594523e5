"""Error bodies of the Responses wire, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.errors import ApiError
from dragoman.types.codes import ErrorCode
from dragoman.wire.faults import api_error
from dragoman.wire.refusals import WORDS
from dragoman.wire.refusals import decode_error as decode_error
from dragoman.wire.refusals import encode_error as encode_error


def error_in(value: Mapping[str, Any]) -> ApiError | None:
    """The error inside a 200 (whole or one chunk), when there is one."""
    error = value.get("error")
    return api_error(error, 0, {}, dict(value)) if error else None


def error_in_event(value: Mapping[str, Any], kind: str) -> ApiError | None:
    """The error that an event of a stream tells, when it does: flat, under `error`, or in a failed response."""
    response = value.get("response")
    if kind == "response.failed" and isinstance(response, dict):
        return api_error(response.get("error"), 0, {}, dict(value))
    nested = error_in(value)
    return api_error(value, 0, {}, dict(value)) if kind == "error" and nested is None else nested


def encode_failure(code: ErrorCode, message: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the two last events of a failed stream say: the `error` event, and the `error` of the failed response.

    The vendor's own event nests the error, its published type is flat: both forms are said.
    """
    kind, word = WORDS.get(code, ("invalid_request_error", None))
    said = {"code": word or kind, "message": message, "param": None}
    return {**said, "error": {"type": kind, **said}}, {"code": word or kind, "message": message}
