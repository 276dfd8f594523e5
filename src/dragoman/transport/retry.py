"""Whether to try again, and after how long: a pure policy, given the clock's readings and a source of chance.

Judge whether it can help; obey a valid `retry-after-ms` or `retry-after`; else back off exponentially, capped and with
jitter; keep to the budgets of count and time (S0-74). The rules and their order are those of the vendors' own clients:
https://platform.claude.com/docs/en/api/rate-limits (retry-after), and for backoff with jitter
https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ (S0-80).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from random import Random
from typing import Any, TypeAlias

import msgspec

from dragoman.errors import ApiError, DragomanError, UsageError
from dragoman.passed import hold_fields
from dragoman.types.codes import RETRYABLE

MOST_RETRIES = 10
NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*", re.ASCII)
# Statuses that say "later" though our code for them does not, and the ones that never will be otherwise.
LATER = frozenset({408, 409, 425, 429})
NEVER = frozenset({*range(300, 400), 501, 505})
# Words of a body that name a bad request, whatever status a gateway put on it.
BAD_REQUEST = frozenset({"invalid_request_error", "invalid_argument", "bad_request"})


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and after how long, in seconds.

    `retries` beyond the first try, 0 to 10. `waits` are the waits themselves, the last one ever after; without them
    `base` times `factor` at each further try, at most `cap`, less a random part of up to `jitter` of it. `longest` is
    the most that a service may ask us to wait: beyond it the call fails at once and says so. No try begins later than
    `within` after the call began. `obey` follows the service's own headers, `statuses` limits which refusals count.
    Raises UsageError for a count or a time that cannot be.
    """

    retries: int = 3
    waits: tuple[float, ...] = ()
    base: float = 1.0
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.25
    longest: float = 60.0
    within: float = 900.0
    obey: bool = True
    statuses: frozenset[int] | None = None

    def __post_init__(self) -> None:
        hold_fields(self)
        if not 0 <= self.retries <= MOST_RETRIES:
            raise UsageError("usage", f"{self.retries} retries: the policy takes 0 to {MOST_RETRIES}")
        if not 0 <= self.jitter <= 1:
            raise UsageError("usage", f"a jitter of {self.jitter:g}: it is a part of the wait, 0 to 1")
        times = (*self.waits, self.base, self.cap, self.longest, self.within, self.factor)
        if not all(number >= 0 for number in times):  # NaN is none of them either
            raise UsageError("usage", "a wait, a limit or a factor of a retry policy is at least 0")


class Wait(msgspec.Struct, frozen=True):
    """Try again after so many seconds."""

    seconds: float


class Stop(msgspec.Struct, frozen=True):
    """Do not try again. `why` is told to people where the error alone does not say it."""

    why: str = ""


Retry: TypeAlias = str | int | RetryPolicy


def plain(retries: int = 3) -> RetryPolicy:
    """1, 2, 4 … seconds without jitter, 3 to 5 times (S4-36). Raises UsageError for another count."""
    if not 3 <= retries <= 5:
        raise UsageError("usage", f"{retries} retries: the plain policy takes 3 to 5")
    return RetryPolicy(retries=retries, jitter=0.0)


DEFAULT = RetryPolicy()
# The simplified policy of the lesson: it looks at the status alone (S0-73).
INK = RetryPolicy(retries=2, waits=(0.6, 1.5), jitter=0.0, obey=False, statuses=frozenset({429, 500, 502, 503, 504}))
PRESETS: Mapping[str, RetryPolicy] = {"default": DEFAULT, "ink": INK, "plain": plain()}


def policy(said: Retry) -> RetryPolicy:
    """The policy of a preset's name, of a count of retries, or itself. Raises UsageError for an unknown name."""
    if isinstance(said, RetryPolicy):
        return said
    if type(said) is int:
        return msgspec.structs.replace(DEFAULT, retries=said)
    if not isinstance(said, str) or said not in PRESETS:
        raise UsageError("usage", f"unknown retry policy {said!r}: one of {', '.join(PRESETS)}, or a RetryPolicy")
    return PRESETS[said]


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """A try that failed: the how many-th it was, seconds since the call began, the date, and what the answer said."""

    number: int
    error: DragomanError
    elapsed: float = 0.0
    date: float = 0.0
    headers: Mapping[str, str] = {}


def decide(policy: RetryPolicy, failed: Try, rng: Random) -> Wait | Stop:
    """What to do after a try that failed."""
    asked = _asked(failed) if policy.obey else None
    if not _can_help(policy, failed, asked):
        return Stop()
    if failed.number > policy.retries:
        return Stop()
    if asked is not None and asked > policy.longest:
        said = f"the service asks to wait {asked:g} s, longer than the {policy.longest:g} s allowed: not tried again"
        return Stop(said)
    seconds = backoff(policy, failed.number, rng) if asked is None else asked
    if failed.elapsed + seconds > policy.within:
        return Stop(f"no time is left to try again within {policy.within:g} s")
    return Wait(seconds)


def backoff(policy: RetryPolicy, number: int, rng: Random) -> float:
    """The wait after the `number`-th try where the service names none."""
    if policy.waits:
        full = policy.waits[min(number, len(policy.waits)) - 1]
    else:
        full = min(policy.base * policy.factor ** (number - 1), policy.cap)
    return full * (1 - policy.jitter * rng.random())


def asked_wait(headers: Mapping[str, str], date: float) -> float | None:
    """Seconds that the headers (names in lower case) ask for; None when they say nothing valid, or "now".

    A date is measured against the answer's own `Date`, else against `date`, the seconds since the epoch.
    """
    millis = _number(headers.get("retry-after-ms"))
    said = headers.get("retry-after")
    seconds = millis / 1000 if millis is not None else _number(said)
    if seconds is None and said is not None:
        then, now = _moment(said), _moment(headers.get("date"))
        seconds = None if then is None else then - (date if now is None else now)
    return seconds if seconds is not None and 0 < seconds < float("inf") else None


def _asked(failed: Try) -> float | None:
    """What the headers ask for, else the body."""
    if not {"retry-after", "retry-after-ms"}.isdisjoint(failed.headers) or not isinstance(failed.error, ApiError):
        return asked_wait(failed.headers, failed.date)
    return failed.error.detail.retry_after or None


def _can_help(policy: RetryPolicy, failed: Try, asked: float | None) -> bool:
    """Whether another try may succeed: the service's word, then what the error is."""
    error = failed.error
    if isinstance(error, ApiError):
        if error.code == "quota":  # no money is no rate limit; with a short wait named, some services mean one
            return error.status == 429 and asked is not None and asked <= policy.longest
        said = failed.headers.get("x-should-retry", "").lower() if policy.obey else ""
        if said in ("true", "false"):
            return said == "true"
        if policy.statuses is not None and error.status:
            return error.status in policy.statuses
        if error.status in NEVER or _names_bad_request(error):
            return False
        return error.retryable or (error.status in LATER and error.code == "invalid_request")
    return error.code in RETRYABLE


def _names_bad_request(error: ApiError) -> bool:
    """Whether a gateway wrapped up somebody's 4xx as a fault of its own."""
    detail = error.detail
    if {str(detail.vendor_type).lower(), str(detail.vendor_code).lower()} & BAD_REQUEST:
        return True
    return error.status >= 500 and any(400 <= said < 500 and said not in LATER for said in _statuses(detail.body))


def _statuses(body: Any) -> list[int]:
    """The statuses that a body names, in it or in its `error`."""
    if not isinstance(body, Mapping):
        return []
    values = [str(body.get(key)) for key in ("status", "status_code", "code")]
    return [int(value) for value in values if value.isdecimal() and len(value) == 3] + _statuses(body.get("error"))


def _number(text: str | None) -> float | None:
    found = NUMBER.fullmatch(text or "")
    return float(found[1]) if found else None


def _moment(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
