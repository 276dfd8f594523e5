"""Guards RET-003, RET-007, CTX-001: no money is no rate limit, too long is not too fast, and neither is asked again."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from chat_script import JSON, SSE
from dragoman.client import Model
from dragoman.errors import ApiError
from dragoman.testing import FakeClock
from dragoman.types import Failure
from dragoman.wire import WIRES
from origin import Answer, Origin

each_wire = pytest.mark.parametrize("wire", WIRES)


class Refused(NamedTuple):
    """What a call of a service that refuses came to."""

    error: ApiError
    requests: int
    waits: list[float]


def refused(wire: str, status: int, body: Any, **headers: str) -> Refused:
    answer = Answer(status=status, headers={**JSON, **headers}, body=json.dumps(body).encode())
    clock = FakeClock()
    with Origin(answer) as origin, Model(f"{origin.url}/v1#{wire}:m", env={}, clock=clock, retry="plain") as model:
        with pytest.raises(ApiError) as caught:
            model.chat("hi")
        single = len(origin.seen), list(clock.waits)
        with pytest.raises(ApiError) as streamed:
            list(model.stream("hi"))
    assert streamed.value.message == caught.value.message
    return Refused(caught.value, *single)


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


EMPTY = [
    (429, error("You have no credits remaining", type="insufficient_quota", code="credit_balance_exhausted")),
    (429, error("Insufficient balance or no resource package. Please recharge.", code="1113")),
    (402, error("Insufficient balance")),
    (400, error("Your credit balance is too low to access the API.", type="invalid_request_error")),
    (429, error("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota")),
    (403, error("Your account is out of credits", type="forbidden")),
]


@pytest.mark.case("RET-003")
@pytest.mark.parametrize(("status", "body"), EMPTY)
@each_wire
def test_an_empty_account_is_told_as_such_and_not_asked_again(wire: str, status: int, body: Any) -> None:
    told = refused(wire, status, body)
    assert (told.error.code, told.error.status, told.requests, told.waits) == ("quota", status, 1, [])
    assert not told.error.retryable
    assert told.error.explanation is not None and told.error.explanation.name == "no-money"
    assert told.error.message.endswith("recharge it, or use another provider: asking again does not help")


@pytest.mark.case("RET-003")
@each_wire
def test_a_quota_with_a_short_wait_named_is_asked_again(wire: str) -> None:
    body = error("quota of this minute", code="insufficient_quota")
    assert refused(wire, 429, body, **{"retry-after": "2"})[1:] == (4, [2.0, 2.0, 2.0])


@each_wire
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error("Rate limit reached for requests", code="rate_limit_exceeded")),
        (429, error("You exceeded your current quota, please retry in 34.4s.", status="RESOURCE_EXHAUSTED", code=429)),
        (429, error("This request would exceed your rate limit of 30,000 input tokens per minute")),
    ],
)
def test_a_rate_limit_is_no_empty_account(wire: str, status: int, body: Any) -> None:
    told = refused(wire, status, body)
    assert (told.error.code, told.requests, told.waits) == ("rate_limit", 4, [1.0, 2.0, 4.0])


LONG = [
    (400, error("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                type="invalid_request_error", code="context_length_exceeded"), 9000, 8192),
    (400, error("prompt is too long: 208310 tokens > 200000 maximum", type="invalid_request_error"), 208310, 200000),
    (400, error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                code=400, status="INVALID_ARGUMENT"), 1200000, 1048576),
    (400, {"message": "Input is too long for requested model.", "__type": "ValidationException"}, None, None),
    (400, error("the request exceeds the available context size. try increasing the context size",
                code=400, type="exceed_context_size_error", n_prompt_tokens=5000, n_ctx=4096), 5000, 4096),
    (400, error("request (2009 tokens) exceeds the available context size (512 tokens)", code=400), 2009, 512),
    (400, error("This endpoint's maximum context length is 200000 tokens. However, you requested about 2500021 tokens",
                code=400), 2500021, 200000),
    (400, error("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), 222000, 200000),
    (413, error("prompt is too long: 5 tokens > 4 maximum"), 5, 4),
]  # fmt: skip


@pytest.mark.case("CTX-001")
@pytest.mark.parametrize(("status", "body", "tokens", "limit"), LONG)
@each_wire
def test_too_long_is_one_code_with_the_figures_that_were_given(
    wire: str, status: int, body: Any, tokens: int | None, limit: int | None
) -> None:
    told = refused(wire, status, body)
    assert (told.error.code, told.error.detail.tokens, told.error.detail.limit) == ("context_overflow", tokens, limit)
    assert (told.requests, told.error.retryable) == (1, False)
    assert told.error.explanation is not None and told.error.explanation.name.startswith("overflow")


@pytest.mark.case("CTX-001")
@each_wire
def test_too_many_bytes_are_not_too_many_tokens(wire: str) -> None:
    """A shorter conversation does not help where an image is what weighs (can1357/oh-my-pi#9406)."""
    body = error("Request exceeds the maximum size", type="request_too_large")
    told = refused(wire, 413, body)
    assert (told.error.code, told.requests, told.error.detail.tokens) == ("too_large", 1, None)


@pytest.mark.case("CTX-001")
@each_wire
@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, error("Throttling error: Too many tokens, input is too long for this minute, please wait"), "rate_limit"),
        (400, error("Throttling error: prompt is too long, please wait", type="ThrottlingException"), "rate_limit"),
        (429, error("Request too large: limit 10000 tokens per minute, requested 12000"), "rate_limit"),
        (400, error("no such field"), "invalid_request"),
    ],
)
def test_too_fast_is_not_too_long(wire: str, status: int, body: Any, code: str) -> None:
    assert refused(wire, status, body).error.code == code


@pytest.mark.case("RET-007")
def test_the_status_in_the_stream_is_the_one_that_counts() -> None:
    said = {"message": "tool call validation failed", "type": "invalid_request_error", "code": "tool_use_failed"}
    event = json.dumps({"error": {**said, "status_code": 400}}).encode()
    answer = Answer(headers=SSE, body=[b"data: " + event + b"\n\n"])
    clock = FakeClock()
    with Origin(answer) as origin, Model(f"{origin.url}/v1#chat:m", env={}, clock=clock) as model:
        *_, last = model.stream("hi")
        with pytest.raises(ApiError) as caught:
            model.outcome("hi", opaque={"chat": {"stream": True}})
    assert isinstance(last, Failure) and (last.code, last.status) == ("invalid_request", 400)
    assert (caught.value.code, caught.value.status, len(origin.seen), clock.waits) == ("invalid_request", 400, 2, [])
