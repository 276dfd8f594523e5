"""Guards the retry policy: what may help is tried again, the service's word is obeyed, and every budget ends it."""

from __future__ import annotations

import json
from random import Random

import msgspec
import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, DragomanError, TransportError, UsageError
from dragoman.transport import retry
from dragoman.transport.retry import (
    DEFAULT,
    INK,
    PRESETS,
    RetryPolicy,
    Stop,
    Try,
    Wait,
    asked_wait,
    backoff,
    decide,
    plain,
    policy,
)
from dragoman.wire import find

STEADY = RetryPolicy(jitter=0.0)
NOON = 1798891200.0  # Sat, 02 Jan 2027 12:00:00 GMT
IN_7_S = "Sat, 02 Jan 2027 12:00:07 GMT"


def refusal(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> ApiError:
    return find("chat").decode_error(status, headers or {}, body, BASE)


def after(error: DragomanError, policy: RetryPolicy = STEADY, number: int = 1, **more: object) -> Wait | Stop:
    return decide(policy, msgspec.convert({"number": number, "error": error, "date": NOON, **more}, Try), Random(1))


def told(status: int, headers: dict[str, str], body: bytes = b"", policy: RetryPolicy = STEADY) -> Wait | Stop:
    return decide(policy, Try(number=1, error=refusal(status, body, headers), date=NOON, headers=headers), Random(1))


@pytest.mark.req("S0-74")
@pytest.mark.req("S0-66")
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    assert told(status, {}) == Wait(1.0)


@pytest.mark.req("S0-66")
@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 405, 413, 422, 501, 505])
def test_what_is_wrong_for_good_is_not(status: int) -> None:
    assert told(status, {}) == Stop()


@pytest.mark.parametrize(
    ("code", "again"), [("network", True), ("timeout", True), ("usage", False), ("cancelled", False)]
)
def test_no_answer_at_all(code: object, again: bool) -> None:
    error = TransportError(code, "x")  # type: ignore[arg-type]
    assert decide(STEADY, Try(number=1, error=error), Random(1)) == (Wait(1.0) if again else Stop())


@pytest.mark.req("S0-74")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7.5 "}, 7.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": IN_7_S}, 7.0),
        ({"retry-after": IN_7_S, "date": "Sat, 02 Jan 2027 12:00:05 GMT"}, 2.0),
        ({"retry-after": IN_7_S, "date": "noon"}, 7.0),
        *(
            ({"retry-after": said}, None)
            for said in ("", "0", "-3", "nan", "inf", "1e3", "1_0", "٣", "later", "Sat, 99 Foo 2027 25:00:00 GMT")
        ),
        ({"retry-after": "Sat, 02 Jan 2027 11:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_what_the_headers_ask_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, NOON) == seconds
    assert told(429, headers) == Wait(1.0 if seconds is None else seconds)


@pytest.mark.req("S0-74")
@pytest.mark.parametrize(
    ("delay", "headers", "seconds"),
    [
        ("34.4s", {}, 34.4),
        ("34.4s", {"retry-after": "2"}, 2.0),
        ("34.4s", {"retry-after": "soon"}, 1.0),
        ("soon", {}, 1.0),
        ("0s", {}, 1.0),
        (7, {}, 1.0),
    ],
)
def test_what_the_body_asks_for_where_no_header_does(delay: object, headers: dict[str, str], seconds: float) -> None:
    details = [{"@type": "QuotaFailure"}, {"@type": "RetryInfo", "retryDelay": delay}, "x"]
    body = json.dumps({"error": {"code": 429, "message": "slow down", "details": details}}).encode()
    assert told(429, headers, body) == Wait(seconds)


@pytest.mark.req("S0-74")
@pytest.mark.case("RET-002")
def test_a_wait_beyond_the_longest_fails_at_once_and_says_so() -> None:
    why = "the service asks to wait 86400 s, longer than the 60 s allowed: not tried again"
    assert told(429, {"retry-after": "86400"}) == Stop(why)
    assert told(429, {"retry-after": "86400"}, policy=RetryPolicy(longest=1e6, within=1e6)) == Wait(86400.0)


@pytest.mark.parametrize(("status", "said", "again"), [(400, "true", True), (503, "false", False), (503, "?", True)])
def test_the_services_own_word_wins(status: int, said: str, again: bool) -> None:
    assert told(status, {"x-should-retry": said}) == (Wait(1.0) if again else Stop())


@pytest.mark.case("RET-003")
def test_a_quota_is_no_rate_limit_unless_a_short_wait_is_named() -> None:
    body = b'{"error": {"message": "no credits", "type": "insufficient_quota", "code": "insufficient_quota"}}'
    assert told(429, {}, body) == Stop()
    assert told(402, {"retry-after": "2"}) == Stop()
    assert told(429, {"retry-after": "2"}, body) == Wait(2.0)
    assert told(429, {"retry-after": "3600"}, body) == Stop()
    assert told(429, {}, body, INK) == Stop()


@pytest.mark.case("RET-003")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b'{"error": {"message": "You have no credits remaining", "code": "credit_balance_exhausted"}}'),
        (
            429,
            b'{"error": {"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}}',
        ),
        (402, b'{"error": {"message": "Insufficient balance"}}'),
        (400, b'{"type": "error", "error": {"message": "Your credit balance is too low to access the API."}}'),
    ],
)
def test_no_money_by_any_words(status: int, body: bytes) -> None:
    assert told(status, {}, body) == Stop()


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "prompt is too long: 9 tokens", "code": "context_length_exceeded"}}',
        b'{"error": {"message": "This model\'s maximum context length is 9 tokens, reduce the length of the messages"}}',
    ],
)
def test_an_overflow_is_no_throttling(body: bytes) -> None:
    assert told(400, {}, body) == told(429, {}, body) == told(500, {}, body) == Stop()


@pytest.mark.case("RET-007")
@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "no", "type": "invalid_request_error"}}',
        b'{"error": {"message": "no", "type": "upstream", "status_code": 400}}',
        b'{"error": {"message": "no", "code": 422}}',
        b'{"status": "404", "error": {"message": "no"}}',
    ],
)
def test_a_bad_request_in_a_gateways_500_is_a_bad_request(body: bytes) -> None:
    assert told(500, {}, body) == Stop()
    assert told(500, {}, b'{"error": {"message": "no", "code": 429}}') == Wait(1.0)


@pytest.mark.req("S0-74")
def test_backoff_doubles_up_to_its_cap() -> None:
    many = RetryPolicy(retries=10, jitter=0.0)
    assert [backoff(many, number, Random(1)) for number in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.req("S0-74")
def test_jitter_takes_away_at_most_its_part_and_differs() -> None:
    rng = Random(7)
    waits = [backoff(DEFAULT, 2, rng) for _ in range(200)]
    assert all(1.5 <= wait <= 2.0 for wait in waits)
    assert len(set(waits)) > 190


@pytest.mark.req("S0-74")
def test_budgets_of_count_and_of_time() -> None:
    error = refusal(503)
    assert [after(error, number=number) for number in (1, 2, 3, 4)] == [Wait(1.0), Wait(2.0), Wait(4.0), Stop()]
    assert after(error, elapsed=899.5) == Stop("no time is left to try again within 900 s")
    assert after(error, RetryPolicy(retries=0)) == Stop()


@pytest.mark.req("S0-73", "C-09")
def test_the_preset_ink() -> None:
    error = TransportError("network", "x")
    assert [after(error, INK, number) for number in (1, 2, 3)] == [Wait(0.6), Wait(1.5), Stop()]
    for status in (429, 500, 502, 503, 504):
        assert told(status, {"retry-after": "9", "x-should-retry": "false"}, policy=INK) == Wait(0.6)
    for status in (400, 408, 409, 520, 529):
        assert told(status, {}, policy=INK) == Stop()


@pytest.mark.req("S4-36", "C-09")
def test_the_preset_plain() -> None:
    error = refusal(503)
    assert [after(error, PRESETS["plain"], number) for number in (1, 2, 3, 4)] == [Wait(1), Wait(2), Wait(4), Stop()]
    assert [after(error, plain(5), number) for number in (4, 5, 6)] == [Wait(8), Wait(16), Stop()]
    for count in (2, 6):
        with pytest.raises(UsageError, match=f"{count} retries: the plain policy takes 3 to 5"):
            plain(count)


def test_a_policy_by_name_count_or_value() -> None:
    assert policy("ink") is INK
    assert policy(0) == RetryPolicy(retries=0)
    assert policy(STEADY) is STEADY
    with pytest.raises(UsageError, match="unknown retry policy 'often': one of default, ink, plain"):
        policy("often")
    with pytest.raises(UsageError, match="11 retries: the policy takes 0 to 10"):
        policy(11)
    with pytest.raises(UsageError):
        RetryPolicy(base=float("nan"))
    with pytest.raises(UsageError):
        RetryPolicy(jitter=2)


@pytest.mark.req("S0-80")
def test_the_policy_names_what_it_follows() -> None:
    cited = retry.__doc__ or ""
    assert "https://platform.claude.com/docs/en/api/rate-limits" in cited
    assert "https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/" in cited
