"""Guards the time limits of a call: which of them ends a wait first, and that a transport's own is left to it."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.transport.base import Limits
from dragoman.transport.deadlines import Deadlines

NOW = 1234.567891


def test_by_default_the_transport_keeps_the_limit_itself() -> None:
    deadlines = Deadlines(Limits(), NOW)
    assert [deadlines.next(NOW + passed) for passed in (0, 0.1, 1, 1199)] == [(None, "idle")] * 4
    assert deadlines.next(NOW + 1300)[1] == "progress"
    deadlines.moved(NOW + 1300)
    assert deadlines.next(NOW + 1301) == (None, "idle")


@pytest.mark.case("TMO-003")
def test_the_first_word_then_the_gaps() -> None:
    deadlines = Deadlines(Limits(first=60.0, idle=5.0), NOW)
    assert Limits(first=60.0, idle=5.0).silence == 60.0
    assert deadlines.next(NOW + 50) == (pytest.approx(10.0), "first")
    assert deadlines.next(NOW + 70) == (0.0, "first")
    deadlines.moved(NOW + 55)
    assert deadlines.next(NOW + 56) == (5.0, "idle")


def test_the_nearest_one_ends_a_wait() -> None:
    deadlines = Deadlines(Limits(request=30.0, total=40.0), NOW)
    assert deadlines.next(NOW + 10) == (pytest.approx(20.0), "request")
    deadlines.begin(NOW + 20)
    assert deadlines.next(NOW + 20) == (pytest.approx(20.0), "total")
    assert deadlines.elapsed(NOW + 20) == pytest.approx(20.0)
    assert (
        deadlines.said("total") == "did not answer within 40 s in all; if the model needs longer, raise Limits(total=…)"
    )


SECONDS = st.floats(0.01, 5000.0)
LIMITS = st.builds(
    Limits,
    idle=SECONDS,
    first=st.none() | SECONDS,
    progress=st.none() | SECONDS,
    request=st.none() | SECONDS,
    total=st.none() | SECONDS,
)


@given(LIMITS, st.lists(st.tuples(st.sampled_from(["wait", "begin", "moved"]), SECONDS), max_size=6))
def test_limits_that_are_far_off_are_passed_over_only_while_they_are(
    limits: Limits, steps: list[tuple[str, float]]
) -> None:
    quick, slow = Deadlines(limits, NOW), Deadlines(limits, NOW)
    slow._from = -inf  # pyright: ignore[reportPrivateUsage]  always reckoned
    now = NOW
    for step, passed in steps:
        now += passed
        if step != "wait":
            getattr(quick, step)(now)
            getattr(slow, step)(now)
        told = [each.next(now) for each in (quick, slow)]
        assert told[0][0] == told[1][0]
        assert told[0] == told[1] or told[0][0] is None
