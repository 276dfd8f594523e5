"""The closed list of what can go wrong, one word each, used by errors, failures and the command line alike."""

from __future__ import annotations

from typing import Literal, TypeAlias

ErrorCode: TypeAlias = Literal[
    "rate_limit",
    "quota",
    "overloaded",
    "context_overflow",
    "too_large",
    "invalid_request",
    "auth",
    "permission",
    "not_found",
    "content_filter",
    "timeout",
    "network",
    "incomplete",
    "server_error",
    "cancelled",
    "bad_json",
    "bad_shape",
    "too_deep",
    "lossy",
    "missing_key",
    "missing_extra",
    "unknown_wire",
    "unknown_model",
    "usage",
    "limit",
]

RETRYABLE: frozenset[ErrorCode] = frozenset(
    {"rate_limit", "overloaded", "timeout", "network", "incomplete", "server_error"}
)
