"""Error bodies of the chat wire, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.errors import ApiError
from dragoman.wire.faults import api_error
from dragoman.wire.refusals import decode_error as decode_error
from dragoman.wire.refusals import encode_error as encode_error


def error_in(value: Mapping[str, Any], name: str | None = None) -> ApiError | None:
    """The error inside a 200 (whole, or one chunk and the name of its event), when there is one.

    Under `error`, as an object or a text; or the body itself, when it says so or answers nothing (dialects §8b).
    """
    error = value.get("error") or (dict(value) if _is_error(value, name) else None)
    return api_error(error, 0, {}, dict(value)) if error else None


def _is_error(value: Mapping[str, Any], name: str | None) -> bool:
    if "error" in (name, value.get("object"), value.get("type")):
        return True
    said = value.get("detail") or value.get("errors")
    return not value.get("choices") and bool(said or ("choices" not in value and isinstance(value.get("message"), str)))
