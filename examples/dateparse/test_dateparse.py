"""What people write, and what it says."""

from datetime import date

import pytest
from dateparse import parse


@pytest.mark.parametrize("text", ["2026-11-30", "2026/11/30", "2026年11月30日", " 2026-11-30 "])
def test_one_day_in_many_forms(text):
    assert parse(text) == date(2026, 11, 30)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01", "30.11.2026"])
def test_what_is_no_date(text):
    with pytest.raises(ValueError):
        parse(text)
