"""Guards the reading of refusals: the service's telling word first, then its phrase, then the status; waits as it said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from dragoman.errors import ApiError
from dragoman.types.codes import RETRYABLE
from dragoman.wire.faults import OUR_STATUS, STATUSES, WORDS, api_error, classify, retry_after
from dragoman.wire.overflow import OVERFLOWS
from ingredients import json_values


@pytest.mark.parametrize(
    ("status", "words", "message", "code"),
    [
        (400, ("context_length_exceeded", "invalid_request_error"), "", "context_overflow"),
        (429, ("insufficient_quota",), "", "quota"),
        (429, (None, None), "", "rate_limit"),
        (400, ("invalid_request_error",), "This model's maximum context length is 8192 tokens", "context_overflow"),
        (400, ("invalid_request_error",), "no such field", "invalid_request"),
        (401, ("invalid_request_error",), "", "auth"),
        (418, (None,), "", "invalid_request"),
        (599, ("nonsense",), "", "server_error"),
        (0, ("overloaded_error",), "", "overloaded"),
        (0, ("api_error",), "", "server_error"),
        (0, (None,), "", "server_error"),
        (429, ("RESOURCE_EXHAUSTED",), "", "rate_limit"),
    ],
)
def test_what_went_wrong(status: int, words: tuple[str | None, ...], message: str, code: str) -> None:
    assert classify(status, words, message) == code


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "no"}, "no"),
        ("plain", "plain"),
        ({"detail": "not found"}, "not found"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ({"error": {"message": "deep"}}, "deep"),
        ({"error": "flat"}, "flat"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"message": "provider said", "metadata": {"raw": "the reason"}}, "provider said: the reason"),
        ({}, "the service gave no reason"),
        (None, "the service gave no reason"),
        ("", "the service gave no reason"),
    ],
)
def test_the_services_own_words(error: Any, message: str) -> None:
    assert message in api_error(error, 400, {}, None).message


@given(json_values)
def test_any_error_body_is_one_error(error: Any) -> None:
    told = api_error(error, 400, {}, error)
    assert isinstance(told, ApiError)
    assert told.message


@pytest.mark.req("S0-74")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 00:00:10 GMT", "date": "Tue, 01 Dec 2026 00:00:00 GMT"}, 10),
        ({"retry-after": "Tue, 01 Dec 2026 00:00:00 GMT", "date": "Tue, 01 Dec 2026 00:00:10 GMT"}, 0),
        ({"retry-after": "Tue, 01 Dec 2026 00:00:10 GMT"}, None),
        ({"retry-after": "soon", "date": "Tue, 01 Dec 2026 00:00:00 GMT"}, None),
        ({"retry-after": "Tue, 01 Dec 2026 00:00:10 +" + "9" * 20, "date": "Tue, 01 Dec 2026 00:00:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(("said", "retryable"), [("true", True), ("false", False), ("maybe", False), (None, False)])
def test_the_services_word_on_retrying_wins(said: str | None, retryable: bool) -> None:
    headers = {} if said is None else {"X-Should-Retry": said}
    assert api_error({"message": "x"}, 400, headers, None).retryable is retryable


def test_the_tables_hold_our_own_codes_only() -> None:
    assert {*WORDS.values(), *STATUSES.values()} <= set(OUR_STATUS)
    assert set(OUR_STATUS) >= RETRYABLE
    assert all(phrase == phrase.lower() for phrase in OVERFLOWS)
