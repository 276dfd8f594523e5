"""What went wrong at a service, from its status and its own words: tables, most telling first."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from dragoman.errors import ApiDetail, ApiError
from dragoman.types.codes import ErrorCode
from dragoman.wire.overflow import Figures, figures, is_overflow

# A vendor's code or type → ours. Sources: dialects §1 and §8b, error bodies in the recordings.
WORDS: dict[str, ErrorCode] = {
    "insufficient_quota": "quota",
    "credit_balance_exhausted": "quota",
    "billing_error": "quota",
    "usage_not_included": "quota",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "ratelimitreached": "rate_limit",
    "too_many_requests": "rate_limit",
    "resource_exhausted": "rate_limit",
    "throttlingexception": "rate_limit",
    "overloaded_error": "overloaded",
    "unavailable": "overloaded",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "too_many_prompt_tokens": "context_overflow",
    "request_too_large": "too_large",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "unauthenticated": "auth",
    "permission_error": "permission",
    "forbidden": "permission",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "deploymentnotfound": "not_found",
    "previous_response_not_found": "not_found",
    "content_filter": "content_filter",
    "timeout_error": "timeout",
    "invalid_request_error": "invalid_request",
    "invalid_prompt": "invalid_request",
    "server_error": "server_error",
    "api_error": "server_error",
}
# Words that name the kind of request error only in passing: a status or a phrase says more.
VAGUE = frozenset({"invalid_request_error", "invalid_prompt", "api_error", "server_error"})

# What services say when the account is empty, under codes that do not tell (RET-003).
NO_MONEY = ("insufficient balance", "credit balance is too low", "no credits", "out of credits", "insufficient credit")

STATUSES: dict[int, ErrorCode] = {
    400: "invalid_request",
    401: "auth",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "invalid_request",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# Our code → the status a client expects when no service said one.
OUR_STATUS: dict[ErrorCode, int] = {
    "rate_limit": 429,
    "quota": 429,
    "overloaded": 503,
    "context_overflow": 400,
    "too_large": 413,
    "invalid_request": 400,
    "auth": 401,
    "permission": 403,
    "not_found": 404,
    "content_filter": 400,
    "timeout": 504,
    "network": 502,
    "incomplete": 502,
    "server_error": 500,
    "bad_json": 400,
    "bad_shape": 400,
    "too_deep": 400,
    "lossy": 400,
}


def classify(status: int, words: tuple[str | None, ...], message: str) -> ErrorCode:
    """Our code for a refusal: no money by any words, a telling word, an overflow phrase, the status, a vague word."""
    known = [word.lower() for word in words if word]
    lowered = message.lower()
    if any(phrase in lowered for phrase in NO_MONEY):
        return "quota"
    for word in known:
        if word in WORDS and word not in VAGUE:
            return WORDS[word]
    if is_overflow(message):
        return "context_overflow"
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return "server_error"
    vague: list[ErrorCode] = [WORDS[word] for word in known if word in WORDS]
    unsaid: ErrorCode = "invalid_request" if status >= 400 else "server_error"
    return vague[0] if vague else unsaid


def api_error(error: Any, status: int, headers: Mapping[str, str], body: Any) -> ApiError:
    """An ApiError from an error object of any of the shapes services use, or from a plain text.

    Shapes: `{message, type, code, param}`, `{message, metadata: {raw}}`, a string, `{detail}`, `{errors: […]}`.
    An error inside a 200 (`status` 0) has the status that it names itself, if it does.
    """
    said = _fields(error)
    status = status or _status_in(said) or (_status_in(body) if isinstance(body, dict) else 0)
    code = classify(status, (_word(said.get("code")), _word(said.get("type"))), said["message"])
    size = figures(said, said["message"]) if code == "context_overflow" else Figures()
    detail = ApiDetail(
        status=status,
        retry_after=_first(retry_after(headers), _told_wait(said)),
        retryable=_said_retry(headers),
        vendor_code=_word(said.get("code")),
        vendor_type=_word(said.get("type")),
        param=said.get("param") if isinstance(said.get("param"), str) else None,
        tokens=size.tokens,
        limit=size.limit,
        body=body,
    )
    return ApiError(code, said["message"], detail)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the service said, from `retry-after-ms`, or `retry-after` in seconds or as a date.

    A date is measured against the answer's own `Date`, so no clock is needed; invalid values are ignored (S0-74).
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    millis = _positive(lowered.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    said = lowered.get("retry-after")
    seconds = _positive(said)
    if seconds is not None or said is None or "date" not in lowered:
        return seconds
    try:
        wait = parsedate_to_datetime(said) - parsedate_to_datetime(lowered["date"])
    except (ValueError, TypeError, OverflowError):
        return None
    return max(wait.total_seconds(), 0.0)


def _told_wait(said: Mapping[str, Any]) -> float | None:
    """Seconds to wait as some services say it in the body: `details: [{retryDelay: "34.4s"}]` (dialects §8b)."""
    details = said.get("details")
    for each in details if isinstance(details, list) else ():
        delay = each.get("retryDelay") if isinstance(each, dict) else None
        if isinstance(delay, str) and (seconds := _positive(delay.removesuffix("s"))) is not None:
            return seconds
    return None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _said_retry(headers: Mapping[str, str]) -> bool | None:
    lowered = {name.lower(): value.lower() for name, value in headers.items()}
    return {"true": True, "false": False}.get(lowered.get("x-should-retry", ""))


def _fields(error: Any) -> dict[str, Any]:
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, dict):
        return {"message": str(error) if error not in (None, "") else "the service gave no reason"}
    said = dict(error)
    nested = said.get("error")
    if isinstance(nested, (Mapping, str)) and "message" not in said:
        return _fields(nested)
    message = next((said[key] for key in ("message", "detail", "error", "msg") if said.get(key)), None)
    raw = said.get("metadata", {}).get("raw") if isinstance(said.get("metadata"), dict) else None
    if isinstance(said.get("errors"), list) and message is None:
        return _fields(said["errors"])
    if message is None:
        message = "the service gave no reason"
    text = message if isinstance(message, str) else str(message)
    said["message"] = f"{text}: {raw}" if isinstance(raw, str) and raw not in text else text
    return said


def _status_in(said: Mapping[str, Any]) -> int:
    for key in ("status", "status_code", "code"):
        value = said.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
            return value
    return 0


def _word(value: Any) -> str | None:
    return None if value is None or isinstance(value, bool) else str(value)


def _positive(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
